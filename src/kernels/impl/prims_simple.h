#pragma once
// PrimsSimple's bodies.

#include "kernels/impl/wait.h"
#include "kernels/prims.h"

namespace rondo {
namespace device {

/// What one move reads and writes; nullptr where it does not.
struct Operands {
  const float* recv;
  const float* src;
  float* dst;
  float* send;
};

__device__ __forceinline__ float4 loadOnce(const float4* p) { return __ldcg(p); }
__device__ __forceinline__ float loadOnce(const float* p) { return __ldcg(p); }

__device__ __forceinline__ float plus(float a, float b) { return a + b; }
__device__ __forceinline__ float4 plus(float4 a, float4 b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

/// `count` elements of type V from element `from`, kUnroll in flight a thread.
template <int bits, class V, int kUnroll>
__device__ __forceinline__ void combine(const Operands& o, uint32_t from, uint32_t count) {
  const V* recv = reinterpret_cast<const V*>(o.recv) + from;
  const V* src = reinterpret_cast<const V*>(o.src) + from;
  V* dst = reinterpret_cast<V*>(o.dst) + from;
  V* send = reinterpret_cast<V*>(o.send) + from;
  for (uint32_t base = threadIdx.x; base < count; base += kUnroll * blockDim.x) {
    V a[kUnroll], b[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const uint32_t i = base + u * blockDim.x;
      if ((bits & algo::kRecv) && i < count) a[u] = loadOnce(recv + i);
      if ((bits & algo::kSrc) && i < count) b[u] = loadOnce(src + i);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const uint32_t i = base + u * blockDim.x;
      if (i >= count) continue;
      constexpr bool both = (bits & algo::kRecv) && (bits & algo::kSrc);
      const V v = both ? plus(a[u], b[u]) : (bits & algo::kRecv) ? a[u] : b[u];
      if (bits & algo::kSend) send[i] = v;
      if (bits & algo::kDst) dst[i] = v;
    }
  }
}

}  // namespace device

__device__ __forceinline__ PrimsSimple::PrimsSimple(const RingCall& call, int lane)
    : call_(call),
      in_(call.ring.fromPrev),
      out_(call.ring.toNext),
      steps_(call.ring.steps + lane * kFlagWords) {
  const uint64_t slots = static_cast<uint64_t>(lane) * kFifoSlots * kSlotBytes;
  for (FifoView* fifo : {&in_, &out_}) {
    fifo->slots += slots;
    fifo->head += lane * kFlagWords;
    fifo->credit += lane * kFlagWords;
  }
  received_ = steps_[0];
  sent_ = steps_[1];
}

__device__ __forceinline__ void PrimsSimple::finish() {
  __syncthreads();  // every thread has read the old steps
  if (threadIdx.x == 0) {
    steps_[0] = received_;
    steps_[1] = sent_;
  }
}

/// Waits for the block that comes in and for a slot to send into, by one thread each. Counters may
/// wrap: only differences are looked at.
template <int bits>
__device__ __forceinline__ bool PrimsSimple::ready() {
  bool given = false;
  if ((bits & algo::kRecv) && threadIdx.x == 0) {
    given = !device::waitUntil(call_.fault,
                               [&] { return device::loadAcquire(in_.head) - received_ != 0; });
  }
  if ((bits & algo::kSend) && threadIdx.x == 32) {
    given = !device::waitUntil(
        call_.fault, [&] { return sent_ - device::loadAcquire(out_.credit) < kFifoSlots; });
  }
  return !__syncthreads_or(given);
}

/// Tells the next rank that a block is there, and the previous one that its slot is free again.
template <int bits>
__device__ __forceinline__ void PrimsSimple::announce() {
  __syncthreads();
  received_ += (bits & algo::kRecv) ? 1 : 0;
  sent_ += (bits & algo::kSend) ? 1 : 0;
  if ((bits & algo::kSend) && threadIdx.x == 0) device::storeRelease(out_.head, sent_);
  if ((bits & algo::kRecv) && threadIdx.x == 32) device::storeRelease(in_.credit, received_);
}

template <int bits>
__device__ __forceinline__ void PrimsSimple::move(algo::Block b, int, int) {
  if (b.count == 0 || gaveUp_) return;
  if (!ready<bits>()) {
    gaveUp_ = true;
    return;
  }
  const uint64_t recvSlot = static_cast<uint64_t>(received_ % kFifoSlots) * kSlotBytes;
  const uint64_t sendSlot = static_cast<uint64_t>(sent_ % kFifoSlots) * kSlotBytes;
  const device::Operands o{reinterpret_cast<const float*>(in_.slots + recvSlot),
                           call_.src + b.offset, call_.dst + b.offset,
                           reinterpret_cast<float*>(out_.slots + sendSlot)};
  const uint32_t count = static_cast<uint32_t>(b.count);
  const bool wide = ((bits & algo::kSrc) == 0 || device::aligned(o.src, 16)) &&
                    ((bits & algo::kDst) == 0 || device::aligned(o.dst, 16));
  const uint32_t vectors = wide ? count / 4 : 0;
  device::combine<bits, float4, 4>(o, 0, vectors);
  device::combine<bits, float, 4>(o, 4 * vectors, count - 4 * vectors);
  if (bits & (algo::kRecv | algo::kSend)) announce<bits>();
}

}  // namespace rondo
