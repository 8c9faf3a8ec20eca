#pragma once
// The kernels of communicators that span hosts, as the host sees them. Needs no CUDA header.

#include <vector>

#include "kernels/far_call.h"

struct CUgraphNode_st;
struct CUstream_st;

namespace rondo {

/// Loads the kernels into the current context, so that no launch has to, and says how many blocks
/// of either its device holds at once, on how many multiprocessors. All return a cudaError_t.
int loadFar(int* blocksAtOnce, int* processors);
/// Allowed while `stream` captures. 1 to kFarBlocks blocks.
int launchFar(const FarCall& call, int blocks, CUstream_st* stream);
int launchFarExchange(const FarExchangeCall& call, int blocks, CUstream_st* stream);

/// What the next work that `stream`, which captures, is given waits for in the graph.
using CaptureTips = std::vector<CUgraphNode_st*>;
int captureTips(CUstream_st* stream, CaptureTips* tips);
/// Lets it wait for `tips` instead: so one stream captures branches.
int setCaptureTips(CUstream_st* stream, const CaptureTips& tips);

}  // namespace rondo
