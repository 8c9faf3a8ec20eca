#pragma once
// Arithmetic that takes a chosen time, to see what else gets done meanwhile.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace rondo::bench {

class Computation {
 public:
  /// Measures how fast this core computes, some tens of milliseconds.
  Computation();

  /// From now on run() does the work that takes so long on an undisturbed core, in `pieces` pieces
  /// with a poll between each two.
  void setWork(double usec, int pieces);

  /// Does the work and remembers how long it took, polls left out.
  void run(const std::function<void()>& poll);

  /// Microseconds of the last `count` runs.
  std::vector<double> last(size_t count) const;
  void forget() { usec_.clear(); }

 private:
  double loopsPerUsec_ = 0;
  uint64_t loops_ = 0;
  int pieces_ = 1;
  std::vector<double> usec_;
};

}  // namespace rondo::bench
