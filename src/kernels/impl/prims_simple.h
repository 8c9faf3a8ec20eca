#pragma once
// PrimsSimple's bodies.

#include "kernels/direct_call.h"
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

/// Some of a Unit's bytes at a time: all of them, or one element.
struct WholeUnits {
  static constexpr int kBytes = 16;
  __device__ uint32_t bytes() const { return 16; }
  __device__ Unit load(const unsigned char* from) const {
    const ulonglong2 v = __ldcg(reinterpret_cast<const ulonglong2*>(from));
    return Unit{v.x, v.y};
  }
  __device__ void store(unsigned char* to, Unit u) const {
    *reinterpret_cast<ulonglong2*>(to) = make_ulonglong2(u.a, u.b);
  }
};

struct Elements {
  uint32_t elementBytes;
  __device__ uint32_t bytes() const { return elementBytes; }
  __device__ Unit load(const unsigned char* from) const {
    switch (elementBytes) {
      case 1:
        return Unit{__ldcg(from), 0};
      case 2:
        return Unit{__ldcg(reinterpret_cast<const unsigned short*>(from)), 0};
      case 4:
        return Unit{__ldcg(reinterpret_cast<const unsigned*>(from)), 0};
      default: {
        const auto* words = reinterpret_cast<const unsigned long long*>(from);
        return Unit{__ldcg(words), elementBytes == 16 ? __ldcg(words + 1) : 0};
      }
    }
  }
  __device__ void store(unsigned char* to, Unit u) const {
    switch (elementBytes) {
      case 1:
        *to = static_cast<unsigned char>(u.a);
        break;
      case 2:
        *reinterpret_cast<unsigned short*>(to) = static_cast<unsigned short>(u.a);
        break;
      case 4:
        *reinterpret_cast<unsigned*>(to) = static_cast<unsigned>(u.a);
        break;
      default: {
        auto* words = reinterpret_cast<unsigned long long*>(to);
        words[0] = u.a;
        if (elementBytes == 16) words[1] = u.b;
      }
    }
  }
};

/// Bytes [from, end) of all operands, kUnroll pieces in flight for each of `threads` threads.
template <int bits, class Reducer, int kUnroll, class Piece>
__device__ __forceinline__ void combine(const Operands& o, const Reduction& reduction,
                                        const typename Reducer::Source& source, Piece piece,
                                        uint32_t from, uint32_t end, uint32_t threads) {
  const uint32_t step = piece.bytes() * threads;
  for (uint32_t base = from + threadIdx.x * piece.bytes(); base < end; base += kUnroll * step) {
    Unit a[kUnroll], b[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const uint32_t i = base + u * step;
      if ((bits & algo::kRecv) && i < end) a[u] = piece.load(o.recv + i);
      if ((bits & algo::kSrc) && i < end) b[u] = piece.load(o.src + i);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const uint32_t i = base + u * step;
      if (i >= end) continue;
      if (bits & algo::kSrc) b[u] = Unit{source(b[u].a), source(b[u].b)};
      Unit v = (bits & algo::kRecv) ? a[u] : b[u];
      if constexpr ((bits & algo::kRecv) && (bits & algo::kSrc)) {
        const unsigned long long words[2][2] = {{a[u].a, b[u].a}, {a[u].b, b[u].b}};
        unsigned long long out[2];
        Reducer::reduce(reduction, words, 2, out);
        v = Unit{out[0], out[1]};
      }
      if (bits & algo::kSend) piece.store(o.send + i, v);
      if (bits & algo::kDst) piece.store(o.dst + i, (bits & algo::kBefore) ? a[u] : v);
    }
  }
}

}  // namespace device

static_assert(kFifoSlots > kBlockSlots && (kFifoSlots & (kFifoSlots - 1)) == 0,
              "see channel_view.h: ranks would wait for each other, and counters wrap");

template <class Reducer>
__device__ __forceinline__ PrimsSimple<Reducer>::PrimsSimple(const RingCall& call, int lane,
                                                             RingDesk* desk)
    : call_(call),
      source_(call.args),
      desk_(desk),
      in_(call.ring.fromPrev),
      out_(call.ring.toNext),
      steps_(call.ring.steps + lane),
      asks_(call.straight.asksNext != 0) {
  const uint64_t slots = static_cast<uint64_t>(lane) * kFifoSlots * kSlotBytes;
  for (FifoView* fifo : {&in_, &out_}) {
    fifo->slots += slots;
    fifo->head += lane * kFlagWords;
    fifo->credit += lane * kFlagWords;
  }
  received_ = head_ = steps_->received;
  firstSent_ = sent_ = steps_->sent;
  firstTaken_ = taken_ = steps_->taken;
  filled_ = steps_->filled;
  asked_ = steps_->asked + 1;
  credit_ = filled_ - kFifoSlots;  // nothing is known yet
  if (threadIdx.x < kRingThreads / 32) desk->sent[threadIdx.x] = desk->taken[threadIdx.x] = 0;
  if (threadIdx.x == 0) {
    desk->working = workers() / 32;
    makeOffer();
  }
  __syncthreads();  // also: every thread has read the old steps
}

