#pragma once
// How a thread that makes a communicator is called back from its waits, and what it does in them.

#include <poll.h>

#include <atomic>
#include <functional>
#include <vector>

#include "p2p/fd_exchange.h"

namespace rondo {

/// Raised once, by any thread, and stays so.
class Interrupt {
 public:
  Interrupt();  ///< Throws Error.
  void raise() noexcept;
  bool raised() const { return raised_.load(std::memory_order_acquire); }
  int fd() const { return event_.get(); }

 private:
  UniqueFd event_;
  std::atomic<bool> raised_{false};
};

/// For its life the calling thread's BootWait::poll() returns early when `interrupt` is raised
/// (nullptr: as in the scope around), and calls `hook`, which may be empty, every millisecond.
class BootWait {
 public:
  BootWait(const Interrupt* interrupt, std::function<void()> hook);
  ~BootWait();
  BootWait(const BootWait&) = delete;
  BootWait& operator=(const BootWait&) = delete;

  /// poll(2); -1 with errno ECANCELED once the calling thread's interrupt is raised.
  static int poll(std::vector<pollfd>& set, int timeoutMs);
  static bool interrupted();

 private:
  const BootWait* outer_;
  const Interrupt* interrupt_;
  std::function<void()> hook_;
};

}  // namespace rondo
