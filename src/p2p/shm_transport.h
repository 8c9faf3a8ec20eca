#pragma once
// The shared memory of one communicator on one host.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "p2p/bootstrap.h"
#include "p2p/call_record.h"
#include "p2p/channels.h"
#include "p2p/fd_exchange.h"
#include "p2p/peer_watch.h"
#include "p2p/segment.h"
#include "p2p/shm_layout.h"

namespace rondo {

/// What a rank tells the others about its lease.
struct LeaseInfo {
  uint64_t token;
  uint64_t segmentBytes;
  uint64_t offset;
  uint64_t areaBytes;  ///< 0: could not get one.
  uint64_t serial;     ///< LeaseHeader::serial while it is this lease.
};

class ShmTransport {
 public:
  struct Wish {
    uint64_t poolBytes;                        ///< Of a rank.
    uint64_t poolLimit;                        ///< Bytes of pool that this process may have in use.
    uint64_t mostArea = ShmLayout::kMostArea;  ///< Data of one channel; a power of two.
  };
  /// Collective over all ranks of `boot`; makes what joins `near`, the ranks of this host,
  /// ascending, with this rank among them. Below, a rank is its place in `near`; the layout's area
  /// is the same on all hosts. `exchange`, with the other near ranks, may be nullptr where there
  /// are none. Throws the same Error on all ranks.
  static std::unique_ptr<ShmTransport> create(Bootstrap& boot, FdExchange* exchange,
                                              const std::vector<int>& near, const Wish& wish);
  /// Local; peers go on reading what was posted. The lease is free once all have let go or died.
  ~ShmTransport();

  Channels makeChannels();

  /// The abort word of this rank, polled by waits; 0: nobody aborted.
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
  RankState& state(int rank) const {
    return *reinterpret_cast<RankState*>(leases_[static_cast<size_t>(rank)] +
                                         ShmLayout::kRankStateAt);
  }
  Board& board(int rank) const {
    return *reinterpret_cast<Board*>(leases_[static_cast<size_t>(rank)] + layout_.boardAt());
  }
  ShmLayout::Why& why(int rank) const {
    return *reinterpret_cast<ShmLayout::Why*>(leases_[static_cast<size_t>(rank)] + layout_.whyAt());
  }
  /// Makes `word` the abort word of every rank that has none yet.
  void abort(uint32_t word);

  /// Calls `ended` for each peer whose process ends, once, until this object ends.
  void watch(const std::function<void(int rank, Ending)>& ended);
  /// Whether the rank's process has ended, or it has let go of the communicator.
  bool died(int rank) const;
  bool left(int rank) const {
    return std::atomic_ref(header(rank)->left).load(std::memory_order_acquire) != 0;
  }
  /// The length of the oldest message of `from` to `to`, or to everyone, that `to` has not
  /// released, if there is one. One of the two is this rank.
  std::optional<uint64_t> untaken(int from, int to) const;
  /// How it ended, as the first process that found out saw it.
  Ending ending(int rank) const {
    return Ending(std::atomic_ref(header(rank)->ending).load(std::memory_order_acquire));
  }
  void noteEnding(int rank, Ending ending);
  /// True on one rank of the host, and then on none for `again`.
  bool claimReport(std::chrono::seconds again);
  /// Another host's rank has reported: counts as this one's.
  void noteReport();

  const ShmLayout& layout() const { return layout_; }

 private:
  ShmTransport(int rank, const ShmLayout& layout) : rank_(rank), layout_(layout) {}
  LeaseHeader* header(int rank) const { return reinterpret_cast<LeaseHeader*>(leases_[rank]); }
  std::optional<uint64_t> untaken(int from, int channel, int reader) const;
  void takeLease(Bootstrap& boot, const Wish& wish);
  void map(const std::vector<LeaseInfo>& all, const std::vector<int>& near, FdExchange* exchange);

  int rank_;
  ShmLayout layout_;
  uint64_t offset_ = RangeAllocator::kNone;
  uint32_t serial_ = 0;
  bool joined_ = false;  // peers may use the lease: it must wait for them
  std::vector<std::shared_ptr<PeerSegment>> segments_;
  std::vector<char*> leases_;
  std::vector<uint64_t> tokens_;
  std::vector<uint32_t> serials_;
  std::vector<UniqueFd> processes_;  // until watch()
};

}  // namespace rondo