/// What was counted as received before it came.
template <class Reducer>
__device__ __forceinline__ void PrimsSimple<Reducer>::waitForAll() {
  if (static_cast<int32_t>(head_ - received_) >= 0) return;
  device::waitUntil(
      call_.args.fault,
      [&] {
        head_ = __shfl_sync(~0u, device::loadAcquire(in_.head), 0);
        return static_cast<int32_t>(head_ - received_) >= 0;
      },
      [](bool mine) { return __any_sync(~0u, mine); });
}

template <class Reducer>
__device__ __forceinline__ void PrimsSimple<Reducer>::finish() {
  if (!gaveUp_) waitForAll();
  if (threadIdx.x == 0) {
    steps_->received = received_;
    steps_->sent = sent_;
    steps_->taken = taken_;
    steps_->filled = filled_;
    steps_->offers += call_.straight.asksPrev != 0 ? 1 : 0;
    if (call_.straight.asksNext != 0) steps_->asked = asked_;
  }
  if (threadIdx.x % 32 == 0) {
    __threadfence_block();
    atomicSub(&desk_->working, 1u);
  }
}

/// By one thread. It tells the previous rank two things, where this one's dst is and that it has
/// begun the call, so that its stream has nothing to do with dst any more.
template <class Reducer>
__device__ __forceinline__ void PrimsSimple<Reducer>::makeOffer() {
  if (call_.straight.asksPrev == 0) return;
  device::storeRelaxed(reinterpret_cast<unsigned long long*>(in_.credit + kOfferWord),
                       packOffer(call_.straight.there, steps_->offers + 1));
}

/// Waits for the next rank's offer, once a call, every warp for itself; false if that was given up.
template <class Reducer>
__device__ __forceinline__ bool PrimsSimple<Reducer>::knowsWay() {
  if (!asks_) return true;
  const auto* const word = reinterpret_cast<const unsigned long long*>(out_.credit + kOfferWord);
  uint64_t offer = 0;
  const bool came = device::waitUntil(
      call_.args.fault,
      [&] {
        offer = __shfl_sync(~0u, device::loadRelaxed(word), 0);
        return ((offer ^ asked_) & kOfferNumbers) == 0;
      },
      [](bool mine) { return __any_sync(~0u, mine); });
  there_ = reinterpret_cast<unsigned char*>(offer >> 16);
  asks_ = false;
  return came;
}

/// What is to come has come in, if it is not known to be `there`, and there is a slot to send into,
/// if it needs one, as far as this warp knows. Counters may wrap: only differences are looked at.
/// What comes straight and is not passed on may be counted as received before it is.
template <class Reducer>
template <int bits>
__device__ __forceinline__ bool PrimsSimple<Reducer>::enough(bool there, bool needsSlot) const {
  return (!(bits & algo::kRecv) || there || static_cast<int32_t>(head_ - received_) > 0) &&
         (!(bits & algo::kSend) || !needsSlot || filled_ - credit_ < kFifoSlots);
}

/// Waits for it, every warp for itself. What a look finds mostly lasts for several slices.
template <class Reducer>
template <int bits>
__device__ __forceinline__ bool PrimsSimple<Reducer>::ready(bool there, bool needsSlot) {
  if (enough<bits>(there, needsSlot)) return true;
  const uint32_t thread = threadIdx.x % 32;
  const uint32_t* const counter = thread == 0 ? in_.head : out_.credit;
  const bool came = device::waitUntil(
      call_.args.fault,
      [&] {
        const uint32_t seen = thread < 2 ? device::loadAcquire(counter) : 0;
        head_ = __shfl_sync(~0u, seen, 0);
        credit_ = __shfl_sync(~0u, seen, 1);
        return enough<bits>(there, needsSlot);
      },
      [](bool mine) { return __any_sync(~0u, mine); });
  __syncwarp();  // what the first two threads acquired is there for all
  return came;
}

