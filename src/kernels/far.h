#pragma once
// The kernels of communicators that span hosts, as the host sees them. Needs no CUDA header.

#include "kernels/far_call.h"

struct CUstream_st;

namespace rondo {

/// Loads the kernels into the current context, so that no launch has to, and says how many
/// multiprocessors its device has. All return a cudaError_t.
int loadFar(int* processors);
/// Allowed while `stream` captures. 1 to kFarBlocks blocks.
int launchFar(const FarCall& call, int blocks, CUstream_st* stream);
int launchFarExchange(const FarExchangeCall& call, int blocks, CUstream_st* stream);

}  // namespace rondo
