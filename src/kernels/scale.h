#pragma once
// Multiplying a buffer by a scalar: what a premultiplied sum does to a rank's input before the sum.
// Needs no CUDA header.

#include <cstddef>
#include <cstdint>

#include "kernels/reduce_units.h"

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

/// Memory between two points of a stream.
int allocateOnStream(void** memory, size_t bytes, CUstream_st* stream);
int freeOnStream(void* memory, CUstream_st* stream);

}  // namespace rondo