template <class Reducer>
template <int bits>
__device__ __forceinline__ void PrimsSimple<Reducer>::done(bool comes, bool goes, bool closes) {
  received_ += (bits & algo::kRecv) && (!comes || closes) ? 1 : 0;
  taken_ += (bits & algo::kRecv) && !comes ? 1 : 0;
  sent_ += (bits & algo::kSend) && (!goes || closes) ? 1 : 0;
  filled_ += (bits & algo::kSend) && !goes ? 1 : 0;
  __syncwarp();
  if (threadIdx.x % 32 != 0) return;
  __threadfence_block();
  const uint32_t warp = threadIdx.x / 32;
  if (bits & algo::kSend) atomicExch(&desk_->sent[warp], sent_ - firstSent_);
  if (bits & algo::kRecv) atomicExch(&desk_->taken[warp], taken_ - firstTaken_);
}

/// Tells the next rank which slices are there, and the previous one which of its slots are free
/// again: what every warp has done. One fence for both.
template <class Reducer>
__device__ __forceinline__ void PrimsSimple<Reducer>::serve() {
  const uint32_t thread = threadIdx.x % 32;
  const bool watches = thread < workers() / 32;
  uint32_t* const counter = thread == 0 ? out_.head : in_.credit;
  const uint32_t first = thread == 0 ? firstSent_ : firstTaken_;
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
    if (thread < 2 && now != told) device::storeRelease(counter, first + now);
    told = now;
    if (__all_sync(~0u, last)) return;
  }
}

template <class Reducer>
template <int bits>
__device__ __forceinline__ void PrimsSimple<Reducer>::move(algo::Block b, int, int) {
  if (b.count == 0 || gaveUp_) return;
  const CallArgs& args = call_.args;
  const uint64_t at = b.offset * args.elementBytes;
  const unsigned char* src = args.src + static_cast<uint64_t>(b.slot) * args.srcSlot + at;
  const uint64_t dstAt = static_cast<uint64_t>(b.slot) * args.dstSlot + at;
  unsigned char* dst = args.dst + dstAt;
  Reduction reduction = args.reduction;
  if (!(bits & algo::kFinal)) reduction.divisor = 0;
  if (algo::sendsKept(bits) && !knowsWay()) {
    gaveUp_ = true;
    return;
  }
  const bool comes = algo::takesKept(bits) && call_.straight.there != 0;
  const bool goes = algo::sendsKept(bits) && there_ != nullptr;
  const bool wide = ((bits & algo::kSrc) == 0 || device::aligned(src, 16)) &&
                    ((bits & algo::kDst) == 0 || device::aligned(dst, 16)) &&
                    (!goes || device::aligned(there_ + dstAt, 16));
  const uint32_t total = static_cast<uint32_t>(b.count) * args.elementBytes;
  const uint32_t slices = (total + kSlotBytes - 1) / kSlotBytes;  // of equal length
  const uint32_t slice = ((total + slices - 1) / slices + 15) / 16 * 16;
  const uint32_t group = kStraightSlices * slice;
  if (comes && !(bits & algo::kSend)) {  // finish() sees that it has come
    received_ += (total + group - 1) / group;
    return;
  }
  const bool slots = ((bits & algo::kRecv) && !comes) || ((bits & algo::kSend) && !goes);
  const uint32_t piece = slots || !goes ? slice : group;
  const bool ownHasIt = comes || ((bits & algo::kRecv) == 0 && src == dst);
#pragma unroll 1
  for (uint32_t from = 0; from < total; from += piece) {
    const uint32_t bytes = total - from < piece ? total - from : piece;
    const bool closes = from + bytes == total || (from + bytes) % group == 0;
    if (!ready<bits>(comes && from % group != 0, !goes)) {
      gaveUp_ = true;
      return;
    }
    const device::Operands o{
        comes ? dst + from : in_.slots + taken_ % kFifoSlots * kSlotBytes, src + from, dst + from,
        goes ? there_ + dstAt + from : out_.slots + filled_ % kFifoSlots * kSlotBytes};
    const uint32_t whole = wide ? bytes / 16 * 16 : 0;
    if (ownHasIt && (bits & algo::kSend)) {
      combineAll<(bits & ~algo::kDst)>(o, reduction, whole, bytes);
    } else {
      combineAll<bits>(o, reduction, whole, bytes);
    }
    if (bits & (algo::kRecv | algo::kSend)) done<bits>(comes, goes, closes);
  }
}

/// `whole` bytes by vectors, the rest up to `bytes` by elements.
template <class Reducer>
template <int bits>
__device__ __forceinline__ void PrimsSimple<Reducer>::combineAll(const device::Operands& o,
                                                                 const Reduction& reduction,
                                                                 uint32_t whole, uint32_t bytes) {
  device::combine<bits, Reducer, 8>(o, reduction, source_, device::WholeUnits{}, 0, whole,
                                    workers());
  device::combine<bits, Reducer, 1>(
      o, reduction, source_, device::Elements{call_.args.elementBytes}, whole, bytes, workers());
}

}  // namespace rondo
