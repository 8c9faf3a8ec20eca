#pragma once
// CUDA's errors as Rondo's.

#include <string>

#include "p2p/cuda_device.h"

namespace rondo {

/// Throws unless `error`, a cudaError_t, is 0: "WHAT on device 0: NAME (text)". The Error is
/// rondoUnhandledCudaError, or rondoInvalidArgument where `stream`, on which the call was (nullptr:
/// not said), is of another device or context; then the sentence goes on with that.
void throwCuda(const CudaDevice& device, const std::string& what, int error,
               CUstream_st* stream = nullptr);

/// Throws rondoInvalidArgument where `stream` is of another device or context: a launch on one of
/// another context of the device succeeds, and its kernel meets memory that is not there.
void checkStream(const CudaDevice& device, const char* name, CUstream_st* stream);

}  // namespace rondo
