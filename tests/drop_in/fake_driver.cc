// A CUDA driver with memory that no host code can touch: each allocation is mapped twice, once
// without access, which is the "device" address, and once for this file's copies. Built as
// libcuda.so.1; device_test allocates by fakeAlloc, device_path_test as from any driver.
// FAKE_STREAMS=N: on rank 1 there is no memory for stream N+1 and later ones. FAKE_GRAPHS=NAME:
// what of graphs fails on rank 1 alone: begin, end, instantiate, or launch. FAKE_FREE=waits: a free
// waits for the kernels, and none is launched meanwhile, as on real devices.

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

namespace {

struct Allocation {
  char* real;
  size_t bytes;
  unsigned long long number;
  bool synchronous;
  bool filled = false;  ///< By a blocking copy of the program's.
};
std::mutex mutex;
std::map<uintptr_t, Allocation> allocations;
int copies = 0, streams = 0, lockings = 0;
std::atomic<int> busy{0};  ///< So many looks at the stream find work there.
/// What is on the stream; there is one. Each says whether it is done.
std::mutex workMutex;
std::mutex launching;  ///< Whoever holds it keeps others from it.
std::deque<std::function<bool()>> work;
std::atomic<uint64_t> launched{0}, finished{0};
std::atomic<bool> looking{false};
std::atomic<int> queuedCopies{0};  ///< From the device to itself.
using Graph = std::vector<std::function<void()>>;
thread_local Graph* recording = nullptr;
thread_local int captureMode = 0;
std::atomic<int> graphs{0}, graphLaunches{0}, events{0};
thread_local int pushed = 0;
thread_local bool current = false;

/// nullptr: not device memory, or not all of it. With the lock.
Allocation* find(uintptr_t address, size_t bytes, uintptr_t* offset) {
  auto at = allocations.upper_bound(address);
  if (at == allocations.begin()) return nullptr;
  --at;
  if (address + bytes > at->first + at->second.bytes) return nullptr;
  *offset = address - at->first;
  return &at->second;
}

/// What is really there; nullptr: not device memory, or not all of it.
char* realOf(uintptr_t address, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex);
  uintptr_t offset = 0;
  const Allocation* found = find(address, bytes, &offset);
  return found == nullptr ? nullptr : found->real + offset;
}

unsigned long long numberOf(uintptr_t address) {
  const std::lock_guard<std::mutex> lock(mutex);
  uintptr_t offset = 0;
  const Allocation* found = find(address, 1, &offset);
  return found == nullptr ? 0 : found->number;
}

constexpr int kInvalidValue = 1, kOutOfMemory = 2, kInvalidContext = 201, kNotReady = 600;
int contextOfFake;

/// A look at work may lead to another look.
void look() {
  if (looking.exchange(true)) return;
  for (;;) {
    std::function<bool()> first;
    {
      const std::lock_guard<std::mutex> lock(workMutex);
      if (work.empty()) break;
      first = work.front();
    }
    if (!first()) break;
    const std::lock_guard<std::mutex> lock(workMutex);
    work.pop_front();
    ++finished;
  }
  looking = false;
}

bool hasContext() { return current || pushed > 0; }

/// Of rank 1 only.
const char* fault(const char* variable) {
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  return rank != nullptr && std::strcmp(rank, "1") == 0 ? std::getenv(variable) : nullptr;
}

int streamsAllowed() {
  const char* allowed = fault("FAKE_STREAMS");
  return allowed == nullptr ? 1 << 20 : std::atoi(allowed);
}

bool graphsFail(const char* where) {
  const char* failing = fault("FAKE_GRAPHS");
  return failing != nullptr && std::strcmp(failing, where) == 0;
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return 0; }

int cuPointerGetAttributes(unsigned number, int* attributes, void** values,
                           unsigned long long address) {
  const bool device = realOf(static_cast<uintptr_t>(address), 1) != nullptr;
  for (unsigned i = 0; i < number; ++i) {
    if (attributes[i] == 1) *static_cast<void**>(values[i]) = device ? &contextOfFake : nullptr;
    if (attributes[i] == 2) *static_cast<unsigned*>(values[i]) = device ? 2 : 0;
    if (attributes[i] == 7) {
      *static_cast<unsigned long long*>(values[i]) = numberOf(static_cast<uintptr_t>(address));
    }
    if (attributes[i] == 8) *static_cast<unsigned*>(values[i]) = 0;
    if (attributes[i] == 9) *static_cast<int*>(values[i]) = device ? 0 : -2;
  }
  return 0;
}

int cuPointerSetAttribute(const void* value, int attribute, unsigned long long address) {
  const std::lock_guard<std::mutex> lock(mutex);
  uintptr_t offset = 0;
  Allocation* found = find(static_cast<uintptr_t>(address), 1, &offset);
  if (found == nullptr || attribute != 6) return kInvalidValue;
  found->synchronous = *static_cast<const unsigned*>(value) == 1;
  return 0;
}

