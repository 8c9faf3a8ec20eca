#include "gpu/beside.h"

namespace rondo::test {
namespace {

constexpr unsigned long long kBoundNs = 3'000'000'000;

__device__ unsigned long long now() {
  unsigned long long ns = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

template <int kKind>
__global__ void __launch_bounds__(512, 2)
    meeting(unsigned* word, unsigned arrivals, unsigned* late) {
  // Without this, the compiler makes one kernel of all kinds.
  __shared__ int own[kKind + 1];
  if (threadIdx.x <= kKind) own[threadIdx.x] = kKind;
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(word, 1);
    const unsigned long long begin = now();
    while (*static_cast<volatile unsigned*>(word) < arrivals) {
      if (now() - begin < kBoundNs) continue;
      atomicAdd(late, 1);
      break;
    }
  }
  __syncthreads();
  if (own[kKind] != kKind) *late = ~0U;
}

}  // namespace

cudaError_t launchMeeting(int kind, unsigned blocks, unsigned threads, cudaStream_t stream,
                          unsigned* word, unsigned arrivals, unsigned* late) {
  static_assert(kMeetingKinds == 2);
  if (kind == 0) {
    meeting<0><<<blocks, threads, 0, stream>>>(word, arrivals, late);
  } else {
    meeting<1><<<blocks, threads, 0, stream>>>(word, arrivals, late);
  }
  return cudaGetLastError();
}

int meetingsOnMultiprocessor(int threads) {
  int blocks = 0;
  const cudaError_t error =
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, meeting<0>, threads, 0);
  return error == cudaSuccess ? blocks : 0;
}

}  // namespace rondo::test
