#include "drop_in/mpi/device_memory.h"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

#include "base/error.h"
#include "base/shared_library.h"

namespace rondo::drop_in {
namespace {

// The driver's interface is a binary one: the types and numbers of cuda.h that are used here.
using Result = int;
using Context = void*;
using Stream = void*;
using DevicePointer = unsigned long long;
constexpr int kContextAttribute = 1, kMemoryTypeAttribute = 2, kSyncMemopsAttribute = 6,
              kBufferIdAttribute = 7, kIsManagedAttribute = 8, kOrdinalAttribute = 9;
constexpr int kMpsAttribute = 133;  // of a device
constexpr unsigned kMemoryTypeHost = 1, kMemoryTypeDevice = 2;
constexpr unsigned kStreamNonBlocking = 1;
constexpr Result kNotReady = 600;
constexpr unsigned kRegisterPortable = 1;
const Stream kLegacyStream = reinterpret_cast<Stream>(1);

/// CUDA_MEMCPY2D
struct Rows {
  size_t fromX = 0, fromY = 0;
  unsigned fromType = kMemoryTypeHost;
  const void* fromHost = nullptr;
  DevicePointer fromDevice = 0;
  void* fromArray = nullptr;
  size_t fromPitch = 0;
  size_t toX = 0, toY = 0;
  unsigned toType = kMemoryTypeDevice;
  void* toHost = nullptr;
  DevicePointer toDevice = 0;
  void* toArray = nullptr;
  size_t toPitch = 0;
  size_t width = 0, height = 0;
};

struct Driver {
  Result (*init)(unsigned);
  Result (*pointerGetAttributes)(unsigned, int*, void**, DevicePointer);
  Result (*pointerSetAttribute)(const void*, int, DevicePointer);
  Result (*ctxGetCurrent)(Context*);
  Result (*ctxPushCurrent)(Context);
  Result (*ctxPopCurrent)(Context*);
  Result (*streamCreate)(Stream*, unsigned);
  Result (*streamSynchronize)(Stream);
  Result (*streamQuery)(Stream);
  Result (*streamDestroy)(Stream);
  Result (*memcpyDtoHAsync)(void*, DevicePointer, size_t, Stream);
  Result (*memcpyHtoDAsync)(DevicePointer, const void*, size_t, Stream);
  Result (*memcpy2DAsync)(const Rows*, Stream);  ///< nullptr: it has none.
  Result (*memcpyDtoDAsync)(DevicePointer, DevicePointer, size_t, Stream);
  Result (*memAlloc)(DevicePointer*, size_t);
  Result (*memFree)(DevicePointer);
  Result (*memHostRegister)(void*, size_t, unsigned);  ///< nullptr: it has none; likewise these.
  Result (*deviceGet)(int*, int);
  Result (*deviceGetUuid)(void*, int);
  Result (*deviceGetAttribute)(int*, int, int);
  Result (*eventCreate)(void**, unsigned);
  Result (*eventRecord)(void*, Stream);
  Result (*eventQuery)(void*);
  Result (*eventDestroy)(void*);
  // Graphs: all of these, or `graphs` is false.
  bool graphs;
  Result (*threadExchangeStreamCaptureMode)(int*);
  Result (*streamBeginCapture)(Stream, int);
  Result (*streamEndCapture)(Stream, void**);
  Result (*graphInstantiate)(void**, void*, unsigned long long);
  Result (*graphDestroy)(void*);
  Result (*graphExecDestroy)(void*);
  Result (*graphLaunch)(void*, Stream);
};

Driver driver;  // once devicesOn

DevicePointer number(const void* address) { return reinterpret_cast<uintptr_t>(address); }

void check(Result result, const char* call) {
  if (result == 0) return;
  throw Error(rondoUnhandledCudaError, format("%s failed with CUresult %d", call, result));
}

/// What the driver knows of an address.
struct Kind {
  Context context = nullptr;
  unsigned memory = 0;  ///< 0: nothing
  unsigned managed = 0;
  int device = -1;
  unsigned long long buffer = 0;  ///< Of the process's allocations; 0: it has no number.
};

Kind kindOf(const void* address) {
  Kind kind;
  int attributes[] = {kContextAttribute, kMemoryTypeAttribute, kIsManagedAttribute,
                      kOrdinalAttribute, kBufferIdAttribute};
  void* values[] = {&kind.context, &kind.memory, &kind.managed, &kind.device, &kind.buffer};
  if (driver.pointerGetAttributes(5, attributes, values, number(address)) != 0) return {};
  return kind;
}

/// What the driver said last on this thread, in one call of the program's, whose buffers do not
/// become other memory meanwhile. A question takes 0.07 us (H200).
struct Answers {
  struct One {
    const void* address = nullptr;
    Kind kind;
  };
  std::array<One, 2> last;
  size_t next = 0;
};
constinit thread_local Answers answers;

/// The allocations that prepare() has seen lately, by their numbers, which never come again.
std::array<std::atomic<unsigned long long>, 256> prepared{};

/// Not all memory knows the attribute: that of pools has to do without.
void prepare(const Kind& kind, const void* address) {
  std::atomic<unsigned long long>& seen = prepared[kind.buffer % prepared.size()];
  if (kind.buffer != 0 && seen.load(std::memory_order_relaxed) == kind.buffer) return;
  const unsigned on = 1;
  driver.pointerSetAttribute(&on, kSyncMemopsAttribute, number(address));
  const ContextScope scope(kind.context);
  driver.streamSynchronize(kLegacyStream);  // the fills and copies before the attribute
  seen.store(kind.buffer, std::memory_order_relaxed);
}

/// The layer's stream of the current context. Streams end with their contexts.
Stream currentStream() {
  static std::mutex mutex;
  static auto* const streams = new std::map<Context, Stream>;
  Context current = nullptr;
  check(driver.ctxGetCurrent(&current), "cuCtxGetCurrent");
  const std::lock_guard<std::mutex> lock(mutex);
  const auto [at, isNew] = streams->try_emplace(current, nullptr);
  if (isNew) {
    const Result result = driver.streamCreate(&at->second, kStreamNonBlocking);
    if (result != 0) streams->erase(at);
    check(result, "cuStreamCreate");
  }
  return at->second;
}

}  // namespace

void* currentContext() {
  Context current = nullptr;
  return driver.ctxGetCurrent(&current) == 0 ? current : nullptr;
}

DeviceSharing sharingOf(int device) {
  DeviceSharing sharing;
  int handle = 0, mps = 0;
  const bool known = driver.deviceGet != nullptr && driver.deviceGetUuid != nullptr &&
                     driver.deviceGetAttribute != nullptr && device >= 0 &&
                     driver.deviceGet(&handle, device) == 0 &&
                     driver.deviceGetAttribute(&mps, kMpsAttribute, handle) == 0 &&
                     driver.deviceGetUuid(sharing.device.data(), handle) == 0;
  if (!known) return {};
  sharing.together = mps != 0;
  return sharing;
}

ContextScope::ContextScope(void* wanted) : pushed_(wanted != nullptr) {
  if (pushed_) check(driver.ctxPushCurrent(wanted), "cuCtxPushCurrent");
}
ContextScope::~ContextScope() {
  Context before = nullptr;
  if (pushed_) driver.ctxPopCurrent(&before);
}

DeviceMemory::DeviceMemory(size_t bytes) {
  DevicePointer address = 0;
  check(driver.memAlloc(&address, bytes), "cuMemAlloc");
  address_ = reinterpret_cast<char*>(address);
}
DeviceMemory::~DeviceMemory() {
  if (address_ != nullptr) driver.memFree(number(address_));
}

void copyOnDevice(void* to, const void* from, size_t bytes, rondoStream_t stream) {
  check(driver.memcpyDtoDAsync(number(to), number(from), bytes, stream), "cuMemcpyDtoDAsync");
}

DeviceStream::DeviceStream() {
  check(driver.streamCreate(&stream_, kStreamNonBlocking), "cuStreamCreate");
}
DeviceStream::~DeviceStream() { driver.streamDestroy(stream_); }

namespace {

/// What a query said: it is done, or not yet, or has failed.
bool isDone(Result result, const char* query) {
  if (result != kNotReady) check(result, query);
  return result != kNotReady;
}

}  // namespace

bool DeviceStream::idle() const { return isDone(driver.streamQuery(stream_), "cuStreamQuery"); }

DeviceEvent::~DeviceEvent() {
  if (event_ != nullptr) driver.eventDestroy(event_);
}
void DeviceEvent::record(rondoStream_t stream) {
  constexpr unsigned kNoTimes = 2;
  if (event_ == nullptr) check(driver.eventCreate(&event_, kNoTimes), "cuEventCreate");
  check(driver.eventRecord(event_, stream), "cuEventRecord");
}
bool DeviceEvent::reached() const { return isDone(driver.eventQuery(event_), "cuEventQuery"); }

DeviceGraph::~DeviceGraph() {
  if (executable_ != nullptr) driver.graphExecDestroy(executable_);
}

namespace {

/// Making a graph allocates, which a capture on another thread of the program (of mode "global")
/// forbids all threads that have not said that they know what they do. Twice gives back what was.
void exchangeCaptureMode(int* mode) { driver.threadExchangeStreamCaptureMode(mode); }
constexpr int kRelaxed = 2;
/// Of the thread, while one of the layer's streams captures.
constinit thread_local int captureModeBefore = 0;

}  // namespace

bool DeviceStream::beginCapture() {
  if (!driver.graphs) return false;
  captureModeBefore = kRelaxed;
  exchangeCaptureMode(&captureModeBefore);
  if (driver.streamBeginCapture(stream_, kRelaxed) == 0) return true;
  exchangeCaptureMode(&captureModeBefore);
  return false;
}

DeviceGraph DeviceStream::endCapture() {
  void *graph = nullptr, *executable = nullptr;
  const Result ended = driver.streamEndCapture(stream_, &graph);
  if (ended == 0 && graph != nullptr && driver.graphInstantiate(&executable, graph, 0) != 0) {
    executable = nullptr;
  }
  if (ended == 0 && graph != nullptr) driver.graphDestroy(graph);
  exchangeCaptureMode(&captureModeBefore);
  return DeviceGraph(executable);
}

void DeviceStream::launch(const DeviceGraph& graph) {
  check(driver.graphLaunch(graph.get(), stream_), "cuGraphLaunch");
}

namespace {

bool findGraphs(const SharedLibrary& library) {
  return library.find("cuThreadExchangeStreamCaptureMode",
                      &driver.threadExchangeStreamCaptureMode) &&
         library.find("cuStreamBeginCapture_v2", &driver.streamBeginCapture) &&
         library.find("cuStreamEndCapture", &driver.streamEndCapture) &&
         library.find("cuGraphInstantiateWithFlags", &driver.graphInstantiate) &&
         library.find("cuGraphDestroy", &driver.graphDestroy) &&
         library.find("cuGraphExecDestroy", &driver.graphExecDestroy) &&
         library.find("cuGraphLaunch", &driver.graphLaunch);
}

}  // namespace

bool findDevices(std::string* why) {
  // Never closed: the driver has threads of its own.
  static SharedLibrary& library = *new SharedLibrary({"libcuda.so.1"});
  library.need("cuInit", &driver.init);
  library.need("cuPointerGetAttributes", &driver.pointerGetAttributes);
  library.need("cuPointerSetAttribute", &driver.pointerSetAttribute);
  library.need("cuStreamQuery", &driver.streamQuery);
  library.need("cuStreamDestroy_v2", &driver.streamDestroy);
  library.need("cuEventCreate", &driver.eventCreate);
  library.need("cuEventRecord", &driver.eventRecord);
  library.need("cuEventQuery", &driver.eventQuery);
  library.need("cuEventDestroy_v2", &driver.eventDestroy);
  library.need("cuCtxGetCurrent", &driver.ctxGetCurrent);
  library.need("cuCtxPushCurrent_v2", &driver.ctxPushCurrent);
  library.need("cuCtxPopCurrent_v2", &driver.ctxPopCurrent);
  library.need("cuStreamCreate", &driver.streamCreate);
  library.need("cuStreamSynchronize", &driver.streamSynchronize);
  library.need("cuMemcpyDtoHAsync_v2", &driver.memcpyDtoHAsync);
  library.need("cuMemcpyHtoDAsync_v2", &driver.memcpyHtoDAsync);
  library.need("cuMemcpyDtoDAsync_v2", &driver.memcpyDtoDAsync);
  library.need("cuMemAlloc_v2", &driver.memAlloc);
  library.need("cuMemFree_v2", &driver.memFree);
  library.find("cuMemHostRegister_v2", &driver.memHostRegister);
  library.find("cuDeviceGet", &driver.deviceGet);
  library.find("cuDeviceGetUuid_v2", &driver.deviceGetUuid);
  library.find("cuDeviceGetAttribute", &driver.deviceGetAttribute);
  library.find("cuMemcpy2DAsync_v2", &driver.memcpy2DAsync);
  driver.graphs = findGraphs(library);
  devicesOn = library.complete() && driver.init(0) == 0;
  *why = library.complete() ? "the CUDA driver does not start" : library.missing();
  return devicesOn;
}

bool isDeviceMemory(const void* address) {
  const Kind kind = kindOf(address);
  answers.last[answers.next++ % answers.last.size()] = {address, kind};
  return kind.memory == kMemoryTypeDevice && kind.managed == 0;
}

void forgetAnswers() {
  for (Answers::One& one : answers.last) one.address = nullptr;
}

DeviceSpot prepareSpot(const void* address) {
  const Kind kind = kindOf(address);
  prepare(kind, address);
  return {kind.context, kind.device};
}

DeviceSpot prepareAsked(const void* address) {
  for (const Answers::One& one : answers.last) {
    if (one.address != address) continue;
    prepare(one.kind, address);
    return {one.kind.context, one.kind.device};
  }
  return prepareSpot(address);
}

char* lockPages(size_t bytes, const void* device) {
  if (driver.memHostRegister == nullptr) return nullptr;
  void* const pages =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  try {
    const ContextScope scope(kindOf(device).context);
    if (driver.memHostRegister(pages, bytes, kRegisterPortable) == 0)
      return static_cast<char*>(pages);
  } catch (const Error&) {
    // the copy meets the same, and says so
  }
  munmap(pages, bytes);
  return nullptr;
}

void copyFromDevice(void* host, const void* device, size_t bytes) {
  if (bytes == 0) return;
  const ContextScope scope(prepareSpot(device).context);
  const Stream stream = currentStream();
  check(driver.memcpyDtoHAsync(host, number(device), bytes, stream), "cuMemcpyDtoHAsync");
  check(driver.streamSynchronize(stream), "cuStreamSynchronize");
}

void copyToDevice(void* device, const void* host, size_t bytes) {
  const Run whole{0, bytes};
  copyToDevice(static_cast<char*>(device), static_cast<const char*>(host), {&whole, 1});
}

namespace {

/// How many of the first runs are as long as the first and equally far apart: a column, mostly.
size_t rowsOf(std::span<const Run> runs) {
  constexpr ptrdiff_t kMostPitch = INT32_MAX;  // what devices allow, and a little more
  if (runs.size() < 2) return runs.size();
  const auto bytes = static_cast<ptrdiff_t>(runs[0].bytes);
  const ptrdiff_t pitch = runs[1].begin - runs[0].begin;
  if (pitch < bytes || pitch > kMostPitch) return 1;
  size_t rows = 1;
  while (rows < runs.size() && runs[rows].bytes == runs[0].bytes &&
         runs[rows].begin - runs[rows - 1].begin == pitch) {
    ++rows;
  }
  return rows;
}

Result copyRows(char* device, const char* host, std::span<const Run> rows, Stream stream) {
  Rows copy;
  copy.fromHost = host + rows[0].begin;
  copy.toDevice = number(device + rows[0].begin);
  copy.fromPitch = copy.toPitch = static_cast<size_t>(rows[1].begin - rows[0].begin);
  copy.width = rows[0].bytes;
  copy.height = rows.size();
  return driver.memcpy2DAsync(&copy, stream);
}

}  // namespace

void copyToDevice(char* device, const char* host, std::span<const Run> runs) {
  if (runs.empty() || runs.front().bytes == 0) return;
  const ContextScope scope(prepareSpot(device + runs.front().begin).context);
  const Stream stream = currentStream();
  Result result = 0;
  while (!runs.empty() && result == 0) {
    const size_t rows = driver.memcpy2DAsync != nullptr ? rowsOf(runs) : 1;
    if (rows > 1 && copyRows(device, host, runs.first(rows), stream) == 0) {
      runs = runs.subspan(rows);
      continue;
    }
    for (const Run& run : runs.first(rows)) {  // what the driver will not have as rows, too
      if (result != 0) break;
      result =
          driver.memcpyHtoDAsync(number(device + run.begin), host + run.begin, run.bytes, stream);
    }
    runs = runs.subspan(rows);
  }
  const Result done = driver.streamSynchronize(stream);  // what was enqueued reads `host`
  check(result, "cuMemcpyHtoDAsync");
  check(done, "cuStreamSynchronize");
}

}  // namespace rondo::drop_in
