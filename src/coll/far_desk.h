#pragma once
// The host's side of device memory between hosts: polls what a rank's kernels have put into
// page-locked memory, runs it on host communicators of its own, and answers. Makes no CUDA call.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "coll/communicator.h"
#include "coll/far_pieces.h"
#include "coll/far_staging.h"
#include "coll/group_run.h"

namespace rondo {

/// Who carries what is of a lane: host communicators of all ranks, for chunks and for pieces, and
/// of those of this rank's rail; nullptr: there are no rails.
struct FarCarriers {
  std::unique_ptr<Communicator> all, pieces, rail;
};

/// Collectives, chunk by chunk: every lanes-th of them.
class FarChunks {
 public:
  FarChunks(const FarCarriers& carriers, const FarView& view, uint32_t lane, uint32_t lanes)
      : carriers_(carriers), view_(view), lane_(lane), lanes_(lanes), next_(lane) {}
  /// Does what can be done at once. `failure` is set if nothing can any more.
  bool poll(FarFailure* failure);
  bool busy() const { return running_; }
  /// Whether a chunk that runs, or has rung, is for others alone, some of whom are there.
  bool owes();
  /// Of the chunk that runs.
  const Communicator& carrier() const { return carrierOf(letter_); }
  void startAt(uint32_t number);
  uint32_t done() const { return done_; }
  /// Called before each chunk of a rail, which kernels have made: throws Error if they could not.
  void checkRailsBy(std::function<void()> check) { checkRail_ = std::move(check); }

 private:
  bool rang();
  bool rangInLines();
  void start();
  void noteRings();
  void answerInLines();
  bool getsNothing(int rank) const;
  Communicator& carrierOf(const FarLetter& letter) const {
    return letter.onRail != 0 ? *carriers_.rail : *carriers_.all;
  }
  FarLine* inLines() const { return view_.inLines + next_ % kFarSlots * kFarInLines; }
  FarLine* outLines() const { return view_.outLines + next_ % kFarSlots * kMostFarLines; }

  const FarCarriers& carriers_;
  std::function<void()> checkRail_;
  const FarView view_;
  GroupRun run_;
  const uint32_t lane_, lanes_;  ///< A power of two, so that numbers may wrap.
  bool running_ = false;
  FarLetter letter_{};  ///< Of the chunk that runs; else that comes, once it rang.
  uint32_t next_;       ///< Chunks before the one that comes, of all lanes.
  uint32_t done_ = 0;   ///< Chunks of this lane so far.
};

/// Collectives, sends and receives of one rank. A lane is polled by one thread at a time, the rest
/// is called by any.
class FarDesk {
 public:
  /// The carriers are host communicators of the same ranks that nobody else uses. `faults`: where
  /// this rank's kernels look when they wait.
  FarDesk(std::vector<FarCarriers> carriers, const FarView& view, const FarPairView& pairs,
          FaultWords* faults, FarZeroCopy zeroCopy = {});

  /// One for each of the carriers. What has fewer lanes of pieces has the first ones.
  int lanes() const { return static_cast<int>(lanes_.size()); }
  /// Does what can be done at once; whether that was anything. Nothing in a lane that is not there.
  bool poll(int lane);
  /// Receives what has come for any communicator of the process.
  void progress() const { carriers_.front().all->fabric()->progress(); }
  /// Whether something is under way. By the thread that polls.
  bool busy(int lane) const;
  /// Whether all that kernels gave and did not wait for is where others are who can take it, or
  /// nothing can be any more. While threads poll.
  bool settled();
  /// No poll runs any more, nor will.
  void close();

  /// What messages lie in: where a network has some of them even when the carriers end, as an abort
  /// leaves them, it stays for good.
  void keep(const std::shared_ptr<void>& memory) const;
  /// Ends waits of kernels here, and what is under way on all ranks.
  void abort() noexcept;
  FarFailure failure() const;
  /// Before the first ring; see FarChunks.
  void checkRailsBy(const std::function<void()>& check);
  /// `call` runs once, if the desk fails; rondoRemoteError: because of a peer.
  void onFailure(std::function<void(rondoResult_t)> call);

  /// So many rings will come, who knows when: streams may have much else to do first.
  void expect(uint64_t rings) {
    owed_.fetch_add(static_cast<int64_t>(rings), std::memory_order_relaxed);
  }
  /// Replays of a graph may ring at any time from now on, any number of times.
  void expectReplays() { replays_.store(true, std::memory_order_relaxed); }
  bool expectsReplays() const { return replays_.load(std::memory_order_relaxed); }
  bool expectsRings() const {
    return expectsReplays() || owed_.load(std::memory_order_relaxed) > 0;
  }
  /// Tests; while nothing is under way.
  void startAt(uint32_t number);

 private:
  template <class Act>
  void onNetworks(const Act& act) const;
  void endWaits(const std::string& differ = "") noexcept;
  struct Lane {
    Lane(const FarCarriers& by, const FarView& view, uint32_t number, uint32_t of)
        : carriers(by), chunks(by, view, number, of) {}
    const FarCarriers& carriers;
    FarChunks chunks;
    std::unique_ptr<FarPieces> pieces;  ///< Or none.
    bool idle = false;                  ///< Waits since `since`, though something is under way.
    uint32_t moves = 0;                 ///< Polls that moved something.
    std::chrono::steady_clock::time_point since, watchAt;
    std::atomic<uint32_t> owner{0};  ///< 1 while a thread polls; stays so when the desk is closed.

    uint32_t done() const { return chunks.done() + (pieces != nullptr ? pieces->done() : 0); }
    bool busy() const { return chunks.busy() || (pieces != nullptr && pieces->busy()); }
  };
  bool pollLane(Lane& lane, FarFailure* failure);
  void fail(FarFailure failure);
  static void watch(Lane& lane, std::chrono::steady_clock::time_point now);

  const std::vector<FarCarriers> carriers_;
  FaultWords* const faults_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::atomic<bool> replays_{false};
  std::atomic<int64_t> owed_{0};  ///< Without replays: rings that have not been answered.
  mutable std::mutex mutex_;      ///< Of what follows.
  FarFailure failure_;
  std::function<void(rondoResult_t)> onFailure_;
  std::atomic<bool> failed_{false};
  std::atomic<bool> ended_{false};  ///< By abort(), whose cause is elsewhere.
};

}  // namespace rondo
