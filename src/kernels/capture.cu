// Branches of a graph that is being captured. CUDA 12.3 and later have edges of several kinds in
// these calls; those that lead out of a tip are of the first, until a programmatic launch follows.

#include <cuda_runtime.h>

#include "kernels/far.h"
#include "kernels/launch.h"

namespace rondo {
namespace {

int reported(cudaError_t error) {
  if (error != cudaSuccess) cudaGetLastError();
  return error;
}

}  // namespace

int captureTips(CUstream_st* stream, CaptureTips* tips) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaGraphNode_t* nodes = nullptr;
  size_t count = 0;
#if CUDART_VERSION >= 13000
  const cudaError_t error =
      cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &nodes, nullptr, &count);
#else
  const cudaError_t error =
      cudaStreamGetCaptureInfo_v2(stream, &status, nullptr, nullptr, &nodes, &count);
#endif
  if (error != cudaSuccess) return reported(error);
  if (status != cudaStreamCaptureStatusActive) return cudaErrorStreamCaptureInvalidated;
  tips->assign(nodes, nodes + count);
  return cudaSuccess;
}

CaptureTip captureTip(CUstream_st* stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  const cudaGraphNode_t* nodes = nullptr;
  size_t count = 0;
#if CUDART_VERSION >= 12030
  const cudaGraphEdgeData* edges = nullptr;
#endif
#if CUDART_VERSION >= 13000
  const cudaError_t error =
      cudaStreamGetCaptureInfo(stream, &status, &id, nullptr, &nodes, &edges, &count);
#elif CUDART_VERSION >= 12030
  const cudaError_t error =
      cudaStreamGetCaptureInfo_v3(stream, &status, &id, nullptr, &nodes, &edges, &count);
#else
  const cudaError_t error =
      cudaStreamGetCaptureInfo_v2(stream, &status, &id, nullptr, &nodes, &count);
#endif
  if (reported(error) != 0 || status != cudaStreamCaptureStatusActive || count != 1) return {};
  return {id, nodes[0]};
}

int setCaptureTips(CUstream_st* stream, const CaptureTips& tips) {
  auto* const nodes = const_cast<cudaGraphNode_t*>(tips.data());
#if CUDART_VERSION >= 13000
  return reported(cudaStreamUpdateCaptureDependencies(stream, nodes, nullptr, tips.size(),
                                                      cudaStreamSetCaptureDependencies));
#else
  return reported(cudaStreamUpdateCaptureDependencies(stream, nodes, tips.size(),
                                                      cudaStreamSetCaptureDependencies));
#endif
}

}  // namespace rondo
