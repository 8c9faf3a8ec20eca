#pragma once
// PrimsSimple's bodies.

#include "kernels/impl/pieces.h"
#include "kernels/impl/wait.h"
#include "kernels/prims.h"

namespace rondo {
namespace device {

/// What one move reads and writes; nullptr where it does not.
struct Operands {
  const unsigned char* recv;
  const unsigned char* src;
  unsigned char* dst;
  unsigned char* send;
};

/// Bytes [from, end) of all operands, kUnroll pieces in flight for each of `threads` threads.
template <int bits, class Reducer, int kUnroll, class Piece>
__device__ __forceinline__ void combine(const Operands& o, const Reduction& reduction,
                                        const typename Reducer::Source& source, Piece piece,
                                        uint32_t from, uint32_t end, uint32_t threads) {
  const uint32_t step = piece.bytes() * threads;
  for (uint32_t base = from + threadIdx.x * piece.bytes(); base < end; base += kUnroll * step) {
    Unit a[kUnroll];
    typename Piece::Raw raw[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const uint32_t i = base + u * step;
      if ((bits & algo::kRecv) && i < end) a[u] = piece.fetch(o.recv + i);
      if ((bits & algo::kSrc) && i < end) raw[u] = piece.load(o.src + i);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const uint32_t i = base + u * step;
      if (i >= end) continue;
      Unit own = a[u];
      if constexpr ((bits & algo::kSrc) != 0) {
        own = piece.unit(raw[u]);
        own = Unit{source(own.a), source(own.b)};
      }
      Unit v = (bits & algo::kRecv) ? a[u] : own;
      if constexpr ((bits & algo::kRecv) && (bits & algo::kSrc)) {
        const unsigned long long words[2][2] = {{a[u].a, own.a}, {a[u].b, own.b}};
        unsigned long long out[2];
        Reducer::reduce(reduction, words, 2, out);
        v = Unit{out[0], out[1]};
      }
      if (bits & algo::kSend) piece.put(o.send + i, v);
      if (bits & algo::kDst) piece.store(o.dst + i, (bits & algo::kBefore) ? a[u] : v);
    }
  }
}

}  // namespace device

template <class Reducer, uint32_t kSlots, bool kAnywhere, bool kAsks>
template <int bits>
__device__ __forceinline__ void PrimsSimple<Reducer, kSlots, kAnywhere, kAsks>::move(algo::Block b,
                                                                                     int, int) {
  if (b.count == 0) return;
  const CallArgs& args = call_.args;
  const uint64_t at = b.offset * args.elementBytes;
  const unsigned char* src = args.src + static_cast<uint64_t>(b.slot) * args.srcSlot + at;
  unsigned char* dst = args.dst + static_cast<uint64_t>(b.slot) * args.dstSlot + at;
  Reduction reduction = args.reduction;
  if (!(bits & algo::kFinal)) reduction.divisor = 0;
  constexpr uint32_t kPass = 16 * (kRingThreads - 32);  // of all threads that work
  constexpr int kPasses = kSlotBytes / kPass;
  static_assert(kSlotBytes % kPass == 0, "a part of the threads would have nothing to do");
  const bool aligned = ((bits & algo::kSrc) == 0 || device::aligned(src, 16)) &&
                       ((bits & algo::kDst) == 0 || device::aligned(dst, 16));
  const uint32_t total = static_cast<uint32_t>(b.count) * args.elementBytes;
  constexpr uint32_t most = kSlots * kSlotBytes;
  const uint32_t slices = (total + most - 1) / most;  // of equal length
  const uint32_t slice = ((total + slices - 1) / slices + 15) / 16 * 16;
#pragma unroll 1
  for (uint32_t from = 0; from < total; from += slice) {
    if (!lane_.template ready<bits>()) return;
    const uint32_t bytes = total - from < slice ? total - from : slice;
    const device::Operands o{lane_.slotIn(), src + from, dst + from, lane_.slotOut()};
    uint32_t whole = bytes / 16 * 16;
    if constexpr (kAnywhere) {
      // No load reaches past the block; those of a slice may reach into the next one.
      const uint32_t shift = (bits & algo::kSrc) ? device::shiftOf(src) : 0;
      const auto most = static_cast<uint32_t>(unitsWithin(total - from, shift));
      if (most < whole) whole = most;
      device::combine<bits, Reducer, kPasses>(o, reduction, source_, device::ShiftedUnits{shift}, 0,
                                              whole, Lane::workers());
    } else {
      if (!aligned) whole = 0;
      device::combine<bits, Reducer, kPasses * kSlots>(o, reduction, source_, device::WholeUnits{},
                                                       0, whole, Lane::workers());
    }
    device::combine<bits, Reducer, 1>(o, reduction, source_, device::Elements{args.elementBytes},
                                      whole, bytes, Lane::workers());
    if (bits & (algo::kRecv | algo::kSend)) lane_.template done<bits>();
  }
}

}  // namespace rondo
