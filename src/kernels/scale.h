#pragma once
// Multiplying a buffer by a scalar: what a premultiplied sum does to a rank's input before the sum.
// Needs no CUDA header.

#include <cstddef>
#include <cstdint>

#include "kernels/reduce_units.h"

struct CUmemPoolHandle_st;
struct CUstream_st;

namespace rondo {

/// dst[i] = src[i] * scalar, rounded to the type, for 0 <= i < count; dst may be src.
struct ScaleCall {
  const unsigned char* src;
  unsigned char* dst;
  uint64_t count;
  rondoDataType_t type;
  uint32_t elementBytes;
  const unsigned char*
      scalar;  ///< Memory that the device reads when it gets there; nullptr: value.
  Unit value;  ///< One element, at its beginning.
};

/// Loads the kernel into the current context, so that no launch has to. All return a cudaError_t.
int loadScale();
/// Allowed while `stream` captures.
int launchScale(const ScaleCall& call, CUstream_st* stream);

/// A pool of the current device's memory, in which no stream is made to wait for another.
int makePool(CUmemPoolHandle_st** pool);
void freePool(CUmemPoolHandle_st* pool);

/// Memory between two points of a stream; `pool` nullptr: the device's own.
int allocateOnStream(void** memory, size_t bytes, CUmemPoolHandle_st* pool, CUstream_st* stream);
int freeOnStream(void* memory, CUstream_st* stream);

}  // namespace rondo
