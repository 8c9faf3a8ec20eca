#include "kernels/far.h"

#include <cuda_runtime.h>

#include <algorithm>

#include "kernels/far_exchange_visit.h"
#include "kernels/far_hands.h"
#include "kernels/far_visit.h"
#include "kernels/impl/enqueue.h"
#include "kernels/impl/load.h"
#include "kernels/impl/wait.h"

namespace rondo {
namespace {

constexpr int kThreads = 512;

/// Page-locked memory is read past the caches: the host has written it since.
template <bool kFromHost, class Word>
__device__ __forceinline__ Word load(const Word* from) {
  if constexpr (kFromHost) return __ldcv(from);
  return *from;
}

template <bool kFromHost, class Word>
__device__ void copyWords(void* to, const void* from, uint64_t words, uint64_t first,
                          uint64_t stride) {
  auto* const dst = static_cast<Word*>(to);
  const auto* const src = static_cast<const Word*>(from);
  constexpr int kTogether = 4;  // loads of a thread under way
  uint64_t i = first;
  for (; i + (kTogether - 1) * stride < words; i += kTogether * stride) {
    Word word[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) word[k] = load<kFromHost>(src + i + k * stride);
#pragma unroll
    for (int k = 0; k < kTogether; ++k) dst[i + k * stride] = word[k];
  }
  for (; i < words; i += stride) dst[i] = load<kFromHost>(src + i);
}

/// Words of the longest kind at which both sides can be aligned, and what is left at both ends by
/// the byte.
template <bool kFromHost, class Word>
__device__ void copyAs(unsigned char* to, const unsigned char* from, uint64_t bytes, uint64_t first,
                       uint64_t stride) {
  const uint64_t off =
      (sizeof(Word) - reinterpret_cast<uintptr_t>(to) % sizeof(Word)) % sizeof(Word);
  const uint64_t head = farLeast(off, bytes);
  const uint64_t words = (bytes - head) / sizeof(Word);
  const uint64_t behind = head + words * sizeof(Word);
  copyWords<kFromHost, unsigned char>(to, from, head, first, stride);
  copyWords<kFromHost, Word>(to + head, from + head, words, first, stride);
  copyWords<kFromHost, unsigned char>(to + behind, from + behind, bytes - behind, first, stride);
}

template <bool kFromHost>
__device__ __noinline__ void copyPart(void* to, const void* from, uint64_t bytes, int part,
                                      int parts) {
  auto* const dst = static_cast<unsigned char*>(to);
  const auto* const src = static_cast<const unsigned char*>(from);
  const uint64_t first = static_cast<uint64_t>(part) * blockDim.x + threadIdx.x;
  const uint64_t stride = static_cast<uint64_t>(parts) * blockDim.x;
  const uintptr_t apart = reinterpret_cast<uintptr_t>(to) ^ reinterpret_cast<uintptr_t>(from);
  if (apart % 16 == 0) {
    copyAs<kFromHost, uint4>(dst, src, bytes, first, stride);
  } else if (apart % 8 == 0) {
    copyAs<kFromHost, uint2>(dst, src, bytes, first, stride);
  } else if (apart % 4 == 0) {
    copyAs<kFromHost, unsigned>(dst, src, bytes, first, stride);
  } else {
    copyAs<kFromHost, unsigned char>(dst, src, bytes, first, stride);
  }
}

/// A block of a kernel (far_hands.h).
struct DeviceThreads {
  static constexpr uint32_t kThreads = rondo::kThreads;
  __device__ uint32_t thread() const { return threadIdx.x; }
  __device__ uint32_t threads() const { return blockDim.x; }
  __device__ uint32_t block() const { return blockIdx.x; }
  __device__ uint32_t blocks() const { return gridDim.x; }
  __device__ void sync() const { __syncthreads(); }
  __device__ bool any(bool mine) const { return __syncthreads_or(mine) != 0; }
  __device__ bool all(bool mine) const { return __syncthreads_and(mine) != 0; }
  __device__ uint32_t leading(bool mine) const {
    uint32_t together = 0;
    if (threadIdx.x < 32) {
      together = static_cast<uint32_t>(__ffs(static_cast<int>(~__ballot_sync(~0u, mine)))) - 1;
    }
    return static_cast<uint32_t>(__syncthreads_count(threadIdx.x < together));
  }
  template <bool kFromHost>
  __device__ void copy(void* to, const void* from, uint64_t bytes, uint32_t part,
                       uint32_t parts) const {
    copyPart<kFromHost>(to, from, bytes, static_cast<int>(part), static_cast<int>(parts));
  }
  __device__ void fence() const { __threadfence_system(); }
  __device__ uint32_t acquire(const uint32_t* word) const { return device::loadAcquire(word); }
  __device__ void store(uint32_t* word, uint32_t value) const { device::storeRelaxed(word, value); }
  __device__ FarLine load(const FarLine* line) const {
    const auto pair = device::loadRelaxed(reinterpret_cast<const device::Pair64*>(line));
    return {{pair.a, pair.b}};
  }
  __device__ void store(FarLine* to, const FarLine& line) const {
    device::storeRelaxed(reinterpret_cast<device::Pair64*>(to), {line.half[0], line.half[1]});
  }
  template <class Ready>
  __device__ bool await(const FaultView& fault, const Ready& ready) const {
    return device::waitUntil(fault, ready);
  }
  __device__ bool mustGiveUp(const FaultView& fault, uint64_t* since) const {
    return device::mustGiveUp(fault, since);
  }
};

// Of kernels that wait, two blocks of whatever kind fit on a multiprocessor: one that needed a
// whole one would not get in where blocks of another communicator, each on one of its own, wait for
// it.
__global__ void __launch_bounds__(kThreads, 2) farCollective(const __grid_constant__ FarCall call) {
  using Hands = FarHands<DeviceThreads, true>;
  const DeviceThreads threads;
  Hands hands(threads, call.fault, nullptr);
  FarVisit<Hands>(hands, call).run();
}

__global__ void __launch_bounds__(kThreads, 2)
    farExchange(const __grid_constant__ FarExchangeCall call) {
  __shared__ FarHeld held[kMostFarHeld];
  using Hands = FarHands<DeviceThreads, false>;
  const DeviceThreads threads;
  Hands hands(threads, call.fault, held);
  FarExchangeVisit<Hands>(hands, call).run();
}

/// Errors are reported by their code, so they must not turn up at the caller's next check.
int reported(cudaError_t error) {
  if (error != cudaSuccess) cudaGetLastError();
  return error;
}

}  // namespace

int loadFar(int* blocksAtOnce, int* processors) {
  int least = 1 << 16;
  int device = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(processors, cudaDevAttrMultiProcessorCount, device);
  }
  for (const void* kernel : {reinterpret_cast<const void*>(&farCollective),
                             reinterpret_cast<const void*>(&farExchange)}) {
    int perProcessor = 0;
    if (error == cudaSuccess) error = loadKernel(kernel);
    if (error == cudaSuccess) {
      error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&perProcessor, kernel, kThreads, 0);
    }
    least = std::min(least, perProcessor);
  }
  *blocksAtOnce = least * *processors;
  return reported(error);
}

int launchFar(const FarCall& call, int blocks, CUstream_st* stream) {
  return enqueueKernel(reinterpret_cast<const void*>(&farCollective), &call, blocks, kThreads,
                       stream, {});
}

int launchFarExchange(const FarExchangeCall& call, int blocks, CUstream_st* stream) {
  return enqueueKernel(reinterpret_cast<const void*>(&farExchange), &call, blocks, kThreads, stream,
                       {});
}

}  // namespace rondo
