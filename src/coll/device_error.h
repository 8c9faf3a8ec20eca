#pragma once
// CUDA's errors as Rondo's.

#include <string>

#include "p2p/cuda_device.h"

namespace rondo {

/// Throws rondoUnhandledCudaError unless `error`, a cudaError_t, is 0: "WHAT on device 0: NAME
/// (text)".
void throwCuda(const CudaDevice& device, const std::string& what, int error);
/// The same: "NAME: WHAT on ...". Makes no sentence where there is nothing to say.
inline void throwCuda(const CudaDevice& device, const char* name, const char* what, int error) {
  if (error != 0) [[unlikely]]
    throwCuda(device, std::string(name) + ": " + what, error);
}

/// Before anything is enqueued: throws rondoInvalidArgument where `stream` is of another device or
/// context. A launch on one of another context of the device succeeds, and its kernel meets memory
/// that is not there.
void checkStream(const CudaDevice& device, const char* name, CUstream_st* stream);

}  // namespace rondo
