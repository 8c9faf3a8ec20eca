#include <cuda_runtime.h>

#include "kernels/impl/load.h"
#include "kernels/scale.h"
#include "kernels/unaligned.h"

namespace rondo {
namespace {

constexpr unsigned kThreads = 256;
constexpr uint64_t kMostBlocks = 1024;

/// One copy, whatever calls it: there are a hundred cases in it.
__device__ __noinline__ Unit product(rondoDataType_t type, const Unit* factors) {
  return foldAny(Reduction{type, rondoProd, 0}, factors, 2);
}

__device__ void copyBytes(unsigned char* to, const unsigned char* from, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) to[i] = from[i];
}

/// 16 bytes from any address, by all of two vectors where one does not hold them.
__device__ Unit load(const unsigned char* from, uint32_t shift) {
  const auto* vectors = reinterpret_cast<const Unit*>(from - shift);
  return shift == 0 ? vectors[0] : unitWithin(vectors[0], vectors[1], shift);
}

/// A thread takes 16 bytes of elements at a time, and byte by byte what is left at the end.
__global__ void scale(ScaleCall call) {
  const unsigned perUnit = 16 / call.elementBytes;
  Unit factors[2] = {{0, 0}, {0, 0}};
  auto* scalars = reinterpret_cast<unsigned char*>(&factors[1]);
  const unsigned char* from =
      call.scalar != nullptr ? call.scalar : reinterpret_cast<const unsigned char*>(&call.value);
  for (unsigned e = 0; e < perUnit; ++e) {
    copyBytes(scalars + e * call.elementBytes, from, call.elementBytes);
  }
  const auto shift = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(call.src) % 16);
  const uint64_t bytes = call.count * call.elementBytes;
  const uint64_t inner = unitsWithin(bytes, shift);
  const uint64_t stride = 16 * uint64_t{gridDim.x} * blockDim.x;
  for (uint64_t at = 16 * (uint64_t{blockIdx.x} * blockDim.x + threadIdx.x); at < bytes;
       at += stride) {
    if (at < inner) {
      factors[0] = load(call.src + at, shift);
      storeParts(call.dst + at, product(call.type, factors), 16);
      continue;
    }
    const auto left = static_cast<unsigned>(bytes - at < 16 ? bytes - at : 16);
    copyBytes(reinterpret_cast<unsigned char*>(&factors[0]), call.src + at, left);
    const Unit out = product(call.type, factors);
    copyBytes(call.dst + at, reinterpret_cast<const unsigned char*>(&out), left);
  }
}

/// Errors are reported by their code, so they must not turn up at the caller's next check.
int reported(cudaError_t error) {
  if (error != cudaSuccess) cudaGetLastError();
  return error;
}

}  // namespace

int loadScale() { return reported(loadKernel(reinterpret_cast<const void*>(&scale))); }

int launchScale(const ScaleCall& call, CUstream_st* stream) {
  const uint64_t units = (call.count * call.elementBytes + 15) / 16;
  const uint64_t blocks = (units + kThreads - 1) / kThreads;
  void* arguments[] = {const_cast<ScaleCall*>(&call)};
  return reported(
      cudaLaunchKernel(reinterpret_cast<const void*>(&scale),
                       dim3(static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks)),
                       dim3(kThreads), arguments, 0, stream));
}

int makePool(CUmemPoolHandle_st** pool) {
  cudaMemPoolProps wanted{};
  wanted.allocType = cudaMemAllocationTypePinned;
  wanted.location.type = cudaMemLocationTypeDevice;
  cudaError_t error = cudaGetDevice(&wanted.location.id);
  if (error == cudaSuccess) error = cudaMemPoolCreate(pool, &wanted);
  if (error != cudaSuccess) return reported(error);
  int wait = 0;
  return reported(cudaMemPoolSetAttribute(*pool, cudaMemPoolReuseAllowInternalDependencies, &wait));
}

void freePool(CUmemPoolHandle_st* pool) {
  if (pool != nullptr) reported(cudaMemPoolDestroy(pool));
}

int allocateOnStream(void** memory, size_t bytes, CUmemPoolHandle_st* pool, CUstream_st* stream) {
  return reported(pool == nullptr ? cudaMallocAsync(memory, bytes, stream)
                                  : cudaMallocFromPoolAsync(memory, bytes, pool, stream));
}

int freeOnStream(void* memory, CUstream_st* stream) {
  return reported(cudaFreeAsync(memory, stream));
}

}  // namespace rondo
