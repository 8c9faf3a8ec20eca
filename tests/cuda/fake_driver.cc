// The CUDA driver's functions that Rondo uses, over memory of the host: allocations, virtual memory
// management, legacy IPC and attributes of pointers behave as the real ones, as far as programs can
// tell. Built as libcuda.so.1; tests/cuda/*_tests.cc. There are no kernels.

#include "cuda/fake_driver.h"

#include <cuda.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace {

constexpr size_t kGrain = size_t{2} << 20;
constexpr int kMostDevices = 8;
char contexts[kMostDevices];  // one address a device

std::mutex mutex;
FakeCuda fake;
thread_local CUcontext current = nullptr;
thread_local std::vector<CUcontext> pushed;
std::set<std::pair<CUcontext, CUcontext>> enabled;

CUcontext contextOf(int device) { return reinterpret_cast<CUcontext>(&contexts[device]); }
int deviceOf(CUcontext context) {
  return static_cast<int>(reinterpret_cast<char*>(context) - contexts);
}

/// Memory of a device, of which there may be several descriptors and mappings. What another
/// process has made is imported as bytes of no device here.
struct Physical {
  int fd;
  size_t bytes;
  int device;
  int owners;
  size_t counted;
};

/// What an address is.
struct Range {
  size_t bytes = 0;
  Physical* memory = nullptr;  ///< nullptr: reserved only.
  bool plain = false;          ///< cuMemAlloc's.
  bool opened = false;         ///< A peer's, by its handle.
  unsigned long long id = 0;
  std::set<int> access;
  bool pooled = false;
};
std::map<uintptr_t, Range> ranges;
unsigned long long lastId = 0;

Range* find(uintptr_t address, uintptr_t* base = nullptr) {
  auto at = ranges.upper_bound(address);
  if (at == ranges.begin()) return nullptr;
  --at;
  if (address - at->first >= at->second.bytes || at->second.memory == nullptr) return nullptr;
  if (base != nullptr) *base = at->first;
  return &at->second;
}

Physical* make(int device, size_t bytes) {
  if (bytes > fake.bytesEach - fake.used[device]) return nullptr;
  const int fd = memfd_create("device memory", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) return nullptr;
  fake.used[device] += bytes;
  return new Physical{fd, bytes, device, 1, bytes};
}

void drop(Physical* memory) {
  if (--memory->owners > 0) return;
  fake.used[memory->device] -= memory->counted;
  close(memory->fd);
  delete memory;
}

bool mapAt(uintptr_t at, Physical* memory) {
  return mmap(reinterpret_cast<void*>(at), memory->bytes, PROT_READ | PROT_WRITE,
              MAP_SHARED | MAP_FIXED, memory->fd, 0) != MAP_FAILED;
}

uintptr_t reserve(size_t bytes) {
  void* const at = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? 0 : reinterpret_cast<uintptr_t>(at);
}

using Lock = std::lock_guard<std::mutex>;

/// What every call comes to on a device that is lost; what gives something back does so all the
/// same, for the tests' accounts.
CUresult state() { return static_cast<CUresult>(fake.lost); }

thread_local CUstreamCaptureMode captureMode = CU_STREAM_CAPTURE_MODE_GLOBAL;

CUresult refusedByCapture() {
  ++fake.spoiltCaptures;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}
/// For calls that a thread may make beside another one's capture only if it says so.
CUresult besideCaptures() {
  if (fake.lost != 0) return state();
  if (!fake.captures || captureMode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  return refusedByCapture();
}

}  // namespace

extern "C" {

FakeCuda* fakeCudaAfresh() {
  fake = FakeCuda{};
  enabled.clear();
  return &fake;
}
void fakeCudaPooled(unsigned long long address) {
  const Lock lock(mutex);
  ranges.at(address).pooled = true;
}
void fakeCudaLose(int error) {
  const Lock lock(mutex);
  fake.lost = error;
  const int reach = error == 0 ? PROT_READ | PROT_WRITE : PROT_NONE;
  for (const auto& [at, range] : ranges) {
    if (range.memory != nullptr) mprotect(reinterpret_cast<void*>(at), range.bytes, reach);
  }
}
void fakeCudaSetDevice(int device) { current = device < 0 ? nullptr : contextOf(device); }

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }

