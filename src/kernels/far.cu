#include "kernels/far.h"

#include <cuda_runtime.h>

#include "kernels/far_exchange_visit.h"
#include "kernels/far_visit.h"
#include "kernels/impl/wait.h"

namespace rondo {
namespace {

constexpr unsigned kThreads = 512;

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

/// A block's hands. `kTogether`: all blocks copy together; else each for itself.
template <bool kTogether>
class DeviceHands {
 public:
  __device__ DeviceHands(const FaultView& fault, FarHeld* held) : fault_(fault), held_(held) {}

  __device__ int block() const { return static_cast<int>(blockIdx.x); }
  __device__ int blocks() const { return static_cast<int>(gridDim.x); }
  __device__ uint32_t count(const uint32_t* counts) const { return counts[blockIdx.x]; }

  __device__ void toHost(void* host, const void* device, uint64_t bytes) const {
    copyPart<false>(host, device, bytes, kTogether ? block() : 0, kTogether ? blocks() : 1);
  }
  __device__ void fromHost(void* device, const void* host, uint64_t bytes) const {
    copyPart<true>(device, host, bytes, kTogether ? block() : 0, kTogether ? blocks() : 1);
  }
  __device__ void within(void* to, const void* from, uint64_t bytes) const {
    copyPart<false>(to, from, bytes, block(), blocks());
  }
  template <class T>
  __device__ void write(T* host, const T& value) const {
    if (threadIdx.x == 0) *host = value;
  }
  __device__ void ring(uint32_t* word, uint32_t number) const {
    __syncthreads();
    if (threadIdx.x != 0) return;
    __threadfence_system();
    device::storeRelaxed(word, number);  // a release would be another fence
  }
  __device__ bool await(const uint32_t* word, uint32_t number) const {
    bool gaveUp = false;
    if (threadIdx.x == 0) {
      gaveUp = !device::waitUntil(fault_, [&] { return device::loadAcquire(word) == number; });
    }
    return __syncthreads_or(gaveUp) == 0;
  }
  /// A thread looks at one each, so that all looks take one way across PCIe.
  __device__ uint32_t answers(const FarWord* answered, uint32_t from, uint32_t to) const {
    static_assert(kFarSlots <= 32);
    const uint32_t number = from + 1 + threadIdx.x;
    uint32_t together = 0;
    if (threadIdx.x < 32) {
      const bool yes = threadIdx.x < to - from &&
                       device::loadAcquire(&answered[(number - 1) % kFarSlots].value) == number;
      together = static_cast<uint32_t>(__ffs(static_cast<int>(~__ballot_sync(~0u, yes)))) - 1;
    }
    return static_cast<uint32_t>(__syncthreads_count(threadIdx.x < together));
  }
  __device__ void toLines(FarLine* lines, const FarLined& what, uint32_t tag,
                          const void* from) const {
    const auto* const src = static_cast<const unsigned char*>(from);
    const auto count = static_cast<uint32_t>(what.lines());
    for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
      const FarLined::Place place = what.place(i);
      const FarLine line = farLine(src + place.offset, place.bytes, tag);
      device::storeRelaxed(reinterpret_cast<device::Pair64*>(lines + i),
                           {line.half[0], line.half[1]});
    }
  }
  __device__ bool fromLines(const FarLine* lines, const FarLined& what, uint32_t tag,
                            void* into) const {
    auto* const to = static_cast<unsigned char*>(into);
    bool gaveUp = false;
    const auto count = static_cast<uint32_t>(what.lines());
    for (uint32_t i = threadIdx.x; i < count && !gaveUp; i += blockDim.x) {
      device::Pair64 line{};
      gaveUp = !device::waitUntil(fault_, [&] {
        line = device::loadRelaxed(reinterpret_cast<const device::Pair64*>(lines + i));
        return line.a >> 32 == tag && line.b >> 32 == tag;
      });
      if (gaveUp) break;
      const FarLined::Place place = what.place(i);
      farUnline(to + place.offset, line.a, line.b, place.bytes);
    }
    return __syncthreads_or(gaveUp) == 0;
  }
  /// A kernel of fewer blocks counts for those that it does without.
  __device__ void setCount(uint32_t* counts, uint32_t number) const {
    __syncthreads();  // all have read what it was
    if (threadIdx.x != 0) return;
    counts[blockIdx.x] = number;
    if (blockIdx.x != 0) return;
    for (unsigned b = gridDim.x; b < kFarBlocks; ++b) counts[b] = number;
  }

