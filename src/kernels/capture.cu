// Branches of a graph that is being captured. CUDA 13 has edges of several kinds in these calls;
// those of a stream that no programmatic launch was captured on are all of the first.

#include <cuda_runtime.h>

#include "kernels/far.h"

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
