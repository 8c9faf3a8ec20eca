#pragma once
// The host's side of sends and receives of device memory between hosts, piece by piece.

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "coll/communicator.h"
#include "coll/far_staging.h"

namespace rondo {

/// Why a desk has closed; `what` empty: it has not.
struct FarFailure {
  rondoResult_t code = rondoSuccess;
  std::string what;
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
  /// Of one lane.
  FarPieces(Communicator& carrier, const FarPairView& view, int lane, FarZeroCopy zeroCopy);
  bool poll(FarFailure* failure);
  bool busy() const { return running_ + moving_ > 0; }
  /// How long the queue has waited that has waited for longest, as far as this has been asked since
  /// it last moved: others may move all the time.
  std::chrono::steady_clock::duration longestWait(std::chrono::steady_clock::time_point now);
  /// Whether anything that is sent, or has rung for that, is for a rank that is there.
  bool owes();
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
    struct Move {
      ZeroCopy* copy = nullptr;
      uint32_t piece = 0;
    };
    Move moves[kFarPairSlots];                      ///< Under way, by slot.
    std::chrono::steady_clock::time_point since{};  ///< It waits; none: not known yet.
    bool busy() const {
      return running || std::any_of(moves, moves + kFarPairSlots,
                                    [](const Move& move) { return move.copy != nullptr; });
    }
  };
  bool owes(size_t index);
  bool takeLetter(size_t index);
  bool start(size_t index);
  bool pollQueue(size_t index, FarFailure* failure);
  void move(size_t index);
  bool endMoves(size_t index);
  void finish(size_t index, uint32_t piece);
  /// Of piece number `piece`.
  size_t placeOf(size_t index, uint32_t piece) const {
    const size_t strand = index * static_cast<size_t>(view_.lanes) + static_cast<size_t>(lane_);
    return strand * kFarPairSlots + piece % kFarPairSlots;
  }
  FarPairLetter& letterOf(size_t index, uint32_t piece) const {
    return view_.letters[placeOf(index, piece)];
  }
  unsigned char* slotOf(size_t index, uint32_t piece) const {
    return view_.slots + placeOf(index, piece) * view_.pieceBytes;
  }
  uint32_t& rungFor(size_t index, uint32_t piece) const {
    const auto lane = static_cast<uint32_t>(lane_), queue = static_cast<uint32_t>(index);
    return view_.rung[lane * view_.rungWords + queue * kFarPairSlots + piece % kFarPairSlots];
  }
  bool hasLines() const { return lane_ == 0 && view_.mostInLines > 0; }
  FarLine* linesOf(size_t index, uint32_t piece) const {
    return view_.lines + (index * kFarPairSlots + piece % kFarPairSlots) * kFarPairLines;
  }
  FarTransport& network() const { return *carrier_.fabric()->network(); }

  Communicator& carrier_;
  const FarPairView view_;
  const int lane_;
  const FarZeroCopy zeroCopy_;
  std::vector<Queue> queues_;
  int running_ = 0;    ///< Exchanges.
  int moving_ = 0;     ///< Pieces that the network moves by itself.
  uint32_t done_ = 0;  ///< Pieces of all queues.
};

}  // namespace rondo
