#pragma once
// Short chunks between a kernel and its thread: lines whose halves each have four bytes of data and
// the chunk's tag, so that each tells by itself that it has come. So neither side needs a fence, or
// a look at a flag before one at the data, which cost a kernel 1.5 to 2 us each across PCIe.

#include <cstdint>

#include "coll/algo/base.h"

namespace rondo {

struct alignas(16) FarLine {
  uint64_t half[2];
};

/// Bytes of data in a line.
constexpr uint64_t kFarLineBytes = 8;
/// Of either side of a chunk: what a block of threads moves at once.
constexpr uint64_t kMostFarLines = 512;

/// Of chunk `number`; never 0, which is what a line has that was never written. Comes again after
/// 2^31 chunks: until then the host has cleared the lines.
RONDO_ALGO uint32_t farTag(uint32_t number) { return number << 1 | 1; }

/// What goes in lines: `slots` of `bytes` each, `stride` bytes apart. Each begins a line.
struct FarLined {
  uint64_t slots, bytes, stride;

  RONDO_ALGO uint64_t perSlot() const { return (bytes + kFarLineBytes - 1) / kFarLineBytes; }
  RONDO_ALGO uint64_t lines() const { return slots * perSlot(); }
  /// Of half h of line i: where its data are, and how many bytes it has, 0 to 4.
  RONDO_ALGO uint64_t offset(uint64_t i, int h) const {
    return i / perSlot() * stride + i % perSlot() * kFarLineBytes + static_cast<uint64_t>(h) * 4;
  }
  RONDO_ALGO uint64_t length(uint64_t i, int h) const {
    const uint64_t before = i % perSlot() * kFarLineBytes + static_cast<uint64_t>(h) * 4;
    const uint64_t left = bytes > before ? bytes - before : 0;
    return left < 4 ? left : 4;
  }
};

RONDO_ALGO uint64_t farHalf(const unsigned char* from, uint64_t bytes, uint32_t tag) {
  uint64_t half = static_cast<uint64_t>(tag) << 32;
  if (bytes == 4 && reinterpret_cast<uintptr_t>(from) % 4 == 0) {
    return half | *reinterpret_cast<const uint32_t*>(from);
  }
  for (uint64_t b = 0; b < bytes; ++b) half |= static_cast<uint64_t>(from[b]) << 8 * b;
  return half;
}

RONDO_ALGO void farUnpack(unsigned char* to, uint64_t half, uint64_t bytes) {
  if (bytes == 4 && reinterpret_cast<uintptr_t>(to) % 4 == 0) {
    *reinterpret_cast<uint32_t*>(to) = static_cast<uint32_t>(half);
    return;
  }
  for (uint64_t b = 0; b < bytes; ++b) to[b] = static_cast<unsigned char>(half >> 8 * b);
}

}  // namespace rondo
