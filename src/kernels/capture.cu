// Branches of a graph that is being captured. CUDA 12.3 and later have edges of several kinds in
// these calls; those that lead out of a tip are of the first, until a programmatic launch follows.

#include <cuda.h>
#include <cuda_runtime.h>

#include "kernels/far.h"
#include "kernels/impl/drivers_own.h"
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

uint64_t captureId(CUstream_st* stream) {
  if (stream == nullptr) return 0;  // it cannot be captured
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
#if CUDART_VERSION >= 13000
  const cudaError_t error =
      cudaStreamGetCaptureInfo(stream, &status, &id, nullptr, nullptr, nullptr, nullptr);
#else
  const cudaError_t error =
      cudaStreamGetCaptureInfo_v2(stream, &status, &id, nullptr, nullptr, nullptr);
#endif
  return reported(error) == 0 && status == cudaStreamCaptureStatusActive ? id : 0;
}

// By the driver: the runtime knows no node that a handle was launched by.
int recall(const CaptureTip& tip, const void* call) {
  using Get = CUresult (*)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS*);
  using Set = CUresult (*)(CUgraphNode, const CUDA_KERNEL_NODE_PARAMS*);
  static const auto get = driversOwn<Get>("cuGraphKernelNodeGetParams", 12000);
  static const auto set = driversOwn<Set>("cuGraphKernelNodeSetParams", 12000);
  if (get == nullptr || set == nullptr) return cudaErrorNotSupported;
  auto* const node = static_cast<CUgraphNode>(const_cast<void*>(tip.node));
  CUDA_KERNEL_NODE_PARAMS params{};
  CUresult result = get(node, &params);
  if (result != CUDA_SUCCESS) return result;
  void* arguments[] = {const_cast<void*>(call)};
  params.kernelParams = arguments;
  params.extra = nullptr;
  return set(node, &params);
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
