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

constexpr size_t kGuard = 64;  // bytes on either side of a buffer that no call is to write

char guardByte(size_t set, size_t at) {
  return static_cast<char>(0xA5 + 7 * at + kPhaseStep * set);
}

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

/// In place the two buffers are one. The block's first buffer has nothing before it.
void BufferRing::forEachGuard(size_t set, const std::function<void(char*)>& visit) const {
  const bool sends = !layout_.send.empty(), receives = !layout_.recv.empty();
  char *const send = sendAt(set), *const recv = recvAt(set);
  char* const sendEnd = send + layout_.sendElements() * patterns_.elementSize();
  char* const recvEnd = recv + layout_.recvElements() * patterns_.elementSize();
  const auto around = [&](char* begin, char* end) {
    if (begin >= block_.data() + kGuard) visit(begin - kGuard);
    visit(end);
  };
  if (inPlace_ && sends && receives) {
    around(std::min(send, recv), std::max(sendEnd, recvEnd));
    return;
  }
  if (sends) around(send, sendEnd);
  if (receives || (layout_.namesResult && !inPlace_)) around(recv, recvEnd);
}

void BufferRing::guard(size_t set) const {
  forEachGuard(set, [&](char* at) {
    block_.memory().write(at, kGuard, [&](void* to) {
      for (size_t i = 0; i < kGuard; ++i) static_cast<char*>(to)[i] = guardByte(set, i);
    });
  });
}

uint64_t BufferRing::countStrays(size_t set) const {
  const size_t element = patterns_.elementSize();
  uint64_t strays = 0;
  forEachGuard(set, [&](char* at) {
    size_t bytes = 0;
    block_.memory().read(at, kGuard, [&](const void* from) {
      for (size_t i = 0; i < kGuard; ++i) {
        bytes += static_cast<const char*>(from)[i] != guardByte(set, i);
      }
    });
    strays += (bytes + element - 1) / element;
  });
  if (inPlace_ || layout_.send.empty()) return strays;
  block_.memory().read(sendAt(set), layout_.sendElements() * element, [&](const void* from) {
    strays += patterns_.countWrong(layout_.send, from, set * kPhaseStep);
  });
  return strays;
}

}  // namespace rondo::bench
