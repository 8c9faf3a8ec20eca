#include "computation.h"

#include <algorithm>
#include <chrono>

namespace rondo::bench {
namespace {

using Clock = std::chrono::steady_clock;

double microsecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

/// A chain of dependent multiplications that no compiler shortens and that stays in registers.
void compute(uint64_t loops) {
  volatile uint64_t seed = 0x9e3779b97f4a7c15u;
  uint64_t x = seed;
  for (uint64_t i = 0; i < loops; ++i) x = x * 0xbf58476d1ce4e5b9u + 1;
  seed = x;
}

}  // namespace

Computation::Computation() {
  constexpr uint64_t kLoops = 2'000'000;
  constexpr int kTries = 5;
  double best = 1e300;
  for (int i = 0; i < kTries; ++i) {
    const auto start = Clock::now();
    compute(kLoops);
    best = std::min(best, microsecondsSince(start));
  }
  loopsPerUsec_ = static_cast<double>(kLoops) / best;
}

void Computation::setWork(double usec, int pieces) {
  loops_ = static_cast<uint64_t>(usec * loopsPerUsec_);
  pieces_ = pieces;
}

void Computation::run(const std::function<void()>& poll) {
  const auto pieces = static_cast<uint64_t>(pieces_);
  double usec = 0;
  for (uint64_t i = 0; i < pieces && loops_ > 0; ++i) {
    if (i > 0) poll();
    const auto start = Clock::now();
    compute(loops_ * (i + 1) / pieces - loops_ * i / pieces);
    usec += microsecondsSince(start);
  }
  usec_.push_back(usec);
}

std::vector<double> Computation::last(size_t count) const {
  const size_t kept = std::min(count, usec_.size());
  return {usec_.end() - static_cast<std::ptrdiff_t>(kept), usec_.end()};
}

}  // namespace rondo::bench
