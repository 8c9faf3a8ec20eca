#pragma once
// The host's side of device memory between hosts: polls what a rank's kernels have put into
// page-locked memory, runs it on host communicators of its own, and answers. Makes no CUDA call.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "coll/communicator.h"
#include "coll/far_staging.h"
#include "coll/group_run.h"

namespace rondo {

/// Why a desk has closed; `what` empty: it has not.
struct FarFailure {
  rondoResult_t code = rondoSuccess;
  std::string what;
};

/// Who carries the chunks of a lane: host communicators of all ranks, and of those of this rank's
/// rail; nullptr: there are no rails.
struct FarCarriers {
  std::unique_ptr<Communicator> all, rail;
};

/// Collectives, chunk by chunk: every lanes-th of them.
class FarChunks {
 public:
  FarChunks(const FarCarriers& carriers, const FarView& view, uint32_t lane, uint32_t lanes)
      : carriers_(carriers), view_(view), lane_(lane), lanes_(lanes), next_(lane) {}
  /// Does what can be done at once. `failure` is set if nothing can any more.
  bool poll(FarFailure* failure);
  bool busy() const { return running_; }
  /// Nothing is under way, nor has rung.
  bool settled() { return !running_ && !rang(); }
  /// Of the chunk that runs, or ran last.
  const Communicator& carrier() const { return onRail_ ? *carriers_.rail : *carriers_.all; }
  void startAt(uint32_t number);
  uint32_t done() const { return done_; }
  /// Called before each chunk of a rail, which kernels have made: throws Error if they could not.
  void checkRailsBy(std::function<void()> check) { checkRail_ = std::move(check); }

 private:
  bool rang();
  bool rangInLines();
  void start();
  void answerInLines();
  FarLine* inLines() const { return view_.inLines + next_ % kFarSlots * kFarInLines; }
  FarLine* outLines() const { return view_.outLines + next_ % kFarSlots * kMostFarLines; }

  const FarCarriers& carriers_;
  std::function<void()> checkRail_;
  const FarView view_;
  GroupRun run_;
  const uint32_t lane_, lanes_;  ///< A power of two, so that numbers may wrap.
  bool running_ = false;
  bool onRail_ = false;
  FarLetter letter_{};  ///< Of the chunk that comes, once it rang.
  uint32_t next_;       ///< Chunks before the one that comes, of all lanes.
  uint32_t done_ = 0;   ///< Chunks of this lane so far.
};

/// How the network moves device memory by itself.
struct FarZeroCopy {
  MemoryKind kind = MemoryKind::Host;
  std::function<void()> settle;  ///< After it has written there, before a kernel is told.
};

/// Sends and receives: a queue to and one from each other rank, which do not wait for each other.
/// What lies in device memory goes by the network itself, behind a message without data by which
/// both sides find out whether they mean the same.
class FarPieces {
 public:
  FarPieces(Communicator& carrier, const FarPairView& view, FarZeroCopy zeroCopy);
  bool poll(FarFailure* failure);
  bool busy() const { return running_ + moving_ > 0; }
  bool settled() const;
  void startAt(uint32_t number);
  uint32_t done() const { return done_; }

 private:
  struct Queue {
    int peer = 0;
    bool sends = false;
    bool running = false;  ///< The exchange, for the last piece that was begun.
    uint32_t begun = 0;    ///< Pieces so far.
    Transfer transfer{};
    Exchange exchange;
    ZeroCopy* moves[kFarPairSlots] = {};  ///< Under way, by slot.
  };
  bool rang(size_t index) const;
  bool start(size_t index);
  bool pollQueue(size_t index, FarFailure* failure);
  void move(size_t index);
  bool endMoves(size_t index);
  void finish(size_t place);
  /// Of piece number `piece`.
  static size_t placeOf(size_t index, uint32_t piece) {
    return index * kFarPairSlots + piece % kFarPairSlots;
  }
  const FarPairLetter& letterOf(size_t index, uint32_t piece) const {
    return view_.letters[placeOf(index, piece)];
  }
  FarTransport& network() const { return *carrier_.fabric()->network(); }

  Communicator& carrier_;
  const FarPairView view_;
  const FarZeroCopy zeroCopy_;
  std::vector<Queue> queues_;
  int running_ = 0;    ///< Exchanges.
  int moving_ = 0;     ///< Pieces that the network moves by itself.
  uint32_t done_ = 0;  ///< Pieces of all queues.
};

/// Both for one rank. A lane is polled by one thread at a time, the rest is called by any.
class FarDesk {
 public:
  /// The carriers are host communicators of the same ranks that nobody else uses. `faults`: where
  /// this rank's kernels look when they wait.
  FarDesk(std::vector<FarCarriers> chunks, std::unique_ptr<Communicator> pieces,
          const FarView& view, const FarPairView& pairs, FaultWords* faults,
          FarZeroCopy zeroCopy = {});

  /// One for each carrier of chunks; the first one has the pieces, too.
  int lanes() const { return static_cast<int>(lanes_.size()); }
  /// Does what can be done at once; whether that was anything. Nothing in a lane that is not there.
  bool poll(int lane);
  /// Whether something is under way. By the thread that polls.
  bool busy(int lane) const;
  /// Whether all that has rung was answered, or nothing can be any more. While threads poll.
  bool settled();
  /// No poll runs any more, nor will.
  void close();

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
  void endWaits() noexcept;
  struct Lane {
    Lane(const FarCarriers& by, const FarView& view, uint32_t number, uint32_t of)
        : chunks(by, view, number, of) {}
    FarChunks chunks;
    FarPieces* pieces = nullptr;
    bool idle = false;  ///< Waits since `since`, though something is under way.
    std::chrono::steady_clock::time_point since, watchAt;
    std::atomic<uint32_t> owner{0};  ///< 1 while a thread polls; stays so when the desk is closed.

    uint32_t done() const { return chunks.done() + (pieces != nullptr ? pieces->done() : 0); }
    bool busy() const { return chunks.busy() || (pieces != nullptr && pieces->busy()); }
  };
  bool pollLane(Lane& lane, FarFailure* failure);
  void fail(FarFailure failure);
  void watch(Lane& lane);

  const std::vector<FarCarriers> chunkCarriers_;
  const std::unique_ptr<Communicator> pieceCarrier_;
  FaultWords* const faults_;
  FarPieces pieces_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::atomic<bool> replays_{false};
  std::atomic<int64_t> owed_{0};  ///< Without replays: rings that have not been answered.
  mutable std::mutex mutex_;      ///< Of what follows.
  FarFailure failure_;
  bool ended_ = false;  ///< By abort(), whose cause is elsewhere.
  std::function<void(rondoResult_t)> onFailure_;
  std::atomic<bool> failed_{false};
};

}  // namespace rondo
