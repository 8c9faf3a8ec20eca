#pragma once
// How kernels with one argument are launched.

#include <cuda_runtime.h>

struct CUstream_st;

namespace rondo {

/// Enqueues a kernel with its one argument; `close` as launchKernel() has it. Returns a
/// cudaError_t, which does not turn up at the caller's next check.
inline int enqueueKernel(const void* function, const void* call, int blocks, int threads,
                         CUstream_st* stream, bool close) {
  void* arguments[] = {const_cast<void*>(call)};
  const dim3 grid(static_cast<unsigned>(blocks)), block(static_cast<unsigned>(threads));
  cudaError_t error = cudaSuccess;
  if (close) {
    cudaLaunchAttribute closely{};
    closely.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    closely.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.stream = stream;
    config.attrs = &closely;
    config.numAttrs = 1;
    error = cudaLaunchKernelExC(&config, function, arguments);
  } else {
    error = cudaLaunchKernel(function, grid, block, arguments, 0, stream);
  }
  if (error != cudaSuccess) cudaGetLastError();
  return error;
}

}  // namespace rondo
