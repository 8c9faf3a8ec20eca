#pragma once
// 16 bytes at any address, by accesses that are aligned: two loads of 16 bytes around them, and at
// most six stores, of 4 bytes but for what is left at the ends.

#include <cstdint>
#include <cstring>

#include "kernels/reduce_units.h"

namespace rondo {
namespace unaligned {

/// One store. `to` is aligned to T.
template <class T>
RONDO_ALGO void put(unsigned char* to, T value) {
#if defined(__CUDA_ARCH__)
  *reinterpret_cast<T*>(to) = value;
#else
  std::memcpy(to, &value, sizeof(T));
#endif
}

}  // namespace unaligned

/// The 16 bytes that begin `shift` bytes, 0 to 15, into two vectors which lie side by side.
RONDO_ALGO Unit unitWithin(Unit low, Unit high, uint32_t shift) {
  const bool far = shift >= 8;
  const uint32_t bits = 8 * (shift % 8);
  const unsigned long long first = far ? low.b : low.a;
  const unsigned long long second = far ? high.a : low.b;
  const unsigned long long third = far ? high.b : high.a;
  return Unit{first >> bits | second << 1 << (63 - bits),
              second >> bits | third << 1 << (63 - bits)};
}

/// Of a buffer that begins `shift` bytes behind a multiple of 16: how many of its first `bytes`
/// bytes unitWithin() can make without a load that reaches past them. A multiple of 16.
RONDO_ALGO uint64_t unitsWithin(uint64_t bytes, uint32_t shift) {
  if (shift == 0) return bytes / 16 * 16;
  return bytes + shift < 32 ? 0 : (bytes + shift - 16) / 16 * 16;
}

/// Stores the first `bytes` of a unit, 8 or 16.
RONDO_ALGO void storeParts(unsigned char* to, Unit u, uint32_t bytes) {
  using unaligned::put;
  const auto address = reinterpret_cast<uintptr_t>(to);
  if (address % 8 == 0) {
    put(to, u.a);
    if (bytes == 16) put(to + 8, u.b);
    return;
  }
  const uint32_t word[4] = {static_cast<uint32_t>(u.a), static_cast<uint32_t>(u.a >> 32),
                            static_cast<uint32_t>(u.b), static_cast<uint32_t>(u.b >> 32)};
  const uint32_t past = address % 4;  // behind the last multiple of 4, as many as the end is
  const uint32_t words = bytes / 4;
  if (past == 0) {
    for (uint32_t k = 0; k < 4; ++k) {
      if (k < words) put(to + 4 * k, word[k]);
    }
    return;
  }
  const uint32_t head = 4 - past;
  if (past % 2 != 0) put(to, static_cast<unsigned char>(word[0]));
  if (past <= 2) put(to + past % 2, static_cast<uint16_t>(word[0] >> 8 * (past % 2)));
  for (uint32_t k = 0; k < 3; ++k) {
    if (k + 1 < words) put(to + head + 4 * k, word[k] >> 8 * head | word[k + 1] << 8 * past);
  }
  const uint32_t last = (bytes == 16 ? word[3] : word[1]) >> 8 * head;
  unsigned char* const tail = to + bytes - past;
  if (past >= 2) put(tail, static_cast<uint16_t>(last));
  if (past % 2 != 0) put(tail + past - 1, static_cast<unsigned char>(last >> 8 * (past - 1)));
}

}  // namespace rondo
