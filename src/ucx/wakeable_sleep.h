#pragma once
// The sleep of the thread that moves the network, which a rank in a call can end.

#include <poll.h>

#include <atomic>
#include <chrono>
#include <span>

#include "base/unique_fd.h"

namespace rondo {

/// One thread sleeps; any other may wake it, once a sleep. A sleeper on UCX's descriptor alone is
/// woken by each message that comes, finds that a polling rank has taken it meanwhile, and sleeps
/// on, all inside the kernel: a switch of threads a message for as long as the sleep may last.
class WakeableSleep {
 public:
  WakeableSleep();
  WakeableSleep(const WakeableSleep&) = delete;
  WakeableSleep& operator=(const WakeableSleep&) = delete;

  /// The sleeper: from now on wake() counts.
  void begin() { asleep_.store(true); }
  /// The sleeper, after begin(): until one of `events`, the last of which is this class's to fill,
  /// is there, for `most` at most, or until wake(). Whether it was that.
  bool until(std::span<pollfd> events, std::chrono::milliseconds most);
  /// Nanoseconds where nobody sleeps, else a system call.
  void wake() {
    if (asleep_.load(std::memory_order_relaxed)) [[unlikely]]
      wakeNow();
  }

 private:
  void wakeNow();

  UniqueFd event_;
  std::atomic<bool> asleep_{false};
};

}  // namespace rondo
