// A stand-in for libcuda.so.1 with the functions that rondo-bench loads: device memory is host
// memory, streams work at once, and a graph is a list of what was enqueued while it was captured.
// Times are the wall clock's.

#include "fake_cuda.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

using Graph = std::vector<std::function<void()>>;
using Clock = std::chrono::steady_clock;

constexpr int kInvalid = 1;

struct Stream {
  Graph* capturing = nullptr;
  Graph deferred;

  void catchUp() {
    Graph works;
    works.swap(deferred);
    for (const auto& work : works) work();
  }
};
struct Event {
  Clock::time_point time;
};

bool inGraph = false;

}  // namespace

extern "C" {

void fakeCudaEnqueue(void* stream, const std::function<void()>* work) {
  auto* to = static_cast<Stream*>(stream);
  to->catchUp();
  if (to->capturing != nullptr) {
    to->capturing->push_back(*work);
  } else {
    (*work)();
  }
}

void fakeCudaDefer(void* stream, const std::function<void()>* work) {
  auto* to = static_cast<Stream*>(stream);
  to->catchUp();
  to->deferred.push_back(*work);
}

void fakeCudaNote(const char* library, const void* result) {
  const char* const path = std::getenv("FAKE_CUDA_LOG");
  if (path == nullptr || !inGraph) return;
  static std::ofstream log(path + ("." + std::to_string(getpid())));
  log << library << ' ' << result << '\n';
}

int cuInit(unsigned) { return std::getenv("FAKE_CUDA_NO_DEVICE") != nullptr ? 100 : 0; }
int cuGetErrorString(int result, const char** text) {
  *text = result == 100 ? "no CUDA-capable device is detected" : "invalid argument";
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}
int cuDeviceGetName(char* name, int length, int) {
  std::strncpy(name, "Fake device", static_cast<size_t>(length));
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = nullptr;
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSetCurrent(void*) { return 0; }

int cuMemAlloc_v2(unsigned long long* block, size_t bytes) {
  *block = reinterpret_cast<unsigned long long>(std::malloc(bytes));
  return 0;
}
int cuMemFree_v2(unsigned long long block) {
  std::free(reinterpret_cast<void*>(block));
  return 0;
}
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) {
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  return 0;
}

int cuMemAllocHost_v2(void** block, size_t bytes) {
  *block = std::malloc(bytes);
  return 0;
}
int cuMemFreeHost(void* block) {
  std::free(block);
  return 0;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t bytes, Stream* stream) {
  return stream->capturing != nullptr ? kInvalid : cuMemcpyHtoD_v2(to, from, bytes);
}
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t bytes, Stream* stream) {
  return stream->capturing != nullptr ? kInvalid : cuMemcpyDtoH_v2(to, from, bytes);
}

int cuStreamCreate(Stream** stream, unsigned) {
  *stream = new Stream;
  return 0;
}
int cuStreamDestroy_v2(Stream* stream) {
  delete stream;
  return 0;
}
int cuStreamSynchronize(Stream* stream) {
  if (stream->capturing != nullptr) return kInvalid;
  stream->catchUp();
  return 0;
}

int cuEventCreate(Event** event, unsigned) {
  *event = new Event;
  return 0;
}
int cuEventDestroy_v2(Event* event) {
  delete event;
  return 0;
}
int cuEventRecord(Event* event, Stream*) {
  event->time = Clock::now();
  return 0;
}
int cuEventElapsedTime(float* milliseconds, Event* start, Event* end) {
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return 0;
}

int cuStreamBeginCapture_v2(Stream* stream, int) {
  if (stream->capturing != nullptr) return kInvalid;
  stream->capturing = new Graph;
  return 0;
}
int cuStreamEndCapture(Stream* stream, Graph** graph) {
  if (stream->capturing == nullptr) return kInvalid;
  *graph = stream->capturing;
  stream->capturing = nullptr;
  return 0;
}
int cuGraphInstantiateWithFlags(Graph** exec, Graph* graph, unsigned long long) {
  *exec = new Graph(*graph);
  return 0;
}
int cuGraphLaunch(Graph* exec, Stream*) {
  inGraph = true;
  for (const auto& work : *exec) work();
  inGraph = false;
  return 0;
}
int cuGraphExecDestroy(Graph* exec) {
  delete exec;
  return 0;
}
int cuGraphDestroy(Graph* graph) {
  delete graph;
  return 0;
}

}  // extern "C"
