#include "buffers.h"

#include <algorithm>

namespace rondo::bench {
namespace {

constexpr size_t kColdBytes = size_t{64} << 20;
constexpr size_t kMostBytes = size_t{1} << 30;
constexpr size_t kMostSets = 64;

// Consecutive sets use different values, so that a result left over from another call is noticed.
constexpr size_t kPhaseStep = 13;

constexpr size_t kGap = 1024;  // no prefetcher reaches from one buffer into the next

/// An odd number of lines. At a distance of whole pages all buffers would share the few lines
/// that an address's low bits choose, and small messages would measure that.
size_t oddLines(size_t bytes, size_t line) {
  const size_t lines = (bytes + line - 1) / line;
  return (lines % 2 == 0 ? lines + 1 : lines) * line;
}

}  // namespace

RingPlan planRing(const Extent& extent, bool inPlace, bool hot, size_t line, Offsets offsets) {
  RingPlan plan{};
  if (inPlace) offsets.recv = offsets.send;
  plan.offsets = offsets;
  plan.sendStride = inPlace ? 0 : oddLines(offsets.send + extent.send + kGap, line);
  plan.setStride = oddLines(
      offsets.recv + (inPlace ? extent.common : plan.sendStride + extent.recv) + kGap, line);
  const size_t most = std::max<size_t>(1, inPlace ? extent.common : extent.send + extent.recv);
  const size_t least = std::max<size_t>(1, extent.leastTouched);
  plan.sets = std::clamp<size_t>((kColdBytes + least - 1) / least, 2, kMostSets);
  plan.sets = std::max<size_t>(1, std::min(plan.sets, kMostBytes / most));
  if (hot) plan.sets = 1;
  return plan;
}

BufferRing::BufferRing(const Block& block, const PatternSet& patterns, const Layout& layout,
                       const RingPlan& plan, bool inPlace)
    : block_(block), patterns_(patterns), layout_(layout), inPlace_(inPlace), plan_(plan) {}

char* BufferRing::sendAt(size_t set) const {
  return setAt(set) + plan_.offsets.send +
         (inPlace_ ? layout_.sendAt * patterns_.elementSize() : 0);
}

char* BufferRing::recvAt(size_t set) const {
  return setAt(set) + plan_.offsets.recv +
         (inPlace_ ? layout_.recvAt * patterns_.elementSize() : plan_.sendStride);
}

/// In place the input lies in the result or the result in the input, so the input comes last.
void BufferRing::prepare(size_t set) const {
  const size_t phase = set * kPhaseStep;
  Memory& memory = block_.memory();
  if (!layout_.recv.empty()) {
    memory.write(recvAt(set), layout_.recvElements() * patterns_.elementSize(),
                 [&](void* to) { patterns_.poison(layout_.recv, to, phase); });
  }
  if (!layout_.send.empty()) {
    memory.write(sendAt(set), layout_.sendElements() * patterns_.elementSize(),
                 [&](void* to) { patterns_.fill(layout_.send, to, phase); });
  }
}

void BufferRing::prepareAll() const {
  for (size_t set = 0; set < plan_.sets; ++set) prepare(set);
}

uint64_t BufferRing::countWrong(size_t set) const {
  if (layout_.recv.empty()) return 0;
  uint64_t wrong = 0;
  block_.memory().read(recvAt(set), layout_.recvElements() * patterns_.elementSize(),
                       [&](const void* from) {
                         wrong = patterns_.countWrong(layout_.recv, from, set * kPhaseStep);
                       });
  return wrong;
}

}  // namespace rondo::bench