int cuDeviceGetCount(int* number) {
  *number = 1;
  return 0;
}
int cuDeviceGet(int* device, int) {
  *device = 0;
  return 0;
}
// FAKE_GPUS=N: the ranks have that many between them (4); FAKE_MPS: processes run on one at once.
int cuDeviceGetUuid_v2(void* uuid, int) {
  const char* const gpus = std::getenv("FAKE_GPUS");
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  const int number =
      rank == nullptr ? 0 : std::atoi(rank) % (gpus == nullptr ? 4 : std::atoi(gpus));
  std::memset(uuid, 1 + number, 16);
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 133 && std::getenv("FAKE_MPS") != nullptr ? 1 : 0;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &contextOfFake;
  return 0;
}
int cuCtxSetCurrent(void* context) {
  current = context != nullptr;
  return 0;
}

// On a thread that has no context of its own copies need the memory's.
int cuCtxGetCurrent(void** context) {
  *context = hasContext() ? &contextOfFake : nullptr;
  return 0;
}
int cuCtxPushCurrent_v2(void* context) {
  if (context != &contextOfFake) return kInvalidContext;
  ++pushed;
  return 0;
}
int cuCtxPopCurrent_v2(void**) {
  --pushed;
  return 0;
}
int cuStreamCreate(void** stream, unsigned) {
  if (!hasContext()) return kInvalidContext;
  if (++streams > streamsAllowed()) return kOutOfMemory;
  *stream = &contextOfFake;
  return 0;
}
int cuStreamDestroy_v2(void*) { return 0; }
int cuStreamSynchronize(void*) { return 0; }
int cuStreamQuery(void*) {
  look();
  return finished < launched || busy.fetch_sub(1) > 0 ? kNotReady : 0;
}
int cuCtxSynchronize() {
  while (cuStreamQuery(nullptr) != 0) sched_yield();
  return 0;
}
int cuEventCreate(void** event, unsigned) {
  if (!hasContext()) return kInvalidContext;
  *event = new uint64_t{0};
  ++events;
  return 0;
}
int cuEventRecord(void* event, void*) {
  *static_cast<uint64_t*>(event) = launched;
  return 0;
}
int cuEventQuery(void* event) {
  look();
  return finished < *static_cast<uint64_t*>(event) || busy.fetch_sub(1) > 0 ? kNotReady : 0;
}
int cuEventDestroy_v2(void* event) {
  delete static_cast<uint64_t*>(event);
  --events;
  return 0;
}
int fakeEvents() { return events; }

// Pages that are locked may be used with another context, and only by whole ones.
int cuMemHostRegister_v2(void* pages, size_t bytes, unsigned flags) {
  if (!hasContext()) return kInvalidContext;
  const bool whole = reinterpret_cast<uintptr_t>(pages) % 4096 == 0 && bytes % 4096 == 0;
  if (!whole || flags != 1) return kInvalidValue;
  ++lockings;
  return 0;
}
int fakeLockings() { return lockings; }

int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t bytes, void*) {
  const char* real = realOf(static_cast<uintptr_t>(from), bytes);
  if (!hasContext()) return kInvalidContext;
  if (real == nullptr) return kInvalidValue;
  std::memcpy(to, real, bytes);
  ++copies;
  return 0;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t bytes, void*) {
  char* real = realOf(static_cast<uintptr_t>(to), bytes);
  if (!hasContext()) return kInvalidContext;
  if (real == nullptr) return kInvalidValue;
  std::memcpy(real, from, bytes);
  ++copies;
  return 0;
}
/// CUDA_MEMCPY2D, from the host to a device.
struct Rows {
  size_t fromX, fromY;
  unsigned fromType;
  const char* fromHost;
  unsigned long long fromDevice;
  void* fromArray;
  size_t fromPitch, toX, toY;
  unsigned toType;
  char* toHost;
  unsigned long long toDevice;
  void* toArray;
  size_t toPitch, width, height;
};
int cuMemcpy2DAsync_v2(const Rows* rows, void*) {
  if (!hasContext()) return kInvalidContext;
  if (rows->fromType != 1 || rows->toType != 2 || rows->height == 0) return kInvalidValue;
  if (rows->fromPitch < rows->width || rows->toPitch < rows->width) return kInvalidValue;
  char* const real = realOf(static_cast<uintptr_t>(rows->toDevice),
                            (rows->height - 1) * rows->toPitch + rows->width);
  if (real == nullptr) return kInvalidValue;
  for (size_t row = 0; row < rows->height; ++row) {
    std::memcpy(real + row * rows->toPitch, rows->fromHost + row * rows->fromPitch, rows->width);
  }
  ++copies;
  return 0;
}
/// After what was enqueued before.
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void*) {
  const char* const source = realOf(static_cast<uintptr_t>(from), bytes);
  char* const target = realOf(static_cast<uintptr_t>(to), bytes);
  if (!hasContext()) return kInvalidContext;
  if (source == nullptr || target == nullptr) return kInvalidValue;
  const std::lock_guard<std::mutex> lock(workMutex);
  ++queuedCopies;
  work.push_back([=] {
    std::memcpy(target, source, bytes);
    --queuedCopies;
    return true;
  });
  ++launched;
  return 0;
}
bool fakeHasCopies() { return queuedCopies != 0; }

