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

static_assert(kFifoSlots > kBlockSlices * kSliceSlots && (kFifoSlots & (kFifoSlots - 1)) == 0,
              "see channel_view.h: ranks would wait for each other, and counters wrap");

#define RONDO_SIMPLE                                        \
  template <class Reducer, uint32_t kSlots, bool kAnywhere> \
  __device__ __forceinline__

RONDO_SIMPLE PrimsSimple<Reducer, kSlots, kAnywhere>::PrimsSimple(const RingCall& call, int lane,
                                                                  RingDesk* desk)
    : call_(call),
      source_(call.args),
      desk_(desk),
      in_(call.ring.fromPrev),
      out_(call.ring.toNext),
      steps_(call.ring.steps + lane * kFlagWords) {
  const uint64_t slots = static_cast<uint64_t>(lane) * kFifoSlots * kSlotBytes;
  for (FifoView* fifo : {&in_, &out_}) {
    fifo->slots += slots;
    fifo->head += lane * kFlagWords;
    fifo->credit += lane * kFlagWords;
  }
  firstReceived_ = received_ = head_ = steps_[0];
  firstSent_ = sent_ = steps_[1];
  credit_ = sent_ - kFifoSlots;  // nothing is known yet
  if (threadIdx.x < kRingThreads / 32) desk->sent[threadIdx.x] = desk->taken[threadIdx.x] = 0;
  if (threadIdx.x == 0) desk->working = workers() / 32;
  __syncthreads();  // also: every thread has read the old steps
}

RONDO_SIMPLE void PrimsSimple<Reducer, kSlots, kAnywhere>::finish() {
  if constexpr (kSlots < kSliceSlots) {
    // The next kernel's slices may be longer, and do not wrap. The previous rank may say so of its
    // own slots only when this rank's next kernel looks.
    received_ = (received_ + kSliceSlots - 1) / kSliceSlots * kSliceSlots;
    sent_ = (sent_ + kSliceSlots - 1) / kSliceSlots * kSliceSlots;
    // Who gave up has left out slices.
    if (!gaveUp_) tellDesk<algo::kSend | algo::kRecv>();
  }
  if (threadIdx.x == 0) {
    steps_[0] = received_;
    steps_[1] = sent_;
  }
  if (threadIdx.x % 32 == 0) {
    __threadfence_block();
    atomicSub(&desk_->working, 1u);
  }
}

/// A slice has come in and there is a slot to send into, as far as this warp knows. Counters may
/// wrap: only differences are looked at. The head may be one behind: see finish().
template <class Reducer, uint32_t kSlots, bool kAnywhere>
template <int bits>
__device__ __forceinline__ bool PrimsSimple<Reducer, kSlots, kAnywhere>::enough() const {
  return (!(bits & algo::kRecv) || static_cast<int32_t>(head_ - received_) > 0) &&
         (!(bits & algo::kSend) || sent_ - credit_ <= kFifoSlots - kSlots);
}

/// Waits for it, every warp for itself. What a look finds mostly lasts for several slices.
template <class Reducer, uint32_t kSlots, bool kAnywhere>
template <int bits>
__device__ __forceinline__ bool PrimsSimple<Reducer, kSlots, kAnywhere>::ready() {
  if (enough<bits>()) return true;
  const uint32_t thread = threadIdx.x % 32;
  const uint32_t* const counter = thread == 0 ? in_.head : out_.credit;
  const bool came = device::waitUntil(
      call_.args.fault,
      [&] {
        const uint32_t seen = thread < 2 ? device::loadAcquire(counter) : 0;
        head_ = __shfl_sync(~0u, seen, 0);
        credit_ = __shfl_sync(~0u, seen, 1);
        return enough<bits>();
      },
      [](bool mine) { return __any_sync(~0u, mine); });
  __syncwarp();  // what the first two threads acquired is there for all
  return came;
}

template <class Reducer, uint32_t kSlots, bool kAnywhere>
template <int bits>
__device__ __forceinline__ void PrimsSimple<Reducer, kSlots, kAnywhere>::done() {
  received_ += (bits & algo::kRecv) ? kSlots : 0;
  sent_ += (bits & algo::kSend) ? kSlots : 0;
  __syncwarp();
  tellDesk<bits>();
}

