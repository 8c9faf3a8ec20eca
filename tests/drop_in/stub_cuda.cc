// CUDA without a GPU, as far as the programs here call it: the runtime's and the driver's functions
// in one library, which is given the names of both. "Device memory" is reserved addresses without
// access, so that whoever touches it crashes; streams and events are numbers.

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace {

constexpr int kInvalidValue = 1, kInvalidDevice = 101;

std::mutex mutex;
std::map<void*, size_t> allocations;
thread_local int current = 0;
thread_local bool bound = false;  ///< The thread has a context.
char contexts[64];                ///< One address for each device.
struct Before {
  int device;
  bool bound;
};
thread_local std::vector<Before> pushed;
thread_local int captureMode = 0;  ///< cudaStreamCaptureModeGlobal
constexpr int kRelaxed = 2, kUnsupported = 900;

/// STUB_CUDA_CAPTURES: streams that exist capture, of device 0, so that its legacy one cannot be
/// asked; if it is more than 1, the stream of that address alone.
uintptr_t captures() {
  const char* wanted = std::getenv("STUB_CUDA_CAPTURES");
  return wanted == nullptr ? 0 : std::strtoul(wanted, nullptr, 0);
}
bool refusedByCapture() { return captures() != 0 && captureMode != kRelaxed; }

int devices() {
  const char* wanted = std::getenv("STUB_CUDA_DEVICES");
  return wanted == nullptr ? 8 : std::atoi(wanted);
}

int allocate(void** memory, size_t bytes) {
  void* const at = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return 2;
  const std::lock_guard<std::mutex> lock(mutex);
  allocations[at] = bytes;
  *memory = at;
  return 0;
}

int release(void* memory) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto at = allocations.find(memory);
  if (at == allocations.end()) return memory == nullptr ? 0 : kInvalidValue;
  munmap(at->first, at->second);
  allocations.erase(at);
  return 0;
}

int makeNumber(void** out) {
  static uintptr_t last = 0x1000;
  const std::lock_guard<std::mutex> lock(mutex);
  *out = reinterpret_cast<void*>(++last);
  return 0;
}

}  // namespace

extern "C" {

// The runtime.
int cudaGetDeviceCount(int* count) {
  *count = devices();
  return 0;
}
int cudaSetDevice(int device) {
  if (device < 0 || device >= devices()) return kInvalidDevice;
  current = device;
  bound = true;
  return 0;
}
int cudaGetDevice(int* device) {
  *device = current;
  return 0;
}
int cudaMalloc(void** memory, size_t bytes) { return allocate(memory, bytes); }
int cudaFree(void* memory) { return release(memory); }
int cudaStreamCreate(void** stream) { return makeNumber(stream); }
int cudaStreamSynchronize(void*) { return 0; }
int cudaStreamDestroy(void*) { return 0; }
const char* cudaGetErrorString(int) { return "stub"; }

// The driver, as the library asks for it.
int cuInit(unsigned) { return 0; }
int cuDeviceGet(int* handle, int device) {
  *handle = device;
  return device >= 0 && device < devices() ? 0 : kInvalidDevice;
}
int cuDeviceGetCount(int* count) { return cudaGetDeviceCount(count); }
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = &contexts[device];
  return 0;
}
int cuCtxGetCurrent(void** context) {
  *context = bound ? &contexts[current] : nullptr;
  return 0;
}
int cuCtxSetCurrent(void* context) {
  bound = context != nullptr;
  if (bound) current = static_cast<int>(static_cast<char*>(context) - contexts);
  return 0;
}
int cuCtxGetDevice(int* device) { return cudaGetDevice(device); }
int cuCtxPushCurrent_v2(void* context) {
  pushed.push_back({current, bound});
  return cuCtxSetCurrent(context);
}
int cuCtxPopCurrent_v2(void** context) {
  cuCtxGetCurrent(context);
  if (pushed.empty()) return kInvalidValue;
  current = pushed.back().device;
  bound = pushed.back().bound;
  pushed.pop_back();
  return 0;
}
int cuCtxSynchronize() { return captures() != 0 ? kUnsupported : 0; }
int cuThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(captureMode, *mode);
  return 0;
}
int cuMemAlloc_v2(unsigned long long* address, size_t bytes) {
  void* memory = nullptr;
  const int result = allocate(&memory, bytes);
  *address = reinterpret_cast<unsigned long long>(memory);
  return result;
}
int cuMemFree_v2(unsigned long long address) {
  return refusedByCapture() ? kUnsupported : release(reinterpret_cast<void*>(address));
}
int cuEventCreate(void** event, unsigned) { return makeNumber(event); }
int cuEventDestroy_v2(void*) { return 0; }
int cuEventRecord(void*, void*) { return 0; }
int cuStreamWaitEvent(void*, void*, unsigned) { return 0; }
int cuEventSynchronize(void*) { return 0; }
int cuStreamGetCaptureInfo_v2(void* stream, int* status, unsigned long long* id, void*, const void*,
                              size_t*) {
  constexpr int kImplicit = 906;
  const uintptr_t captured = captures();
  const auto at = reinterpret_cast<uintptr_t>(stream);
  if (at <= 1) {
    *status = 0;
    return captured != 0 && current == 0 ? kImplicit : 0;
  }
  *status = captured == 1 || captured == at;
  *id = 7;
  return 0;
}
int cuGetErrorName(int, const char** text) {
  *text = "CUDA_ERROR_STUB";
  return 0;
}
int cuGetErrorString(int, const char** text) { return cuGetErrorName(0, text); }
}
