#include "cuda_driver.h"

#include <string>

#include "errors.h"

namespace rondo::bench {

CudaDriver::CudaDriver() : library_("libcuda.so.1", "--memory device") {
  library_.resolve("cuInit", init);
  library_.resolve("cuGetErrorString", getErrorString);
  library_.resolve("cuDeviceGetCount", deviceGetCount);
  library_.resolve("cuDeviceGet", deviceGet);
  library_.resolve("cuDeviceGetName", deviceGetName);
  library_.resolve("cuDevicePrimaryCtxRetain", primaryContextRetain);
  library_.resolve("cuDevicePrimaryCtxRelease_v2", primaryContextRelease);
  library_.resolve("cuCtxSetCurrent", contextSetCurrent);
  library_.resolve("cuMemAlloc_v2", memAlloc);
  library_.resolve("cuMemFree_v2", memFree);
  library_.resolve("cuMemcpyDtoH_v2", copyToHost);
  library_.resolve("cuMemAllocHost_v2", memAllocHost);
  library_.resolve("cuMemFreeHost", memFreeHost);
  library_.resolve("cuMemcpyHtoDAsync_v2", copyToDeviceAsync);
  library_.resolve("cuMemcpyDtoHAsync_v2", copyToHostAsync);
  library_.resolve("cuStreamCreate", streamCreate);
  library_.resolve("cuStreamDestroy_v2", streamDestroy);
  library_.resolve("cuStreamSynchronize", streamSynchronize);
  library_.resolve("cuEventCreate", eventCreate);
  library_.resolve("cuEventDestroy_v2", eventDestroy);
  library_.resolve("cuEventRecord", eventRecord);
  library_.resolve("cuEventElapsedTime", eventElapsed);
  library_.resolve("cuStreamBeginCapture_v2", beginCapture);
  library_.resolve("cuStreamEndCapture", endCapture);
  library_.resolve("cuGraphInstantiateWithFlags", graphInstantiate);
  library_.resolve("cuGraphLaunch", graphLaunch);
  library_.resolve("cuGraphExecDestroy", graphExecDestroy);
  library_.resolve("cuGraphDestroy", graphDestroy);
  if (const CuResult result = init(0); result != 0) {
    const char* text = nullptr;
    getErrorString(result, &text);
    throw UsageError(std::string("--memory device needs a CUDA device; cuInit says: ") +
                     (text != nullptr ? text : "unknown error"));
  }
}

void CudaDriver::check(CuResult result, const char* call) const {
  if (result == 0) return;
  const char* text = nullptr;
  getErrorString(result, &text);
  throw RunError(std::string(call) + " returned " + std::to_string(result) + ": " +
                 (text != nullptr ? text : "unknown error"));
}

}  // namespace rondo::bench
