#pragma once
// How a long message is written into staging: through the writer's caches, or past them.
//
// Lines that the reader has read before have to be taken from it again. Cores that share a cache do
// so quickly; where they do not, writing past the caches takes a sixth of the time, and reading as
// long as before. Which of the two holds is found out while messages flow, because it changes:
// threads move, and so do the cores of a virtual machine.

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace rondo {

/// Shorter messages go through the caches, and nothing is learnt from them. One way, past the
/// caches against through them, between cores that share none: 1 KiB 1.1 against 1.5 us, 4 KiB 2.1
/// against 3.3, 32 KiB 8.4 against 20 (two cores of an EPYC, family 25, 2026-11-22).
constexpr size_t kLeastPast = 4096;

/// What one channel's writer knows of both.
class StagingWay {
 public:
  /// How the next message is to be written. Now and then the way that is not the better one, so
  /// that what it costs by now is known.
  bool past() const {
    const bool tries = written_ % (written_ < 256 ? 64 : 256) == 8;
    return better_ != tries;
  }

  /// Writing a message of `bytes` bytes as past() says took `ticks`.
  void learn(uint64_t ticks, size_t bytes) {
    const double now = static_cast<double>(ticks) / static_cast<double>(bytes);
    double& cost = cost_[past() ? 1 : 0];
    ++written_;
    // What is longer may have been disturbed; what is shorter has not.
    cost =
        cost == 0 ? now : cost + (now < cost ? (now - cost) / 4 : std::min(now - cost, cost) / 8);
    if (cost_[0] == 0 || cost_[1] == 0) return;
    // Far apart: the reader has to fetch from memory what has gone past the caches.
    better_ = cost_[1] < cost_[0] * (better_ ? 0.5 : 0.3);
  }

 private:
  uint64_t written_ = 0;
  double cost_[2] = {};  // ticks a byte; 0: not known
  bool better_ = false;  // past the caches
};

}  // namespace rondo