  __device__ FarHeld held(int i) const { return held_[i]; }
  __device__ void keep(int i, const FarHeld& held, bool changed) const {
    if (!changed) return;
    __syncthreads();  // all have read what it was
    if (threadIdx.x == 0) held_[i] = held;
    __syncthreads();
  }
  __device__ bool rang(const uint32_t* word, uint32_t number) const {
    const bool yes = threadIdx.x == 0 && device::loadAcquire(word) == number;
    return __syncthreads_or(yes) != 0;
  }
  __device__ bool idle(bool moved) {
    since_ = moved ? 0 : since_;
    looks_ = moved ? 0 : looks_ + 1;
    constexpr uint32_t kLooks = 256;  // at all queues, a microsecond each
    if (looks_ % kLooks != kLooks - 1) return true;
    const bool gaveUp = threadIdx.x == 0 && device::mustGiveUp(fault_, &since_);
    if (gaveUp) device::storeRelaxed(&fault_.words->error, 1u);
    return __syncthreads_or(gaveUp) == 0;
  }
  /// Each thread looks at its own, all at once.
  __device__ bool gotLines(const FarLine* lines, const FarLined& what, uint32_t tag,
                           void* into) const {
    static_assert(kMostFarPairLines <= kThreads);
    const uint32_t i = threadIdx.x;
    const bool mine = i < what.lines();
    device::Pair64 line{};
    if (mine) line = device::loadRelaxed(reinterpret_cast<const device::Pair64*>(lines + i));
    const bool came = line.a >> 32 == tag && line.b >> 32 == tag;
    if (__syncthreads_and(came || !mine) == 0) return false;
    if (mine) {
      const FarLined::Place place = what.place(i);
      farUnline(static_cast<unsigned char*>(into) + place.offset, line.a, line.b, place.bytes);
    }
    return true;
  }
  __device__ void endStrand(uint32_t* count, uint32_t number) const {
    if (threadIdx.x == 0) *count = number;
  }

 private:
  const FaultView& fault_;
  FarHeld* const held_;
  uint64_t since_ = 0;
  uint32_t looks_ = 0;
};

__global__ void __launch_bounds__(kThreads, 2) farCollective(const __grid_constant__ FarCall call) {
  DeviceHands<true> hands(call.fault, nullptr);
  FarVisit<DeviceHands<true>>(hands, call).run();
}

__global__ void __launch_bounds__(kThreads, 2)
    farExchange(const __grid_constant__ FarExchangeCall call) {
  __shared__ FarHeld held[kMostFarHeld];
  DeviceHands<false> hands(call.fault, held);
  FarExchangeVisit<DeviceHands<false>>(hands, call).run();
}

/// Errors are reported by their code, so they must not turn up at the caller's next check.
int reported(cudaError_t error) {
  if (error != cudaSuccess) cudaGetLastError();
  return error;
}

int launch(const void* kernel, const void* call, int blocks, CUstream_st* stream) {
  void* arguments[] = {const_cast<void*>(call)};
  return reported(cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(blocks)), dim3(kThreads),
                                   arguments, 0, stream));
}

}  // namespace

int loadFar(int* processors) {
  int device = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(processors, cudaDevAttrMultiProcessorCount, device);
  }
  for (const void* kernel : {reinterpret_cast<const void*>(&farCollective),
                             reinterpret_cast<const void*>(&farExchange)}) {
    cudaFuncAttributes attributes;
    if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, kernel);
  }
  return reported(error);
}

int launchFar(const FarCall& call, int blocks, CUstream_st* stream) {
  return launch(reinterpret_cast<const void*>(&farCollective), &call, blocks, stream);
}

int launchFarExchange(const FarExchangeCall& call, int blocks, CUstream_st* stream) {
  return launch(reinterpret_cast<const void*>(&farExchange), &call, blocks, stream);
}

}  // namespace rondo
