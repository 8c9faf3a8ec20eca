#pragma once
// Reducing buffers of one device, in their order, into one: what is left to kernels where copy
// engines move the data. Needs no CUDA header.

#include <cstdint>

#include "kernels/launch.h"

namespace rondo {

/// to = from[0] op from[1] op ... op from[n - 1], element by element, from left to right; `to` may
/// be one of them.
struct FoldCall {
  const unsigned char* from[kMaxWindowRanks];
  unsigned char* to;
  uint64_t bytes;
  int32_t n;  ///< 2 to kMaxWindowRanks
  uint32_t elementBytes;
  Reduction reduction;
};

/// Loads the kernels into the current context, so that no launch has to. All return a cudaError_t.
int loadFold();
/// By few blocks. Allowed while `stream` captures.
int launchFold(const FoldCall& call, CUstream_st* stream);

}  // namespace rondo
