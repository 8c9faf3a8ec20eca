#pragma once
// How kernels are made ready before any rank launches.

#include <cuda_runtime.h>

namespace rondo {

/// Loads a kernel into the current context, by asking for its attributes, and sees that the context
/// has the stack that it needs: 1 KiB a thread, if the program has not asked for less. The launch
/// of a kernel that needs more would make room for it, and wait for all that runs on the device.
inline cudaError_t loadKernel(const void* function) {
  cudaFuncAttributes attributes{};
  size_t stack = 0;
  cudaError_t error = cudaFuncGetAttributes(&attributes, function);
  if (error == cudaSuccess) error = cudaDeviceGetLimit(&stack, cudaLimitStackSize);
  if (error != cudaSuccess || stack >= attributes.localSizeBytes) return error;
  return cudaDeviceSetLimit(cudaLimitStackSize, attributes.localSizeBytes);
}

}  // namespace rondo