template <class Reducer, uint32_t kSlots, bool kAnywhere>
template <int bits>
__device__ __forceinline__ void PrimsSimple<Reducer, kSlots, kAnywhere>::tellDesk() {
  if (threadIdx.x % 32 != 0) return;
  __threadfence_block();
  const uint32_t warp = threadIdx.x / 32;
  if (bits & algo::kSend) atomicExch(&desk_->sent[warp], sent_ - firstSent_);
  if (bits & algo::kRecv) atomicExch(&desk_->taken[warp], received_ - firstReceived_);
}

/// Tells the previous rank which of its slots are free again, and the next one which are full: what
/// every warp has done. What was read has been used, so that nothing has to be released for the
/// former: behind the fence for the latter, which waits for all that is on the links, it took 3 %
/// more of a long all-reduce (4 x H200, 2026-11).
RONDO_SIMPLE void PrimsSimple<Reducer, kSlots, kAnywhere>::serve() {
  const uint32_t thread = threadIdx.x % 32;
  const bool watches = thread < workers() / 32;
  uint32_t* const counter = thread == 0 ? out_.head : in_.credit;
  const uint32_t first = thread == 0 ? firstSent_ : firstReceived_;
  uint32_t told = 0;  // by this thread
  for (;;) {
    const bool last = atomicAdd(&desk_->working, 0u) == 0;
    __threadfence_block();
    const uint32_t sent =
        __reduce_min_sync(~0u, watches ? atomicAdd(&desk_->sent[thread], 0u) : ~0u);
    const uint32_t taken =
        __reduce_min_sync(~0u, watches ? atomicAdd(&desk_->taken[thread], 0u) : ~0u);
    const uint32_t now = thread == 0 ? sent : taken;
    __threadfence_block();
    __syncwarp();
    if (thread == 1 && now != told) device::storeRelaxed(counter, first + now);
    __syncwarp();
    if (thread == 0 && now != told) device::storeRelease(counter, first + now);
    told = now;
    if (__all_sync(~0u, last)) return;
  }
}

template <class Reducer, uint32_t kSlots, bool kAnywhere>
template <int bits>
__device__ __forceinline__ void PrimsSimple<Reducer, kSlots, kAnywhere>::move(algo::Block b, int,
                                                                              int) {
  if (b.count == 0 || gaveUp_) return;
  const CallArgs& args = call_.args;
  const uint64_t at = b.offset * args.elementBytes;
  const unsigned char* src = args.src + static_cast<uint64_t>(b.slot) * args.srcSlot + at;
  unsigned char* dst = args.dst + static_cast<uint64_t>(b.slot) * args.dstSlot + at;
  Reduction reduction = args.reduction;
  if (!(bits & algo::kFinal)) reduction.divisor = 0;
  const bool aligned = ((bits & algo::kSrc) == 0 || device::aligned(src, 16)) &&
                       ((bits & algo::kDst) == 0 || device::aligned(dst, 16));
  const uint32_t total = static_cast<uint32_t>(b.count) * args.elementBytes;
  constexpr uint32_t most = kSlots * kSlotBytes;
  const uint32_t slices = (total + most - 1) / most;  // of equal length
  const uint32_t slice = ((total + slices - 1) / slices + 15) / 16 * 16;
#pragma unroll 1
  for (uint32_t from = 0; from < total; from += slice) {
    if (!ready<bits>()) {
      gaveUp_ = true;
      return;
    }
    const uint32_t bytes = total - from < slice ? total - from : slice;
    const device::Operands o{in_.slots + received_ % kFifoSlots * kSlotBytes, src + from,
                             dst + from, out_.slots + sent_ % kFifoSlots * kSlotBytes};
    uint32_t whole = bytes / 16 * 16;
    if constexpr (kAnywhere) {
      // No load reaches past the block; those of a slice may reach into the next one.
      const uint32_t shift = (bits & algo::kSrc) ? device::shiftOf(src) : 0;
      const auto most = static_cast<uint32_t>(unitsWithin(total - from, shift));
      if (most < whole) whole = most;
      device::combine<bits, Reducer, 2 * kSlots>(o, reduction, source_, device::ShiftedUnits{shift},
                                                 0, whole, workers());
    } else {
      if (!aligned) whole = 0;
      device::combine<bits, Reducer, 4 * kSlots>(o, reduction, source_, device::WholeUnits{}, 0,
                                                 whole, workers());
    }
    device::combine<bits, Reducer, 1>(o, reduction, source_, device::Elements{args.elementBytes},
                                      whole, bytes, workers());
    if (bits & (algo::kRecv | algo::kSend)) done<bits>();
  }
}

#undef RONDO_SIMPLE

}  // namespace rondo
