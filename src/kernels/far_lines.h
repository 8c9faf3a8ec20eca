#pragma once
// Short chunks and pieces between a kernel and its thread: lines whose halves each have four bytes
// of data and the part's tag, so that each tells by itself that it has come. So neither side needs
// a fence, or a look at a flag before one at the data, which cost a kernel 1.5 to 2 us each across
// PCIe.

#include <cstdint>

#include "coll/algo/base.h"

namespace rondo {

struct alignas(16) FarLine {
  uint64_t half[2];
};

/// Bytes of data in a line.
constexpr uint64_t kFarLineBytes = 8;
/// Of either side of a chunk: one for each thread of a block. Twice as many gained nothing.
constexpr uint64_t kMostFarLines = 512;

/// Of chunk or piece `number`; never 0, which is what a line has that was never written. Comes
/// again after 2^31 of them: until then the host has cleared the lines.
RONDO_ALGO uint32_t farTag(uint32_t number) { return number << 1 | 1; }

/// What goes in lines: `slots` of `bytes` each, `stride` bytes apart. Each begins a line.
struct FarLined {
  uint64_t slots, bytes, stride;

  RONDO_ALGO uint64_t perSlot() const { return (bytes + kFarLineBytes - 1) / kFarLineBytes; }
  RONDO_ALGO uint64_t lines() const { return slots * perSlot(); }
  struct Place {
    uint64_t offset, bytes;  ///< Of a line's data; 1 to 8 bytes.
  };
  /// Of line j of slot s.
  RONDO_ALGO Place place(uint64_t s, uint64_t j) const {
    const uint64_t before = j * kFarLineBytes, left = bytes - before;
    return {s * stride + before, left < kFarLineBytes ? left : kFarLineBytes};
  }
  /// Of line i, of all.
  RONDO_ALGO Place place(uint32_t i) const {
    const auto per = static_cast<uint32_t>(perSlot());  // 64 bits would take long to divide by
    return place(i / per, i % per);
  }
};

/// Four bytes of anything.
using FarBytes4 [[gnu::may_alias]] = uint32_t;

RONDO_ALGO uint64_t farHalf(const unsigned char* from, uint64_t bytes, uint32_t tag) {
  uint64_t half = static_cast<uint64_t>(tag) << 32;
  for (uint64_t b = 0; b < bytes; ++b) half |= static_cast<uint64_t>(from[b]) << 8 * b;
  return half;
}
RONDO_ALGO void farUnpack(unsigned char* to, uint64_t half, uint64_t bytes) {
  for (uint64_t b = 0; b < bytes; ++b) to[b] = static_cast<unsigned char>(half >> 8 * b);
}

/// A line with 1 to 8 bytes.
RONDO_ALGO FarLine farLine(const unsigned char* from, uint64_t bytes, uint32_t tag) {
  if (bytes == kFarLineBytes && reinterpret_cast<uintptr_t>(from) % 4 == 0) {
    const uint64_t high = static_cast<uint64_t>(tag) << 32;
    const auto* const words = reinterpret_cast<const FarBytes4*>(from);
    return {{high | words[0], high | words[1]}};
  }
  const uint64_t first = bytes < 4 ? bytes : 4;
  return {{farHalf(from, first, tag), farHalf(from + first, bytes - first, tag)}};
}
RONDO_ALGO bool farTagged(const FarLine& line, uint32_t tag) {
  return line.half[0] >> 32 == tag && line.half[1] >> 32 == tag;
}
RONDO_ALGO void farUnline(unsigned char* to, uint64_t first, uint64_t second, uint64_t bytes) {
  if (bytes == kFarLineBytes && reinterpret_cast<uintptr_t>(to) % 4 == 0) {
    auto* const words = reinterpret_cast<FarBytes4*>(to);
    words[0] = static_cast<uint32_t>(first);
    words[1] = static_cast<uint32_t>(second);
    return;
  }
  const uint64_t before = bytes < 4 ? bytes : 4;
  farUnpack(to, first, before);
  farUnpack(to + before, second, bytes - before);
}

}  // namespace rondo
