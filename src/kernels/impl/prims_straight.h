#pragma once
// PrimsStraight's bodies.

#include "kernels/impl/prims_simple.h"

namespace rondo {
namespace device {

/// `bytes` of all operands, vector by vector; the last ones, less than one, by elements. A warp's
/// stores to the next rank are whole lines of its memory if `past` is how far into one `o.send`
/// lies: five lines instead of four for a store took 2 % longer (2 x H200, 2026-11).
template <int bits, class Reducer>
__device__ __forceinline__ void combineByLines(const Operands& o, const Reduction& reduction,
                                               const typename Reducer::Source& source,
                                               uint32_t elementBytes, uint32_t bytes, uint32_t past,
                                               uint32_t threads) {
  constexpr int kUnroll = (bits & algo::kRecv) && (bits & algo::kSrc) ? 4 : 8;  // registers
  const WholeUnits piece;
  const uint32_t whole = bytes / 16 * 16, step = 16 * threads;
#pragma unroll 1
  for (uint32_t base = 16 * threadIdx.x; base < whole + past; base += kUnroll * step) {
    Unit a[kUnroll];
    Unit raw[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const uint32_t i = base + u * step - past;  // wraps where it lies before
      if ((bits & algo::kRecv) && i < whole) a[u] = piece.fetch(o.recv + i);
      if ((bits & algo::kSrc) && i < whole) raw[u] = piece.load(o.src + i);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const uint32_t i = base + u * step - past;
      if (i >= whole) continue;
      Unit v = a[u];
      if constexpr ((bits & algo::kSrc) != 0) {
        const Unit own = Unit{source(raw[u].a), source(raw[u].b)};
        v = own;
        if constexpr ((bits & algo::kRecv) != 0) {
          const unsigned long long words[2][2] = {{a[u].a, own.a}, {a[u].b, own.b}};
          unsigned long long out[2];
          Reducer::reduce(reduction, words, 2, out);
          v = Unit{out[0], out[1]};
        }
      }
      if (bits & algo::kSend) piece.put(o.send + i, v);
      if (bits & algo::kDst) piece.store(o.dst + i, v);
    }
  }
  combine<bits, Reducer, 1>(o, reduction, source, Elements{elementBytes}, whole, bytes, threads);
}

}  // namespace device

template <class Reducer, uint32_t kSlots>
template <class Body>
__device__ __forceinline__ void PrimsStraight<Reducer, kSlots>::forEachPart(int lane, Body body) {
  const Cut& cut = call_.args.cut;
  last_ = lastPart(cut, lane);
  last_.offset += cut.fullPeriods * cut.period;
  algo::Count k = 0;
#pragma unroll 1
  do {
    const algo::Count left = cut.fullPeriods - k;
    periods_ = static_cast<uint32_t>(left < call_.straight.periods ? left : call_.straight.periods);
    k += periods_;
    part_ = cut.fullPeriods > 0 ? fullPart(cut, lane) : last_;
    if (periods_ > 0) part_.offset += (k - periods_) * cut.period;
    joins_ = k == cut.fullPeriods && last_.count > 0;
    if (part_.count > 0) body(part_);
  } while (k < cut.fullPeriods);
}

/// The block of the last period that goes with one of the others, without a 64-bit division.
template <class Reducer, uint32_t kSlots>
__device__ __forceinline__ algo::Block PrimsStraight<Reducer, kSlots>::lastOf(algo::Block b) const {
  algo::Count begin = 0;
#pragma unroll 1
  for (algo::Count at = part_.offset; at < b.offset; at += part_.block) begin += last_.block;
  if (begin >= last_.count) return algo::Block{0, 0};
  const algo::Count left = last_.count - begin;
  return algo::Block{last_.offset + begin, left < last_.block ? left : last_.block, b.slot};
}

template <class Reducer, uint32_t kSlots>
template <int bits>
__device__ __forceinline__ void PrimsStraight<Reducer, kSlots>::move(algo::Block b, int, int) {
  static_assert((bits & (algo::kOwn | algo::kBefore | algo::kFirst)) == 0, "of no ring");
  if (b.count == 0) return;
  const algo::Block last = joins_ ? lastOf(b) : algo::Block{0, 0};
  const uint32_t blocks = periods_ + (last.count > 0 ? 1 : 0);
  const uint32_t announced = call_.straight.announced;
  uint32_t together = 0;
#pragma unroll 1
  for (uint32_t k = 0; k < blocks; ++k, b.offset += call_.args.cut.period) {
    if (k == periods_) b = last;
    const bool begins = together == 0, ends = ++together == announced || k + 1 == blocks;
    if (!moveBlock<bits>(b, blocks == 1, begins, ends)) return;
    if (ends) together = 0;
  }
}

/// One block, whole or in halves, so that the next rank begins while the second is on its way; what
/// begins is waited for, and what ends announced. False if a wait was given up.
template <class Reducer, uint32_t kSlots>
template <int bits>
__device__ __forceinline__ bool PrimsStraight<Reducer, kSlots>::moveBlock(algo::Block b,
                                                                          bool halves, bool begins,
                                                                          bool ends) {
  // What comes and is kept as it is lies where it belongs.
  constexpr bool kKept = (bits & algo::kRecv) && (bits & algo::kDst) && !(bits & algo::kSrc);
  constexpr int kMoves = kKept ? bits & ~algo::kDst : bits;
  constexpr uint32_t kLine = 128;
  const CallArgs& args = call_.args;
  const uint64_t offset = b.offset * args.elementBytes;
  const uint64_t at = static_cast<uint64_t>(b.slot) * args.dstSlot + offset;
  const unsigned char* const src = args.src + static_cast<uint64_t>(b.slot) * args.srcSlot + offset;
  unsigned char* const mine = args.dst + at;
  unsigned char* const there = lane_.next() + at;
  Reduction reduction = args.reduction;
  if (!(bits & algo::kFinal)) reduction.divisor = 0;
  const uint32_t total = static_cast<uint32_t>(b.count) * args.elementBytes;
  const auto past = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(there) % kLine) / 16 * 16;
  const uint32_t piece = halves && total > kLine ? (total / 2 + kLine - 1) / kLine * kLine : total;
#pragma unroll 1
  for (uint32_t from = 0; from < total; from += piece) {
    if (begins && !lane_.template ready<bits & algo::kRecv>()) return false;
    const uint32_t bytes = total - from < piece ? total - from : piece;
    const device::Operands o{mine + from, src + from, mine + from, there + from};
    const auto combine = [&](auto moves) {
      device::combineByLines<decltype(moves)::value, Reducer>(
          o, reduction, source_, args.elementBytes, bytes, past, Lane::workers());
    };
    if constexpr (kMoves == (algo::kSrc | algo::kDst | algo::kSend)) {
      if (src == mine) {
        combine(std::integral_constant<int, algo::kSrc | algo::kSend>{});
      } else {
        combine(std::integral_constant<int, kMoves>{});
      }
    } else if constexpr ((kMoves & (algo::kDst | algo::kSend)) != 0) {
      combine(std::integral_constant<int, kMoves>{});
    }
    if (ends) lane_.template done<bits>();
  }
  return true;
}

}  // namespace rondo
