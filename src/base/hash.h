#pragma once
// A 64-bit hash of bytes, the same in every process. Not for secrets.

#include <cstdint>
#include <string_view>

namespace rondo {

/// FNV-1a.
constexpr uint64_t hashBytes(std::string_view bytes, uint64_t start = 0xcbf29ce484222325) {
  uint64_t hash = start;
  for (const char c : bytes) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

/// Spreads a hash's bits (splitmix64's finisher).
constexpr uint64_t mixBits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace rondo
