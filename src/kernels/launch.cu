#include <cuda_runtime.h>

#include <cstring>

#include "kernels/impl/drivers_own.h"
#include "kernels/impl/enqueue.h"
#include "kernels/impl/load.h"
#include "kernels/launch.h"
#include "kernels/standing_call.h"

namespace rondo {

decltype(&::cuLaunchKernelEx) driversLaunch() {
  static const auto launch = driversOwn<decltype(&::cuLaunchKernelEx)>("cuLaunchKernelEx", 11080);
  return launch;
}

CUfunc_st* KernelHandles::ask(const void* function) {
  cudaFunction_t handle = nullptr;
  if (driversLaunch() == nullptr) return nullptr;
  if (cudaGetFuncBySymbol(&handle, function) == cudaSuccess) return handle;
  cudaGetLastError();
  return nullptr;
}

const Kernel* findKernel(const char* collective, const char* algorithm, Protocol protocol,
                         Reduces reduces, int ranks) {
  const Kernel* any = nullptr;
  for (const Kernel& row : kernels()) {
    if (row.protocol != protocol || row.reduces != reduces) continue;
    if ((row.ranks != 0 && row.ranks != ranks) || std::strcmp(row.algorithm, algorithm) != 0 ||
        std::strcmp(row.collective, collective) != 0) {
      continue;
    }
    if (row.ranks != 0) return &row;
    any = &row;
  }
  return any;
}

int loadKernels(int* blocksAtOnce, int* processors) {
  int device = 0;
  int least = 1 << 30;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(processors, cudaDevAttrMultiProcessorCount, device);
  }
  const auto load = [&](const void* function, int threads) {
    int perProcessor = 0;
    if (error == cudaSuccess) error = loadKernel(function);
    if (error == cudaSuccess) {
      error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&perProcessor, function, threads, 0);
    }
    if (perProcessor < least) least = perProcessor;
  };
  for (const Kernel& row : kernels()) {
    load(row.function, row.threads);
    if (row.standing != nullptr) load(row.standing, row.threads);
    if (row.anywhere != nullptr) load(row.anywhere, row.threads);
  }
  for (const void* function : exchangeKernels().function) load(function, kExchangeThreads);
  if (error != cudaSuccess) {
    cudaGetLastError();  // reported here, so it must not turn up at the caller's next check
    return error;
  }
  *blocksAtOnce = least * *processors;
  return cudaSuccess;
}

bool launchesClose() {
  constexpr int kLeastMajor = 9;
  constexpr int kLeastDriver = 12030;  // whose graphs have such edges
  int device = 0;
  int major = 0;
  int driver = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  }
  if (error == cudaSuccess) error = cudaDriverGetVersion(&driver);
  // What was compiled for less does not wait, whatever it runs on.
  constexpr int kLeastCode = 90;
  cudaFuncAttributes attributes{};
  if (error == cudaSuccess) {
    error = cudaFuncGetAttributes(&attributes, kernels().front().function);
  }
  if (error != cudaSuccess) cudaGetLastError();
  return error == cudaSuccess && major >= kLeastMajor && driver >= kLeastDriver &&
         attributes.ptxVersion >= kLeastCode;
}

int launchKernel(const Kernel& kernel, const void* call, int blocks, int threads,
                 CUstream_st* stream, const Launching& how) {
  return enqueueKernel(kernel.function, call, blocks, threads, stream, how);
}

int launchRing(const Kernel& kernel, const RingCall& call, int blocks, int threads,
               CUstream_st* stream, const Launching& how) {
  const CallArgs& args = call.args;
  const uint64_t slots = reinterpret_cast<uintptr_t>(args.src) |
                         reinterpret_cast<uintptr_t>(args.dst) | args.srcSlot | args.dstSlot;
  const void* const function = slots % 16 == 0 ? kernel.function : kernel.anywhere;
  return enqueueKernel(function, &call, blocks, threads, stream, how);
}

int launchStanding(const Kernel& kernel, const StandingCall& call, int blocks, int threads,
                   CUstream_st* stream) {
  return enqueueKernel(kernel.standing, &call, blocks, threads, stream, {});
}

int streamError(CUstream_st* stream) {
  const cudaError_t error = cudaStreamQuery(stream);
  if (error == cudaErrorNotReady) return 0;
  if (error != cudaSuccess) cudaGetLastError();
  return error;
}

const char* cudaErrorName(int error) { return cudaGetErrorName(static_cast<cudaError_t>(error)); }
const char* cudaErrorText(int error) { return cudaGetErrorString(static_cast<cudaError_t>(error)); }

}  // namespace rondo
