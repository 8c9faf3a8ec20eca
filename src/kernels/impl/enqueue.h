#pragma once
// How kernels with one argument are launched.

#include <cuda.h>
#include <cuda_runtime.h>

#include "kernels/launching.h"

namespace rondo {

/// The driver's cuLaunchKernelEx; nullptr: it has none (launch.cu).
decltype(&::cuLaunchKernelEx) driversLaunch();

/// A kernel by its name.
inline int enqueueByRuntime(const void* function, void** arguments, int blocks, int threads,
                            CUstream_st* stream, bool close) {
  const dim3 grid(static_cast<unsigned>(blocks)), block(static_cast<unsigned>(threads));
  if (!close) return cudaLaunchKernel(function, grid, block, arguments, 0, stream);
  cudaLaunchAttribute closely{};
  closely.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  closely.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = stream;
  config.attrs = &closely;
  config.numAttrs = 1;
  return cudaLaunchKernelExC(&config, function, arguments);
}

/// By its handle. The driver's errors have the runtime's numbers.
inline int enqueueByDriver(CUfunction function, void** arguments, int blocks, int threads,
                           CUstream_st* stream, bool close) {
  CUlaunchAttribute closely{};
  closely.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  closely.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{};
  config.gridDimX = static_cast<unsigned>(blocks);
  config.blockDimX = static_cast<unsigned>(threads);
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  config.attrs = &closely;
  config.numAttrs = close ? 1 : 0;
  return driversLaunch()(&config, function, arguments, nullptr);
}

/// Enqueues a kernel with its one argument. Returns a cudaError_t, which does not turn up at the
/// caller's next check.
inline int enqueueKernel(const void* function, const void* call, int blocks, int threads,
                         CUstream_st* stream, const Launching& how) {
  void* arguments[] = {const_cast<void*>(call)};
  const CUfunction handle = how.handles != nullptr ? how.handles->of(function) : nullptr;
  if (handle != nullptr) {
    return enqueueByDriver(handle, arguments, blocks, threads, stream, how.close);
  }
  const int error = enqueueByRuntime(function, arguments, blocks, threads, stream, how.close);
  if (error != cudaSuccess) cudaGetLastError();
  return error;
}

}  // namespace rondo
