#pragma once
// Whether other processes had the ranks' cores while calls were timed, and how much of it the times
// hold.

#include <chrono>
#include <string>

namespace rondo::bench {

/// Of one rank, or of all.
struct CoreLoss {
  long turns = 0;     ///< How often the core was taken away.
  double share = -1;  ///< Of the time: waiting for a core; -1: the system does not say.
};

/// What the calling thread loses from now on.
class CoreClock {
 public:
  CoreClock();
  CoreLoss lost() const;

 private:
  std::chrono::steady_clock::time_point start_;
  long turns_;
  double waited_;
};

/// A run's measurements, and of which of them the times are partly the scheduler's.
class LostCores {
 public:
  /// Of all ranks: the sum of their turns, the largest share.
  void add(const std::string& what, const CoreLoss& loss, int iterations);
  /// For the reader; empty: nothing to speak of.
  std::string text() const;

 private:
  int measurements_ = 0, disturbed_ = 0;
  double most_ = 0;  ///< Turns an iteration.
  std::string worst_;
};

}  // namespace rondo::bench
