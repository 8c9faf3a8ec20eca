#pragma once
// Bytes from any address to any other, by all threads of a block.

#include "kernels/impl/memory.h"
#include "kernels/unaligned.h"

namespace rondo::device {

/// 16 bytes, past L1: a peer may have written there.
__device__ __forceinline__ Unit loadUnit(const unsigned char* from) {
  const ulonglong2 v = __ldcg(reinterpret_cast<const ulonglong2*>(from));
  return Unit{v.x, v.y};
}
__device__ __forceinline__ void storeUnit(unsigned char* to, Unit u) {
  *reinterpret_cast<ulonglong2*>(to) = make_ulonglong2(u.a, u.b);
}

/// Two vectors that lie side by side, and what begins `shift` bytes into the first of them. The
/// second one is not looked at where nothing of it is needed.
struct Vectors {
  Unit low, high;
};
__device__ __forceinline__ Vectors loadAround(const unsigned char* from, uint32_t shift) {
  return Vectors{loadUnit(from - shift), shift != 0 ? loadUnit(from - shift + 16) : Unit{0, 0}};
}
__device__ __forceinline__ uint32_t shiftOf(const void* p) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(p) % 16);
}

/// From `base` on, kUnroll loads under way: of all of them, or of those before `end`. Loops are of
/// the former, and the latter begins with zeros, as a load that is left out leaves what was there:
/// registers lived from one turn to the next, and in large kernels were kept in memory, where each
/// load was waited for (sends of 256 MiB took 795 us instead of 748, 2 x H200, 2026-11).
template <int kUnroll, bool kAll, class Load, class Make>
__device__ __forceinline__ void copyTurn(unsigned char* to, uint32_t base, uint32_t end,
                                         uint32_t step, Load load, Make make) {
  decltype(load(0)) v[kUnroll] = {};
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    if (kAll || base + u * step < end) v[u] = load(base + u * step);
  }
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    if (kAll || base + u * step < end) storeUnit(to + base + u * step, make(v[u]));
  }
}

/// Bytes [0, bytes), a multiple of 16, of which `to` is one, too: what `make` makes of what `load`
/// finds for an offset.
template <int kUnroll, class Load, class Make>
__device__ __forceinline__ void copyTurns(unsigned char* to, uint32_t bytes, Load load, Make make) {
  const uint32_t step = 16 * blockDim.x, turn = kUnroll * step, whole = bytes / turn * turn;
  uint32_t base = 16 * threadIdx.x;
  if constexpr (kUnroll > 2) {  // of fewer the one loop will do, for half the code
#pragma unroll 1
    for (; base < whole; base += turn) copyTurn<kUnroll, true>(to, base, whole, step, load, make);
  }
#pragma unroll 1
  for (; base < bytes; base += turn) copyTurn<kUnroll, false>(to, base, bytes, step, load, make);
}

/// kUnroll loads a thread under way.
template <int kUnroll>
__device__ __forceinline__ void copyUnits(unsigned char* to, const unsigned char* from,
                                          uint32_t bytes) {
  copyTurns<kUnroll>(
      to, bytes, [&](uint32_t at) { return loadUnit(from + at); }, [](Unit u) { return u; });
}

/// The same where `from` begins `shift` bytes behind a multiple of 16, from 1 on.
template <int kUnroll>
__device__ __forceinline__ void copyShifted(unsigned char* to, const unsigned char* from,
                                            uint32_t bytes, uint32_t shift) {
  copyTurns<kUnroll>(
      to, bytes, [&](uint32_t at) { return loadAround(from + at, shift); },
      [&](const Vectors& v) { return unitWithin(v.low, v.high, shift); });
}

/// Stores are whole vectors but for the first and the last bytes, which may be on another device;
/// loads are shifted. The bytes before and behind are 46 at most: every thread of a warp has room
/// for two, which are under way with the vectors.
template <int kUnroll>
__device__ __forceinline__ void copyBetween(unsigned char* to, const unsigned char* from,
                                            uint32_t bytes) {
  uint32_t head = (16 - shiftOf(to)) % 16;
  if (head > bytes) head = bytes;
  const uint32_t shift = shiftOf(from + head);
  const auto inner = static_cast<uint32_t>(unitsWithin(bytes - head, shift));
  const uint32_t edges = bytes - inner;
  unsigned char edge[2];
#pragma unroll
  for (uint32_t e = 0; e < 2; ++e) {
    const uint32_t i = threadIdx.x + e * blockDim.x;
    if (i < edges) edge[e] = __ldcg(from + (i < head ? i : i + inner));
  }
  if (shift == 0) {
    copyUnits<kUnroll>(to + head, from + head, inner);
  } else {
    copyShifted<kUnroll / 2>(to + head, from + head, inner, shift);
  }
#pragma unroll
  for (uint32_t e = 0; e < 2; ++e) {
    const uint32_t i = threadIdx.x + e * blockDim.x;
    if (i < edges) to[i < head ? i : i + inner] = edge[e];
  }
}

/// Not inlined: few calls need it.
__device__ __noinline__ inline void copyAny(unsigned char* to, const unsigned char* from,
                                            uint32_t bytes) {
  copyBetween<4>(to, from, bytes);
}

/// Any number of bytes, eight vectors of each thread under way. Not inlined: it needs all registers
/// for itself.
__device__ __noinline__ inline void copyLong(unsigned char* to, const unsigned char* from,
                                             uint64_t bytes) {
  constexpr uint64_t kAtOnce = 1u << 30;
  for (uint64_t at = 0; at < bytes; at += kAtOnce) {
    copyBetween<8>(to + at, from + at,
                   static_cast<uint32_t>(bytes - at < kAtOnce ? bytes - at : kAtOnce));
  }
}

}  // namespace rondo::device
