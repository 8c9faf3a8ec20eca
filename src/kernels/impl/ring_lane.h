#pragma once
// RingLane's bodies.

#include "kernels/impl/ring_way.h"
#include "kernels/impl/wait.h"
#include "kernels/prims.h"

namespace rondo {

static_assert(kFifoSlots > kBlockSlices * kSliceSlots && (kFifoSlots & (kFifoSlots - 1)) == 0,
              "see channel_view.h: ranks would wait for each other, and counters wrap");

#define RONDO_LANE                       \
  template <uint32_t kSlots, bool kAsks> \
  __device__ __forceinline__

RONDO_LANE RingLane<kSlots, kAsks>::RingLane(const RingCall& call, int lane, RingDesk* desk)
    : fault_(call.args.fault),
      desk_(desk),
      in_(call.ring.fromPrev),
      out_(call.ring.toNext),
      steps_(call.ring.steps + lane * kFlagWords),
      ahead_(call.ahead) {
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
  if (threadIdx.x == 0) {
    desk->announced = 0;
    desk->working = workers() / 32;
  }
  if constexpr (!kAsks) {
    __syncthreads();  // every thread has read the old steps
  } else if (call.straight.periods != 0) {
    if (lane == 0 && threadIdx.x < 32) device::decideWay(call, steps_ + 2);
    if (threadIdx.x == 0) desk->next = device::hearWay(call, lane);
    __syncthreads();
    gaveUp_ = desk->next == device::kGivenUp;
    if (!gaveUp_) next_ = reinterpret_cast<unsigned char*>(desk->next - 1);
  } else {
    __syncthreads();
  }
}

RONDO_LANE void RingLane<kSlots, kAsks>::finish() {
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
template <uint32_t kSlots, bool kAsks>
template <int bits>
__device__ __forceinline__ bool RingLane<kSlots, kAsks>::enough() const {
  return (!(bits & algo::kRecv) || static_cast<int32_t>(head_ - received_) > 0) &&
         (!(bits & algo::kSend) || sent_ - credit_ <= kFifoSlots - kSlots);
}

/// Waits until what this warp has sent is announced but for what may be on its way; false if the
/// wait was given up. By a vote, as not all threads of a warp need to read the same at a time.
RONDO_LANE bool RingLane<kSlots, kAsks>::waitUntilNear() {
  const volatile uint32_t* const announced = &desk_->announced;
  const bool near = device::waitUntil(
      fault_, [&] { return __all_sync(~0u, sent_ - firstSent_ - *announced < ahead_) != 0; },
      [](bool mine) { return __any_sync(~0u, mine); });
  __syncwarp();
  gaveUp_ = !near;
  return near;
}

/// Waits for it, every warp for itself. What a look finds mostly lasts for several slices.
template <uint32_t kSlots, bool kAsks>
template <int bits>
__device__ __forceinline__ bool RingLane<kSlots, kAsks>::ready() {
  if (gaveUp_) return false;
  if ((bits & algo::kSend) != 0 && !waitUntilNear()) return false;
  if (enough<bits>()) return true;
  const uint32_t thread = threadIdx.x % 32;
  const uint32_t* const counter = thread == 0 ? in_.head : out_.credit;
  const bool came = device::waitUntil(
      fault_,
      [&] {
        const uint32_t seen = thread < 2 ? device::loadAcquire(counter) : 0;
        head_ = __shfl_sync(~0u, seen, 0);
        credit_ = __shfl_sync(~0u, seen, 1);
        return enough<bits>();
      },
      [](bool mine) { return __any_sync(~0u, mine); });
  __syncwarp();  // what the first two threads acquired is there for all
  gaveUp_ = !came;
  return came;
}

template <uint32_t kSlots, bool kAsks>
template <int bits>
__device__ __forceinline__ void RingLane<kSlots, kAsks>::done() {
  received_ += (bits & algo::kRecv) ? kSlots : 0;
  sent_ += (bits & algo::kSend) ? kSlots : 0;
  __syncwarp();
  tellDesk<bits>();
}

template <uint32_t kSlots, bool kAsks>
template <int bits>
__device__ __forceinline__ void RingLane<kSlots, kAsks>::tellDesk() {
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
RONDO_LANE void RingLane<kSlots, kAsks>::serve() {
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
    if (thread == 0 && now != told) {
      device::storeRelease(counter, first + now);
      atomicExch(&desk_->announced, now);
    }
    told = now;
    if (__all_sync(~0u, last)) return;
  }
}

RONDO_LANE const unsigned char* RingLane<kSlots, kAsks>::slotIn() const {
  return in_.slots + received_ % kFifoSlots * kSlotBytes;
}
RONDO_LANE unsigned char* RingLane<kSlots, kAsks>::slotOut() const {
  return out_.slots + sent_ % kFifoSlots * kSlotBytes;
}

#undef RONDO_LANE

}  // namespace rondo
