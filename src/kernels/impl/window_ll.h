#pragma once
// WindowLL's bodies.

#include "kernels/impl/wait.h"
#include "kernels/prims.h"

namespace rondo {
namespace device {

/// Elements 2i and 2i + 1 of `count`; a missing one reads as 0.
__device__ __forceinline__ float2 loadTwo(const float* p, uint32_t i, uint32_t count) {
  if (2 * i + 1 < count && aligned(p, 8)) return reinterpret_cast<const float2*>(p)[i];
  return make_float2(p[2 * i], 2 * i + 1 < count ? p[2 * i + 1] : 0.0f);
}

__device__ __forceinline__ void storeTwo(float* p, uint32_t i, uint32_t count, float2 v) {
  if (2 * i + 1 < count && aligned(p, 8)) {
    reinterpret_cast<float2*>(p)[i] = v;
    return;
  }
  p[2 * i] = v.x;
  if (2 * i + 1 < count) p[2 * i + 1] = v.y;
}

__device__ __forceinline__ Pair64 pack(float2 v, uint32_t flag) {
  const unsigned long long high = static_cast<unsigned long long>(flag) << 32;
  return Pair64{high | __float_as_uint(v.x), high | __float_as_uint(v.y)};
}

__device__ __forceinline__ float2 unpack(Pair64 p) {
  return make_float2(__uint_as_float(static_cast<uint32_t>(p.a)),
                     __uint_as_float(static_cast<uint32_t>(p.b)));
}

__device__ __forceinline__ bool carries(Pair64 p, uint32_t flag) {
  return static_cast<uint32_t>(p.a >> 32) == flag && static_cast<uint32_t>(p.b >> 32) == flag;
}

/// Flags never take the value 0, which fresh memory has, and odd and even keep alternating.
__device__ __forceinline__ uint32_t nextEpoch(uint32_t e) { return e == ~0u ? 2u : e + 1; }

/// In the last two epochs before the wrap: empties a lane's places of one parity, so that no flag
/// of long ago looks new. Nobody writes there before this rank's next exchange has begun.
__device__ __noinline__ void scrub(unsigned char* places, uint32_t packets) {
  for (uint32_t i = threadIdx.x; i < packets; i += blockDim.x) {
    storeRelaxed(reinterpret_cast<Pair64*>(places) + i, Pair64{0, 0});
  }
  __threadfence_system();
  __syncthreads();
}

}  // namespace device

template <int kRanks>
__device__ __forceinline__ WindowLL<kRanks>::WindowLL(const WindowCall& call, int lane)
    : call_(call), lane_(lane), epoch_(call.window.epochs[lane]) {}

template <int kRanks>
__device__ __forceinline__ void WindowLL<kRanks>::begin() {
  epoch_ = device::nextEpoch(epoch_);
}

template <int kRanks>
__device__ __forceinline__ void WindowLL<kRanks>::end() {
  __syncthreads();
  if (epoch_ >= ~1u) device::scrub(place(call_.rank, 0), kRanks * kWindowPackets);
}

template <int kRanks>
__device__ __forceinline__ void WindowLL<kRanks>::finish() {
  if (threadIdx.x == 0) call_.window.epochs[lane_] = epoch_;
}

template <int kRanks>
__device__ __forceinline__ unsigned char* WindowLL<kRanks>::place(int owner, int source) const {
  const uint32_t index = ((epoch_ & 1) * kWindowLanes + lane_) * kRanks + source;
  return call_.window.base[owner] + index * static_cast<uint32_t>(kPlaceBytes);
}

template <int kRanks>
__device__ __forceinline__ void WindowLL<kRanks>::copy(algo::Block b) {
  for (algo::Count i = threadIdx.x; i < b.count; i += blockDim.x) {
    call_.dst[b.offset + i] = call_.src[b.offset + i];
  }
}

template <int kRanks>
__device__ __forceinline__ void WindowLL<kRanks>::put(algo::Block b, int) {
  if (gaveUp_) return;
  const float* src = call_.src + b.offset;
  const uint32_t count = static_cast<uint32_t>(b.count);
  for (uint32_t i = threadIdx.x; 2 * i < count; i += blockDim.x) {
    const device::Pair64 packet = device::pack(device::loadTwo(src, i, count), epoch_);
#pragma unroll
    for (int k = 1; k < kRanks; ++k) {
      const int peer = call_.rank + k < kRanks ? call_.rank + k : call_.rank + k - kRanks;
      device::storeRelaxed(reinterpret_cast<device::Pair64*>(place(peer, call_.rank)) + i, packet);
    }
  }
}

template <int kRanks>
__device__ __forceinline__ void WindowLL<kRanks>::reduce(algo::Block b, algo::Room) {
  const float* src = call_.src + b.offset;
  float* dst = call_.dst + b.offset;
  const uint32_t count = static_cast<uint32_t>(b.count);
  const auto* packets = reinterpret_cast<const device::Pair64*>(place(call_.rank, 0));
  for (uint32_t i = threadIdx.x; 2 * i < count && !gaveUp_; i += blockDim.x) {
    const float2 mine = device::loadTwo(src, i, count);
    device::Pair64 in[kRanks];
    gaveUp_ = !device::waitUntil(call_.fault, [&] {
      bool all = true;
#pragma unroll
      for (int r = 0; r < kRanks; ++r) {
        if (r != call_.rank) in[r] = device::loadRelaxed(packets + r * kWindowPackets + i);
      }
#pragma unroll
      for (int r = 0; r < kRanks; ++r) {
        all = all && (r == call_.rank || device::carries(in[r], epoch_));
      }
      return all;
    });
    if (gaveUp_) return;
    float2 sum = call_.rank == 0 ? mine : device::unpack(in[0]);
#pragma unroll
    for (int r = 1; r < kRanks; ++r) {
      const float2 v = call_.rank == r ? mine : device::unpack(in[r]);
      sum.x += v.x;
      sum.y += v.y;
    }
    device::storeTwo(dst, i, count, sum);
  }
}

}  // namespace rondo
