#pragma once
// Elements of any bits at all: NaN, infinities, -0 and denormals among them.

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "api/types.h"

namespace rondo::testing {

/// `count` elements of a rank, random bits, every fourth one of the awkward ones.
inline std::vector<char> wildElements(rondoDataType_t type, int rank, size_t count) {
  std::mt19937_64 random(static_cast<unsigned>(rank) * 77 + 5);
  const size_t size = typeSize(type);
  std::vector<char> bytes(count * size);
  const uint64_t tops[] = {0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000001,
                           0x8000000000000000, 0x0000000000000001, 0x7ff4000000000000};
  const uint32_t floats[] = {0x7f800000, 0xff800000, 0x7fc00001, 0x80000000, 1, 0x7fa00000};
  const uint16_t halves[] = {0x7c00, 0xfc00, 0x7e01, 0x8000, 1, 0x7f80};
  for (size_t i = 0; i < count; ++i) {
    uint64_t value = random();
    const size_t pick = random() % 24;
    if (pick < 6) value = size == 8 ? tops[pick] : size == 4 ? floats[pick] : halves[pick];
    for (size_t at = 0; at < size; at += 8) {
      std::memcpy(bytes.data() + i * size + at, &value, std::min<size_t>(size, 8));
    }
  }
  return bytes;
}

}  // namespace rondo::testing
