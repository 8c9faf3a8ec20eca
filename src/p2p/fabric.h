#pragma once
// What joins the ranks of one communicator: shared memory to those of this host, a network to the
// others.

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "p2p/far_transport.h"
#include "p2p/shm_transport.h"

namespace rondo {

class Fabric final : public FarEvents {
 public:
  /// `near`: the ranks of this host, ascending, between which `shm` is. `hosts`: by rank, the name
  /// of its host; empty where all ranks are near.
  Fabric(int rank, int ranks, std::vector<int> near, std::unique_ptr<ShmTransport> shm,
         std::vector<std::string> hosts);
  ~Fabric() override;

  /// The network, whose events this object takes. Before makeChannels().
  void join(std::unique_ptr<FarTransport> far) { far_ = std::move(far); }
  bool spansHosts() const { return far_ != nullptr; }
  bool near(int rank) const { return placeOf_[static_cast<size_t>(rank)] >= 0; }

  Channels makeChannels();

  /// The abort word, polled by waits: 0, or which rank ended the communicator and how.
  uint32_t aborted() const { return shm_->aborted(); }
  /// "rank 2 aborted communicator NAME"; for a word that is not 0.
  std::string abortText(const std::string& name) const;
  /// Sets the abort word of every rank.
  void abort();

  /// Lets the network move while this rank waits for something else.
  void progress() {
    if (far_) far_->progress();
  }

  /// The place of `rank`'s collective number `sequence`, until a much later one takes it. Of a far
  /// rank: what it told.
  CallRecord& record(int rank, uint64_t sequence) const;
  /// What goes with that record, if it is a v-collective's: what `rank` means to move between
  /// itself and `of`. False where that is not known here.
  bool pairCounts(int rank, uint64_t sequence, int of, PairCounts* counts) const;
  /// This rank's own, to be written.
  PairCounts* ownPairCounts(uint64_t sequence) const {
    return shm_->pairCounts(placeOf_[static_cast<size_t>(rank_)], sequence);
  }
  /// Lets a far rank know this rank's record, which near ones read.
  void tell(int rank, uint64_t sequence);

 private:
  /// What a far rank told of its calls.
  struct FarCalls {
    CallRecord records[ShmLayout::kCallRecords] = {};
    PairCounts counts[ShmLayout::kCallRecords] = {};
  };
  static constexpr uint32_t kLost = 1u << 31;  // in an abort word: not aborted, but gone

  void farAborted(uint32_t word) override { shm_->abort(word); }
  uint32_t farLost(int rank, const std::string& why) override;
  void farCalled(int rank, const Call& call, PairCounts counts) override;

  int rank_, ranks_;
  std::vector<int> near_;
  std::vector<int> placeOf_;  // among the near ranks, or -1
  std::unique_ptr<ShmTransport> shm_;
  std::vector<std::string> hosts_;
  std::vector<std::unique_ptr<FarCalls>> farCalls_;  // by rank; nullptr for near ones
  mutable std::mutex lostMutex_;
  std::string whyLost_;
  std::unique_ptr<FarTransport> far_;  // the first to go: it calls what is above
};

}  // namespace rondo