CUresult cuDeviceGetCount(int* count) {
  if (fake.lost != 0) return state();
  *count = fake.devices;
  return fake.devices == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (fake.lost != 0) return state();
  *device = ordinal;
  return ordinal >= 0 && ordinal < fake.devices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute, CUdevice) {
  *value = fake.virtualMemory ? 1 : 0;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  if (fake.lost != 0) return state();
  std::memset(uuid->bytes, device + 1, sizeof uuid->bytes);
  return CUDA_SUCCESS;
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice, CUdevice) {
  *can = fake.peersReach ? 1 : 0;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute, CUdevice, CUdevice) {
  *value = fake.peersReach ? 1 : 0;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (fake.lost != 0) return state();
  const Lock lock(mutex);
  ++fake.contexts[device];
  *context = contextOf(device);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  const Lock lock(mutex);
  --fake.contexts[device];
  return state();
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = current;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
  if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *device = deviceOf(current);
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  pushed.push_back(std::exchange(current, context));
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  if (pushed.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *context = std::exchange(current, pushed.back());
  pushed.pop_back();
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() {
  if (fake.lost != 0) return state();
  const Lock lock(mutex);
  if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (fake.captures) return refusedByCapture();  // whatever the thread's mode
  ++fake.synchronisations;
  return CUDA_SUCCESS;
}
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned) {
  const Lock lock(mutex);
  if (!fake.peersReach || deviceOf(current) == fake.refusedPeer) {
    return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  }
  if (!enabled.insert({current, peer}).second) return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  ++fake.peerEnables;
  return CUDA_SUCCESS;
}

// A stream is the context's, by an address of its own.
CUresult cuStreamCreate(CUstream* stream, unsigned) {
  if (fake.lost != 0) return state();
  *stream = reinterpret_cast<CUstream>(new CUcontext{current});
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  *context = *reinterpret_cast<CUcontext*>(stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream) { return state(); }
CUresult cuStreamDestroy_v2(CUstream stream) {
  delete reinterpret_cast<CUcontext*>(stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus* status) {
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  std::swap(captureMode, *mode);
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice) {
  *bytes = fake.bytesEach;
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttributes(unsigned number, CUpointer_attribute* attributes, void** values,
                                CUdeviceptr address) {
  if (fake.lost != 0) return state();
  const Lock lock(mutex);
  ++fake.attributeCalls;
  const Range* const range = find(address);
  for (unsigned i = 0; i < number; ++i) {
    switch (attributes[i]) {
      case CU_POINTER_ATTRIBUTE_CONTEXT:
        *static_cast<CUcontext*>(values[i]) =
            range != nullptr && range->plain ? contextOf(range->memory->device) : nullptr;
        break;
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *static_cast<unsigned*>(values[i]) = range != nullptr ? CU_MEMORYTYPE_DEVICE : 0;
        break;
      case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *static_cast<unsigned long long*>(values[i]) = range != nullptr ? range->id : 0;
        break;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *static_cast<int*>(values[i]) = range != nullptr ? range->memory->device : -2;
        break;
      case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *static_cast<int*>(values[i]) = range != nullptr && range->plain && !range->pooled ? 1 : 0;
        break;
      case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *static_cast<void**>(values[i]) =
            range != nullptr && range->pooled ? &contexts[0] : nullptr;
        break;
      default:
        std::memset(values[i], 0, 4);
    }
  }
  return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void**, size_t, unsigned) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* at, void* pages, unsigned) {
  *at = reinterpret_cast<CUdeviceptr>(pages);
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void*) { return CUDA_SUCCESS; }
CUresult cuMemHostRegister_v2(void*, size_t, unsigned) { return CUDA_SUCCESS; }
CUresult cuMemHostUnregister(void*) { return CUDA_SUCCESS; }

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  const Lock lock(mutex);
  if (const CUresult refused = besideCaptures()) return refused;
  if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const int device = deviceOf(current);
  Physical* const memory = make(device, bytes);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  const uintptr_t at = reserve(bytes);
  if (at == 0 || !mapAt(at, memory)) return CUDA_ERROR_OUT_OF_MEMORY;
  ranges[at] = {bytes, memory, true, false, ++lastId, {device}, false};
  *address = at;
  return CUDA_SUCCESS;
}
CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  if (fake.lost != 0) return state();
  const Lock lock(mutex);
  if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *total = fake.bytesEach;
  *free = fake.bytesEach - fake.used[deviceOf(current)];
  return CUDA_SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  const Lock lock(mutex);
  if (fake.lost == 0 && besideCaptures() != CUDA_SUCCESS)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  ++fake.frees;
  const auto at = ranges.find(address);
  if (at == ranges.end() || !at->second.plain) return CUDA_ERROR_INVALID_VALUE;
  munmap(reinterpret_cast<void*>(at->first), at->second.bytes);
  drop(at->second.memory);
  ranges.erase(at);
  return state();
}
CUresult cuMemsetD32Async(CUdeviceptr at, unsigned value, size_t words, CUstream) {
  auto* const to = reinterpret_cast<uint32_t*>(at);
  for (size_t i = 0; i < words; ++i) to[i] = value;
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  if (fake.lost != 0) return state();
  const Lock lock(mutex);
  uintptr_t at = 0;
  const Range* const range = find(address, &at);
  if (range == nullptr) return CUDA_ERROR_NOT_FOUND;
  *base = at;
  *bytes = range->bytes;
  return CUDA_SUCCESS;
}

// A handle is the number of the allocation: peers are threads of this process.
CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  const Lock lock(mutex);
  const Range* const range = find(address);
  if (range == nullptr || !range->plain) return CUDA_ERROR_INVALID_VALUE;
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle, &range->id, sizeof range->id);
  return CUDA_SUCCESS;
}
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned) {
  const Lock lock(mutex);
  unsigned long long id = 0;
  std::memcpy(&id, &handle, sizeof id);
  const auto owner = std::find_if(ranges.begin(), ranges.end(), [&](const auto& range) {
    return range.second.plain && range.second.id == id;
  });
  if (owner == ranges.end()) return CUDA_ERROR_INVALID_VALUE;  // freed meanwhile
  Physical* const memory = owner->second.memory;
  const uintptr_t at = reserve(memory->bytes);
  if (at == 0 || !mapAt(at, memory)) return CUDA_ERROR_OUT_OF_MEMORY;
  ++memory->owners;
  ++fake.opened;
  ranges[at] = {memory->bytes, memory, false, true, ++lastId, {memory->device}, false};
  *address = at;
  return CUDA_SUCCESS;
}
CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  const Lock lock(mutex);
  const auto at = ranges.find(address);
  if (at == ranges.end() || !at->second.opened) return CUDA_ERROR_INVALID_VALUE;
  munmap(reinterpret_cast<void*>(at->first), at->second.bytes);
  --fake.opened;
  drop(at->second.memory);
  ranges.erase(at);
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t* grain, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
  *grain = kGrain;
  return CUDA_SUCCESS;
}
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                     const CUmemAllocationProp* properties, unsigned long long) {
  const Lock lock(mutex);
  if (const CUresult refused = besideCaptures()) return refused;
  if (fake.createFails) return CUDA_ERROR_NOT_SUPPORTED;
  if (bytes == 0 || bytes % kGrain != 0) return CUDA_ERROR_INVALID_VALUE;
  Physical* const memory = make(properties->location.id, bytes);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = reinterpret_cast<CUmemGenericAllocationHandle>(memory);
  return CUDA_SUCCESS;
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  const Lock lock(mutex);
  drop(reinterpret_cast<Physical*>(handle));
  return state();
}
CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t, CUdeviceptr,
                             unsigned long long) {
  if (fake.lost != 0) return state();
  const Lock lock(mutex);
  const uintptr_t at = reserve(bytes);
  if (at == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  ranges[at].bytes = bytes;
  *address = at;
  return CUDA_SUCCESS;
}
CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  const Lock lock(mutex);
  munmap(reinterpret_cast<void*>(address), bytes);
  ranges.erase(address);
  return state();
}
CUresult cuMemMap(CUdeviceptr address, size_t, size_t, CUmemGenericAllocationHandle handle,
                  unsigned long long) {
  if (fake.lost != 0) return state();
  const Lock lock(mutex);
  auto* const memory = reinterpret_cast<Physical*>(handle);
  Range& range = ranges.at(address);
  ++memory->owners;
  range.memory = memory;
  range.id = ++lastId;
  return CUDA_SUCCESS;
}
CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  const Lock lock(mutex);
  Range& range = ranges.at(address);
  if (range.bytes != bytes) return CUDA_ERROR_INVALID_VALUE;
  mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
       -1, 0);
  drop(std::exchange(range.memory, nullptr));
  return state();
}
CUresult cuMemSetAccess(CUdeviceptr address, size_t, const CUmemAccessDesc* access, size_t) {
  if (fake.lost != 0) return state();
  const Lock lock(mutex);
  Range& range = ranges.at(address);
  const int device = access->location.id;
  if (range.memory == nullptr || device == fake.refusedAccess) return CUDA_ERROR_INVALID_DEVICE;
  if (!range.access.insert(device).second) return CUDA_ERROR_INVALID_VALUE;
  return mapAt(address, range.memory) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult cuMemExportToShareableHandle(void* fd, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType, unsigned long long) {
  *static_cast<int*>(fd) = fcntl(reinterpret_cast<Physical*>(handle)->fd, F_DUPFD_CLOEXEC, 0);
  return CUDA_SUCCESS;
}
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* fd,
                                        CUmemAllocationHandleType) {
  const Lock lock(mutex);
  const int own = fcntl(static_cast<int>(reinterpret_cast<intptr_t>(fd)), F_DUPFD_CLOEXEC, 0);
  const off_t bytes = lseek(own, 0, SEEK_END);
  if (own < 0 || bytes <= 0) return CUDA_ERROR_INVALID_VALUE;
  *handle = reinterpret_cast<CUmemGenericAllocationHandle>(
      new Physical{own, static_cast<size_t>(bytes), 0, 1, 0});
  return CUDA_SUCCESS;
}
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  const Lock lock(mutex);
  const Range* const range = find(reinterpret_cast<uintptr_t>(address));
  if (range == nullptr || range->plain || range->opened) return CUDA_ERROR_INVALID_VALUE;
  ++range->memory->owners;
  *handle = reinterpret_cast<CUmemGenericAllocationHandle>(range->memory);
  return CUDA_SUCCESS;
}

}  // extern "C"
