#pragma once
// The few functions of the CUDA driver that device benchmarks need, declared here and loaded at run
// time, so that building and running on host memory needs no CUDA.

#include <cstddef>

#include "api/rondo.h"
#include "shared_object.h"

namespace rondo::bench {

using CuResult = int;  // 0 is success
using CuDevice = int;
using CuPointer = unsigned long long;
using CuStream = rondoStream_t;
using CuContext = struct CuContextOpaque*;
using CuEvent = struct CuEventOpaque*;
using CuGraph = struct CuGraphOpaque*;
using CuGraphExec = struct CuGraphExecOpaque*;

/// CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: other threads of the process may call what they like.
constexpr int kCuCaptureThreadLocal = 1;

class CudaDriver {
 public:
  /// Loads and initialises the driver; throws UsageError with a sentence if there is none.
  CudaDriver();

  /// Throws RunError that names the call and the driver's text.
  void check(CuResult result, const char* call) const;

  CuResult (*init)(unsigned flags);
  CuResult (*getErrorString)(CuResult result, const char** text);
  CuResult (*deviceGetCount)(int* count);
  CuResult (*deviceGet)(CuDevice* device, int ordinal);
  CuResult (*deviceGetName)(char* name, int length, CuDevice device);
  CuResult (*primaryContextRetain)(CuContext* context, CuDevice device);
  CuResult (*primaryContextRelease)(CuDevice device);
  CuResult (*contextSetCurrent)(CuContext context);
  CuResult (*memAlloc)(CuPointer* block, size_t bytes);
  CuResult (*memFree)(CuPointer block);
  CuResult (*copyToHost)(void* to, CuPointer from, size_t bytes);
  CuResult (*memAllocHost)(void** block, size_t bytes);
  CuResult (*memFreeHost)(void* block);
  CuResult (*copyToDeviceAsync)(CuPointer to, const void* from, size_t bytes, CuStream stream);
  CuResult (*copyToHostAsync)(void* to, CuPointer from, size_t bytes, CuStream stream);
  CuResult (*streamCreate)(CuStream* stream, unsigned flags);
  CuResult (*streamDestroy)(CuStream stream);
  CuResult (*streamSynchronize)(CuStream stream);
  CuResult (*eventCreate)(CuEvent* event, unsigned flags);
  CuResult (*eventDestroy)(CuEvent event);
  CuResult (*eventRecord)(CuEvent event, CuStream stream);
  CuResult (*eventElapsed)(float* milliseconds, CuEvent start, CuEvent end);
  CuResult (*beginCapture)(CuStream stream, int mode);
  CuResult (*endCapture)(CuStream stream, CuGraph* graph);
  CuResult (*graphInstantiate)(CuGraphExec* exec, CuGraph graph, unsigned long long flags);
  CuResult (*graphLaunch)(CuGraphExec exec, CuStream stream);
  CuResult (*graphExecDestroy)(CuGraphExec exec);
  CuResult (*graphDestroy)(CuGraph graph);

 private:
  SharedObject library_;
};

}  // namespace rondo::bench
