#pragma once
// The shared memory of one communicator on one host.

#include <atomic>
#include <memory>
#include <vector>

#include "p2p/bootstrap.h"
#include "p2p/call_record.h"
#include "p2p/channels.h"
#include "p2p/fd_exchange.h"
#include "p2p/segment.h"
#include "p2p/shm_layout.h"

namespace rondo {

class ShmTransport {
 public:
  /// Collective over all ranks of `boot`, which must be on one host. `poolLimit`: bytes of pool
  /// that this process may have in use. `exchange` may be nullptr with one rank. Throws the same
  /// Error on all ranks.
  static std::unique_ptr<ShmTransport> create(Bootstrap& boot, FdExchange* exchange,
                                              uint64_t poolBytes, uint64_t poolLimit);
  /// Local; peers go on reading what was posted.
  ~ShmTransport();

  Channels makeChannels();

  /// The abort word of this rank: nullptr-free, polled by waits. 0, or 1 + the rank that aborted.
  uint32_t aborted() const {
    return std::atomic_ref(header(rank_)->aborted).load(std::memory_order_relaxed);
  }
  /// The place of `rank`'s collective number `sequence`, until a much later one takes it.
  CallRecord& record(int rank, uint64_t sequence) const {
    return *reinterpret_cast<CallRecord*>(leases_[static_cast<size_t>(rank)] +
                                          ShmLayout::kCallRecordsAt +
                                          sequence % ShmLayout::kCallRecords * ShmLayout::kLine);
  }
  /// What goes with that record, if it is a v-collective's: an entry for each rank.
  PairCounts* pairCounts(int rank, uint64_t sequence) const {
    return reinterpret_cast<PairCounts*>(leases_[static_cast<size_t>(rank)] +
                                         layout_.pairCountsAt(sequence % ShmLayout::kCallRecords));
  }
  /// Sets the abort word of every rank.
  void abort();

  const ShmLayout& layout() const { return layout_; }

 private:
  ShmTransport(int rank, const ShmLayout& layout) : rank_(rank), layout_(layout) {}
  LeaseHeader* header(int rank) const { return reinterpret_cast<LeaseHeader*>(leases_[rank]); }
  void takeLease(Bootstrap& boot, uint64_t poolBytes, uint64_t poolLimit);

  int rank_;
  ShmLayout layout_;
  uint64_t offset_ = RangeAllocator::kNone;
  bool joined_ = false;  // peers know the lease: it must wait for them
  std::vector<std::shared_ptr<PeerSegment>> segments_;
  std::vector<char*> leases_;
};

}  // namespace rondo
