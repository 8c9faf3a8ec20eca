// A CUDA driver with memory that no host code can touch: each allocation is mapped twice, once
// without access, which is the "device" address, and once for this file's copies. Built as
// libcuda.so.1; device_test allocates by fakeAlloc.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

namespace {

struct Allocation {
  char* real;
  size_t bytes;
};
std::mutex mutex;
std::map<uintptr_t, Allocation> allocations;
int copies = 0;
thread_local int pushed = 0;

/// What is really there; nullptr: not device memory, or not all of it.
char* realOf(uintptr_t address, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex);
  auto at = allocations.upper_bound(address);
  if (at == allocations.begin()) return nullptr;
  --at;
  if (address + bytes > at->first + at->second.bytes) return nullptr;
  return at->second.real + (address - at->first);
}

constexpr int kInvalidValue = 1, kInvalidContext = 201;
int contextOfFake;

}  // namespace

extern "C" {

int cuInit(unsigned) { return 0; }

int cuPointerGetAttributes(unsigned number, int* attributes, void** values,
                           unsigned long long address) {
  const bool device = realOf(static_cast<uintptr_t>(address), 1) != nullptr;
  for (unsigned i = 0; i < number; ++i) {
    if (attributes[i] == 1) *static_cast<void**>(values[i]) = device ? &contextOfFake : nullptr;
    if (attributes[i] == 2) *static_cast<unsigned*>(values[i]) = device ? 2 : 0;
    if (attributes[i] == 8) *static_cast<unsigned*>(values[i]) = 0;
  }
  return 0;
}

// As on a thread that has no context of its own: copies need the memory's.
int cuCtxGetCurrent(void** context) {
  *context = pushed > 0 ? &contextOfFake : nullptr;
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
  *stream = &contextOfFake;
  return pushed > 0 ? 0 : kInvalidContext;
}
int cuStreamSynchronize(void*) { return 0; }

int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t bytes, void*) {
  const char* real = realOf(static_cast<uintptr_t>(from), bytes);
  if (pushed == 0) return kInvalidContext;
  if (real == nullptr) return kInvalidValue;
  std::memcpy(to, real, bytes);
  ++copies;
  return 0;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t bytes, void*) {
  char* real = realOf(static_cast<uintptr_t>(to), bytes);
  if (pushed == 0) return kInvalidContext;
  if (real == nullptr) return kInvalidValue;
  std::memcpy(real, from, bytes);
  ++copies;
  return 0;
}

/// Memory of which only *real may be touched; nullptr: none.
void* fakeAlloc(size_t bytes, void** real) {
  const int file = memfd_create("device memory", 0);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return nullptr;
  void* device = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED, file, 0);
  *real = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (device == MAP_FAILED || *real == MAP_FAILED) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex);
  allocations[reinterpret_cast<uintptr_t>(device)] = {static_cast<char*>(*real), bytes};
  return device;
}

int fakeCopies() { return copies; }
}
