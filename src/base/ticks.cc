#include "base/ticks.h"

namespace rondo {

TickPair TickPair::now() {
  TickPair best;
  uint64_t least = ~uint64_t{0};
  for (int i = 0; i < 5; ++i) {
    const uint64_t before = rondo::ticks();
    const uint64_t ns = monotonicNs();
    const uint64_t after = rondo::ticks();
    if (after - before > least) continue;
    least = after - before;
    best = {before + least / 2, ns};
  }
  return best;
}

TickScale::TickScale(TickPair first, TickPair second) : origin_(second), nsPerTick_(1.0) {
  if (second.ticks > first.ticks && second.ns > first.ns) {
    nsPerTick_ =
        static_cast<double>(second.ns - first.ns) / static_cast<double>(second.ticks - first.ticks);
  }
}

int64_t TickScale::ns(uint64_t at) const {
  const double ticksAway = at >= origin_.ticks ? static_cast<double>(at - origin_.ticks)
                                               : -static_cast<double>(origin_.ticks - at);
  return static_cast<int64_t>(origin_.ns) + static_cast<int64_t>(ticksAway * nsPerTick_);
}

}  // namespace rondo