// A graph is what fakeRecord() was told while it was captured. Making one is forbidden while some
// capture is "global", as a program's on another thread may be: this thread must have said that it
// does not mind.
int cuThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(*mode, captureMode);
  return 0;
}
int cuStreamBeginCapture_v2(void*, int mode) {
  if (mode != 2 || graphsFail("begin")) return kInvalidValue;
  recording = new Graph;
  return 0;
}
int cuStreamEndCapture(void*, void** graph) {
  *graph = nullptr;
  if (graphsFail("end")) {
    delete recording;
    recording = nullptr;
    return kInvalidValue;
  }
  ++graphs;
  *graph = recording;
  recording = nullptr;
  return 0;
}
int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
  if (graphsFail("instantiate") || captureMode != 2 || !hasContext()) return kInvalidValue;
  ++graphs;
  *executable = new Graph(*static_cast<Graph*>(graph));
  return 0;
}
int cuGraphDestroy(void* graph) {
  --graphs;
  delete static_cast<Graph*>(graph);
  return 0;
}
int cuGraphExecDestroy(void* graph) { return cuGraphDestroy(graph); }
int cuGraphLaunch(void* graph, void*) {
  if (graphsFail("launch") || captureMode != 0 || !hasContext()) return kInvalidValue;
  for (const auto& call : *static_cast<Graph*>(graph)) call();
  ++graphLaunches;
  return 0;
}
/// False: nothing is captured.
bool fakeRecord(const std::function<void()>* call) {
  if (recording != nullptr) recording->push_back(*call);
  return recording != nullptr;
}
int fakeGraphs() { return graphs; }
int fakeGraphLaunches() { return graphLaunches; }

/// Memory of which only *real may be touched; nullptr: none.
void* fakeAlloc(size_t bytes, void** real) {
  const int file = memfd_create("device memory", 0);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return nullptr;
  void* device = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, file, 0);
  *real = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (device == MAP_FAILED || *real == MAP_FAILED) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex);
  static unsigned long long number = 0;
  allocations[reinterpret_cast<uintptr_t>(device)] = {static_cast<char*>(*real), bytes, ++number,
                                                      false};
  return device;
}

int cuMemAlloc_v2(unsigned long long* address, size_t bytes) {
  void* real = nullptr;
  *address = reinterpret_cast<uintptr_t>(fakeAlloc(bytes, &real));
  return *address == 0 ? kOutOfMemory : 0;
}
int cuMemFree_v2(unsigned long long address) {
  if (const char* free = std::getenv("FAKE_FREE"); free && std::strcmp(free, "waits") == 0) {
    const std::lock_guard<std::mutex> alone(launching);
    for (; finished < launched; look()) sched_yield();
  }
  const std::lock_guard<std::mutex> lock(mutex);
  const auto at = allocations.find(static_cast<uintptr_t>(address));
  if (at == allocations.end()) return kInvalidValue;
  munmap(reinterpret_cast<void*>(at->first), at->second.bytes);
  munmap(at->second.real, at->second.bytes);
  allocations.erase(at);
  return 0;
}

// The program's own copies are not counted.
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) {
  char* real = realOf(static_cast<uintptr_t>(to), bytes);
  if (real == nullptr) return kInvalidValue;
  std::memcpy(real, from, bytes);
  const std::lock_guard<std::mutex> lock(mutex);
  uintptr_t offset = 0;
  find(static_cast<uintptr_t>(to), 1, &offset)->filled = true;
  return 0;
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) {
  const char* real = realOf(static_cast<uintptr_t>(from), bytes);
  if (real == nullptr) return kInvalidValue;
  std::memcpy(to, real, bytes);
  return 0;
}

/// What kernels would see at a device address; nullptr: it is none, or the program's copies to its
/// allocation may still be under way when they return.
void* fakeKernelView(const void* address) {
  const std::lock_guard<std::mutex> lock(mutex);
  uintptr_t offset = 0;
  const Allocation* found = find(reinterpret_cast<uintptr_t>(address), 1, &offset);
  const bool late = found != nullptr && found->filled && !found->synchronous;
  return found == nullptr || late ? nullptr : found->real + offset;
}
/// A kernel was enqueued, which says whether it is done: the stream is busy until then, and for
/// some looks more.
void fakeLaunch(const std::function<bool()>* done) {
  const std::lock_guard<std::mutex> alone(launching);
  const std::lock_guard<std::mutex> lock(workMutex);
  work.push_back(*done);
  ++launched;
  busy.store(50);
}

int fakeCopies() { return copies; }
int fakeLaunched() { return static_cast<int>(launched); }
}
