#pragma once
// The cheapest clock there is, for time stamps of operations. All processes of a host read the same
// one; what it means in nanoseconds, a reader finds out by looking at both clocks twice.

#include <cstdint>
#include <ctime>

namespace rondo {

inline uint64_t monotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

/// Never 0. About 10 ns (EPYC, 2026-11-21), less than half of what CLOCK_MONOTONIC takes.
inline uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t count;
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  return monotonicNs();
#endif
}

/// The two clocks at one instant.
struct TickPair {
  uint64_t ticks = 0;
  uint64_t ns = 0;  ///< CLOCK_MONOTONIC.

  /// The best of a few attempts: between the two readings the thread may lose its core.
  static TickPair now();
};

/// Turns ticks into nanoseconds of CLOCK_MONOTONIC, from two instants of one host.
class TickScale {
 public:
  TickScale(TickPair first, TickPair second);
  int64_t ns(uint64_t at) const;

 private:
  TickPair origin_;
  double nsPerTick_;
};

}  // namespace rondo
