#pragma once
// What the progress thread looks at twenty times a second though nobody waits on the host for it:
// communicators whose kernels may wait.

#include <chrono>
#include <functional>
#include <mutex>
#include <vector>

namespace rondo {

/// Process-wide and thread safe.
class Patrol {
 public:
  Patrol(const Patrol&) = delete;
  Patrol& operator=(const Patrol&) = delete;
  static Patrol& one();

  /// `look` runs now and then on the progress thread, if there is one, until remove(owner). It must
  /// not call this object.
  void add(const void* owner, std::function<void()> look);
  /// Returns when none of the owner's runs any more.
  void remove(const void* owner);

  /// Runs all of them, unless that was a moment ago.
  void walk();
  /// For poll(): in how many milliseconds to walk again; -1: there is nothing to look at.
  int pauseMs() const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kEvery{50};
  struct Post {
    const void* owner;
    std::function<void()> look;
  };
  Patrol() = default;

  mutable std::mutex mutex_;
  std::vector<Post> posts_;
  Clock::time_point walked_;
};

}  // namespace rondo
