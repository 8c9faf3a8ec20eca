#pragma once
// What the steps of something long took, for people.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/ticks.h"

namespace rondo {

/// A watch that runs from its making on. One thread at a time. Times are of CLOCK_MONOTONIC, in
/// nanoseconds.
class StageTimes {
 public:
  explicit StageTimes(uint64_t now = monotonicNs()) : began_(now), last_(now) {}
  /// What came since the last end, or since the making, was `name`, a literal; what has been called
  /// so before grows by it.
  void end(const char* name, uint64_t now = monotonicNs());
  /// "142.3 ms: ranks 1.2, kernels 88.0, ...": from the making to the last end, then the stages in
  /// the order in which they ended first, without those that took less than 0.05 ms.
  std::string text() const;

 private:
  uint64_t began_, last_;
  std::vector<std::pair<const char*, uint64_t>> stages_;
};

/// For those who may have nobody to tell.
inline void endStage(StageTimes* times, const char* name) {
  if (times != nullptr) times->end(name);
}

}  // namespace rondo
