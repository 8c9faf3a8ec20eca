#pragma once
// Branches of a graph that is being captured: work that is enqueued on one stream and does not wait
// for each other. Needs no CUDA header.

#include <vector>

struct CUgraphNode_st;
struct CUstream_st;

namespace rondo {

using CaptureTips = std::vector<CUgraphNode_st*>;

/// What the next work that `stream`, which captures, is given waits for. These return a
/// cudaError_t.
int captureTips(CUstream_st* stream, CaptureTips* tips);
/// Lets it wait for `tips` instead.
int setCaptureTips(CUstream_st* stream, const CaptureTips& tips);

}  // namespace rondo
