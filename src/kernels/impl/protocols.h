#pragma once
// How data announce themselves on the wire: each 16-byte vector, or each line of eight, carries
// flags of its exchange. There is no fence and no separate signal.

#include "kernels/impl/memory.h"

namespace rondo {

/// 4 bytes of data and a 4-byte flag in every 8 bytes, whose stores are whole everywhere: the least
/// latency, at twice the bytes. A vector carries one 8-byte word.
struct ProtocolLL {
  static constexpr int kWords = 1;
  static constexpr bool kWarpWide = false;
  using Flag = uint32_t;

  /// Vectors that carry so many words.
  __device__ static uint32_t vectors(uint32_t words) { return words; }
  __device__ static uint32_t firstWord(uint32_t vector) { return vector; }
  __device__ static bool has(uint32_t, int) { return true; }

  __device__ static device::Pair64 pack(uint32_t, const unsigned long long (&word)[kWords],
                                        Flag flag) {
    const unsigned long long high = static_cast<unsigned long long>(flag) << 32;
    return {high | (word[0] & 0xffffffffu), high | (word[0] >> 32)};
  }
  __device__ static void unpack(device::Pair64 p, unsigned long long (&word)[kWords]) {
    word[0] = (p.a & 0xffffffffu) | (p.b << 32);
  }
  __device__ static bool carries(uint32_t, device::Pair64 p, Flag flag) {
    return static_cast<uint32_t>(p.a >> 32) == flag && static_cast<uint32_t>(p.b >> 32) == flag;
  }
  __device__ static void together() {}
  __device__ static bool all(bool mine) { return mine; }
  __device__ static bool any(bool mine) { return mine; }

  /// Flags never take the value 0, which fresh memory has, and odd and even keep alternating.
  __device__ static Flag next(Flag epoch) { return epoch == ~0u ? 2u : epoch + 1; }
  /// In the last two epochs before the wrap places are emptied, so that no flag of long ago looks
  /// new.
  /// Places are emptied then, hello flags are not: one of exactly 2^32 exchanges before, of a lane
  /// that said no hello since (hours of calls that need none), would pass for a new one.
  __device__ static bool wraps(Flag epoch) { return epoch >= ~1u; }
};

/// 128-byte lines of kLineWords 8-byte words and a flag in the last 8 bytes. A line is stored by
/// eight threads of a warp in one instruction and arrives whole over NVLink: nothing in CUDA's
/// memory model says so, but it holds on the GPUs that Rondo takes it for
/// (CudaDevice::storesLinesTo). Vector k of a line carries words 2k and 2k + 1. With 14 words no
/// 16-byte element is cut in two.
template <int kLineWords>
struct ProtocolLL128 {
  static constexpr int kWords = 2;
  static constexpr bool kWarpWide = true;
  using Flag = unsigned long long;

  /// Whole warps of them, so that all threads of a warp store, poll and leave together.
  __device__ static uint32_t vectors(uint32_t words) {
    constexpr uint32_t kPerWarp = 4 * kLineWords;
    return (words + kPerWarp - 1) / kPerWarp * 32;
  }
  __device__ static uint32_t firstWord(uint32_t vector) {
    return vector / 8 * kLineWords + 2 * (vector % 8);
  }
  __device__ static bool has(uint32_t vector, int k) {
    return vector % 8 != 7 || (kLineWords == 15 && k == 0);
  }

  __device__ static device::Pair64 pack(uint32_t vector, const unsigned long long (&word)[kWords],
                                        Flag flag) {
    return {word[0], vector % 8 == 7 ? flag : word[1]};
  }
  __device__ static void unpack(device::Pair64 p, unsigned long long (&word)[kWords]) {
    word[0] = p.a;
    word[1] = p.b;
  }
  __device__ static bool carries(uint32_t vector, device::Pair64 p, Flag flag) {
    return vector % 8 != 7 || p.b == flag;
  }
  /// Before every store and every load of lines. Threads that have parted (one with data, another
  /// past the end) may otherwise make them in two instructions, flag and data apart.
  __device__ static void together() { __syncwarp(); }
  __device__ static bool all(bool mine) { return __all_sync(~0u, mine); }
  __device__ static bool any(bool mine) { return __any_sync(~0u, mine); }

  __device__ static Flag next(Flag epoch) { return epoch + 1; }
  __device__ static bool wraps(Flag) { return false; }  // 64 bits last
};

}  // namespace rondo
