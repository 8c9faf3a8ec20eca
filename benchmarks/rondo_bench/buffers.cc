#include "buffers.h"

#include <algorithm>

namespace rondo::bench {
namespace {

constexpr size_t kColdBytes = size_t{64} << 20;
constexpr size_t kMostBytes = size_t{1} << 30;
constexpr size_t kMostSets = 64;

// Consecutive sets use different values, so that a result left over from another call is noticed.
constexpr size_t kPhaseStep = 13;

/// Keeps buffers on different cache sets: at a distance of whole pages all of them would share the
/// few lines that an address's low bits choose, and small messages would measure that.
size_t slotBytes(size_t bytes) { return (bytes + 63) / 64 * 64 + 17 * 64; }

}  // namespace

RingPlan planRing(size_t sendBytes, size_t recvBytes, bool inPlace, bool hot) {
  const size_t larger = std::max(sendBytes, recvBytes);
  const size_t touched = inPlace ? larger : sendBytes + recvBytes;
  RingPlan plan{};
  plan.sendStride = inPlace ? 0 : slotBytes(sendBytes);
  plan.setStride = inPlace ? slotBytes(larger) : plan.sendStride + slotBytes(recvBytes);
  plan.sets = std::clamp<size_t>((kColdBytes + touched - 1) / touched, 2, kMostSets);
  plan.sets = std::max<size_t>(1, std::min(plan.sets, kMostBytes / touched));
  if (hot) plan.sets = 1;
  return plan;
}

BufferRing::BufferRing(const Block& block, const Collective& collective, size_t bytes, bool inPlace,
                       bool hot)
    : block_(block),
      collective_(collective),
      bytes_(bytes),
      inPlace_(inPlace),
      plan_(planRing(collective.sendBytes(bytes), collective.recvBytes(bytes), inPlace, hot)) {}

void* BufferRing::recv(size_t set) const { return sendAt(set) + plan_.sendStride; }

void BufferRing::prepare(size_t set) const {
  const size_t phase = set * kPhaseStep;
  Memory& memory = block_.memory();
  memory.write(sendAt(set), collective_.sendBytes(bytes_),
               [&](void* to) { collective_.fillSend(to, bytes_, phase); });
  if (inPlace_) return;
  memory.write(recv(set), collective_.recvBytes(bytes_),
               [&](void* to) { collective_.poison(to, bytes_, phase); });
}

void BufferRing::prepareAll() const {
  for (size_t set = 0; set < plan_.sets; ++set) prepare(set);
}

uint64_t BufferRing::countWrong(size_t set) const {
  uint64_t wrong = 0;
  block_.memory().read(recv(set), collective_.recvBytes(bytes_), [&](const void* from) {
    wrong = collective_.countWrong(from, bytes_, set * kPhaseStep);
  });
  return wrong;
}

}  // namespace rondo::bench
