// A stand-in for libcuda.so.1 with the functions that topo/gpu_copies.cc loads: four GPUs, whose
// copies take what a table says and move nothing. FAKE_COPIES_FAIL=N: GPU N has no memory.

#include <cstdlib>
#include <cstring>

namespace {

constexpr int kGpus = 4, kOutOfMemory = 2;
const char* const kBusIds[kGpus] = {"0000:11:00.0", "0000:1A:00.0", "0000:81:00.0", "0000:8A:00.0"};
/// GB/s.
constexpr double kFromHost[kGpus] = {25, 25, 24, 12}, kToHost[kGpus] = {26, 24, 26, 13};

int contexts[kGpus];
int current = -1;
double now = 0;  // milliseconds, on all GPUs

void take(double gigabytes, size_t bytes) { now += static_cast<double>(bytes) * 1e-6 / gigabytes; }
int ofContext(void* context) {
  return context == nullptr ? -1 : static_cast<int>(static_cast<int*>(context) - contexts);
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return std::getenv("FAKE_COPIES_NONE") != nullptr ? 100 : 0; }
int cuGetErrorString(int result, const char** text) {
  *text = result == kOutOfMemory ? "out of memory" : "invalid argument";
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = kGpus;
  return 0;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}
int cuDeviceGetPCIBusId(char* text, int length, int device) {
  std::strncpy(text, kBusIds[device], static_cast<size_t>(length));
  return 0;
}
/// Between sockets nothing goes directly.
int cuDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device / 2 == peer / 2 ? 1 : 0;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = &contexts[device];
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSetCurrent(void* context) {
  current = ofContext(context);
  return 0;
}
int cuCtxEnablePeerAccess(void* context, unsigned) {
  static bool enabled[kGpus][kGpus];
  bool& was = enabled[current][ofContext(context)];
  return was ? 704 : (was = true, 0);
}
int cuMemAlloc_v2(unsigned long long* memory, size_t) {
  const char* const failing = std::getenv("FAKE_COPIES_FAIL");
  if (failing != nullptr && std::atoi(failing) == current) return kOutOfMemory;
  *memory = 1;
  return 0;
}
int cuMemFree_v2(unsigned long long) { return 0; }
int cuMemHostAlloc(void** memory, size_t, unsigned) {
  *memory = contexts;
  return 0;
}
int cuMemFreeHost(void*) { return 0; }
int cuMemcpyHtoDAsync_v2(unsigned long long, const void*, size_t bytes, void*) {
  take(kFromHost[current], bytes);
  return 0;
}
int cuMemcpyDtoHAsync_v2(void*, unsigned long long, size_t bytes, void*) {
  take(kToHost[current], bytes);
  return 0;
}
int cuMemcpyPeerAsync(unsigned long long, void*, unsigned long long, void*, size_t bytes, void*) {
  take(current < 2 ? 28 : 90, bytes);  // below one switch; by NVLink
  return 0;
}
int cuEventCreate(void** event, unsigned) {
  *event = new double(0);
  return 0;
}
int cuEventDestroy_v2(void* event) {
  delete static_cast<double*>(event);
  return 0;
}
int cuEventRecord(void* event, void*) {
  *static_cast<double*>(event) = now;
  return 0;
}
int cuEventSynchronize(void*) { return 0; }
int cuEventElapsedTime(float* milliseconds, void* start, void* end) {
  *milliseconds = static_cast<float>(*static_cast<double*>(end) - *static_cast<double*>(start));
  return 0;
}

}  // extern "C"
