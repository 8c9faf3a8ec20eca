#pragma once
// The wait notes of a process, where the processes of its host read them.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "p2p/wait_note.h"

namespace rondo {

/// One note in a segment. One writer at a time, any number of readers.
struct WaitSlot {
  static constexpr int kWords = sizeof(WaitNote) / 8;
  uint64_t version;  ///< Atomic: odd while the rest is written; 0: nothing was.
  uint64_t words[kWords];

  void write(const WaitNote& note);
  /// False if there is none, or it changed meanwhile.
  bool read(WaitNote* note) const;
};

/// All of a process: its own, and what it was told of others.
struct WaitSlots {
  static constexpr int kMost = 64;
  WaitSlot slots[kMost];
  std::vector<WaitNote> read() const;
};

/// This process's. Thread safe.
class WaitDesk {
 public:
  /// Where they lie; before all else.
  void open(WaitSlots* slots) { slots_ = slots; }
  /// Replaces what the same rank of the same communicator waited in before, or the oldest one. True
  /// if it is a call that was not known.
  bool put(const WaitNote& note);
  /// Grows when put() learns of a call that it did not know.
  uint64_t news() const { return news_.load(std::memory_order_acquire); }

 private:
  WaitSlots* slots_ = nullptr;
  std::mutex mutex_;
  std::atomic<uint64_t> news_{0};
};

}  // namespace rondo
