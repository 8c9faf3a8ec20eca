#include "drop_in/mpi/device_memory.h"

#include <dlfcn.h>

#include <cstdint>
#include <map>
#include <mutex>

#include "base/error.h"

namespace rondo::drop_in {
namespace {

// The driver's interface is a binary one: the types and numbers of cuda.h that are used here.
using Result = int;
using Context = void*;
using Stream = void*;
using DevicePointer = unsigned long long;
constexpr int kContextAttribute = 1, kMemoryTypeAttribute = 2, kIsManagedAttribute = 8;
constexpr unsigned kMemoryTypeDevice = 2;
constexpr unsigned kStreamNonBlocking = 1;

struct Driver {
  Result (*init)(unsigned);
  Result (*pointerGetAttributes)(unsigned, int*, void**, DevicePointer);
  Result (*ctxGetCurrent)(Context*);
  Result (*ctxPushCurrent)(Context);
  Result (*ctxPopCurrent)(Context*);
  Result (*streamCreate)(Stream*, unsigned);
  Result (*streamSynchronize)(Stream);
  Result (*memcpyDtoHAsync)(void*, DevicePointer, size_t, Stream);
  Result (*memcpyHtoDAsync)(DevicePointer, const void*, size_t, Stream);
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
};

Kind kindOf(const void* address) {
  Kind kind;
  int attributes[] = {kContextAttribute, kMemoryTypeAttribute, kIsManagedAttribute};
  void* values[] = {&kind.context, &kind.memory, &kind.managed};
  if (driver.pointerGetAttributes(3, attributes, values, number(address)) != 0) return {};
  return kind;
}

/// Makes a context the calling thread's for a while. Memory of the virtual memory calls and of
/// pools belongs to none: then it is the thread's own.
class ContextScope {
 public:
  explicit ContextScope(Context wanted) : pushed_(wanted != nullptr) {
    if (pushed_) check(driver.ctxPushCurrent(wanted), "cuCtxPushCurrent");
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  ~ContextScope() {
    Context before = nullptr;
    if (pushed_) driver.ctxPopCurrent(&before);
  }

 private:
  bool pushed_;
};

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

bool findDevices(const char** why) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);  // stays open for the process's life
  *why = "there is no libcuda.so.1";
  if (library == nullptr) return false;
  const auto find = [library](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
    return *function != nullptr;
  };
  *why = "the CUDA driver lacks functions";
  if (!find("cuInit", &driver.init) ||
      !find("cuPointerGetAttributes", &driver.pointerGetAttributes) ||
      !find("cuCtxGetCurrent", &driver.ctxGetCurrent) ||
      !find("cuCtxPushCurrent_v2", &driver.ctxPushCurrent) ||
      !find("cuCtxPopCurrent_v2", &driver.ctxPopCurrent) ||
      !find("cuStreamCreate", &driver.streamCreate) ||
      !find("cuStreamSynchronize", &driver.streamSynchronize) ||
      !find("cuMemcpyDtoHAsync_v2", &driver.memcpyDtoHAsync) ||
      !find("cuMemcpyHtoDAsync_v2", &driver.memcpyHtoDAsync)) {
    return false;
  }
  *why = "the CUDA driver does not start";
  devicesOn = driver.init(0) == 0;
  return devicesOn;
}

bool isDeviceMemory(const void* address) {
  const Kind kind = kindOf(address);
  return kind.memory == kMemoryTypeDevice && kind.managed == 0;
}

void copyFromDevice(void* host, const void* device, size_t bytes) {
  if (bytes == 0) return;
  const ContextScope scope(kindOf(device).context);
  const Stream stream = currentStream();
  check(driver.memcpyDtoHAsync(host, number(device), bytes, stream), "cuMemcpyDtoHAsync");
  check(driver.streamSynchronize(stream), "cuStreamSynchronize");
}

void copyToDevice(void* device, const void* host, size_t bytes) {
  if (bytes == 0) return;
  const ContextScope scope(kindOf(device).context);
  const Stream stream = currentStream();
  check(driver.memcpyHtoDAsync(number(device), host, bytes, stream), "cuMemcpyHtoDAsync");
  check(driver.streamSynchronize(stream), "cuStreamSynchronize");
}

}  // namespace rondo::drop_in
