#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include <cstring>

#include "p2p/cuda_driver.h"
#include "p2p/cuda_user_memory.h"

namespace rondo {
namespace {

CUdeviceptr address(const void* p) { return reinterpret_cast<CUdeviceptr>(const_cast<void*>(p)); }

}  // namespace

namespace {

CUresult askForId(const void* pointer, uint64_t* out) noexcept {
  const CudaDriver* const driver = findCudaDriver();
  if (driver == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
  unsigned type = 0;
  unsigned long long id = 0;
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_BUFFER_ID};
  void* values[] = {&type, &id};
  const CUresult result = driver->pointerGetAttributes(2, wanted, values, address(pointer));
  *out = result == CUDA_SUCCESS && type == CU_MEMORYTYPE_DEVICE ? id : 0;
  return result;
}

}  // namespace

uint64_t allocationId(const void* pointer) noexcept {
  uint64_t id = 0;
  askForId(pointer, &id);
  return id;
}

// A driver that shuts down, or a context that is broken, says nothing of memory.
bool allocationIsGone(const void* base, uint64_t id) noexcept {
  uint64_t now = 0;
  const CUresult result = askForId(base, &now);
  return (result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_VALUE) && now != id;
}

bool findAllocation(const void* pointer, UserAllocation* out) noexcept {
  const CudaDriver* const driver = findCudaDriver();
  CUdeviceptr base = 0;
  size_t bytes = 0;
  if (driver == nullptr ||
      driver->memGetAddressRange(&base, &bytes, address(pointer)) != CUDA_SUCCESS) {
    return false;
  }
  *out = {reinterpret_cast<unsigned char*>(base), bytes, allocationId(pointer)};
  return true;
}

ExportedAllocation exportAllocation(const CudaDevice& owner, const UserAllocation& allocation) {
  const ContextScope scope(owner.context());
  const CudaDriver& cu = cudaDriver();
  ExportedAllocation out;
  // Asked for, not tried: of calls that fail, compute-sanitizer tells the program's owner.
  int ipcCapable = 0;
  CUmemoryPool pool = nullptr;
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                  CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE};
  void* values[] = {&ipcCapable, &pool};
  if (cu.pointerGetAttributes(2, wanted, values, address(allocation.base)) != CUDA_SUCCESS ||
      pool != nullptr) {
    return out;
  }
  CUmemGenericAllocationHandle handle = 0;
  if (ipcCapable == 0 && cu.memRetainAllocationHandle(&handle, allocation.base) == CUDA_SUCCESS) {
    int fd = -1;
    if (cu.memExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ==
        CUDA_SUCCESS) {
      out.fd = UniqueFd(fd);
      out.how = ExportedAllocation::kDescriptor;
    }
    cu.memRelease(handle);
    return out;
  }
  CUipcMemHandle ipc;
  static_assert(sizeof ipc == sizeof out.ipc);
  if (ipcCapable != 0 && cu.ipcGetMemHandle(&ipc, address(allocation.base)) == CUDA_SUCCESS) {
    std::memcpy(out.ipc.data(), &ipc, sizeof ipc);
    out.how = ExportedAllocation::kIpc;
  }
  return out;
}

bool reachContext(const CudaDevice& device, CUctx_st* owner) noexcept {
  const CudaDriver* const driver = findCudaDriver();
  if (driver == nullptr) return false;
  const ContextScope scope(device.context());
  const CUresult result = driver->ctxEnablePeerAccess(owner, 0);
  return result == CUDA_SUCCESS || result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

bool plainMemoryOf(CUctx_st* owner, const void* pointer) noexcept {
  const CudaDriver* const driver = findCudaDriver();
  if (driver == nullptr) return false;
  CUcontext context = nullptr;
  CUmemoryPool pool = nullptr;
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_CONTEXT,
                                  CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE};
  void* values[] = {&context, &pool};
  return driver->pointerGetAttributes(2, wanted, values, address(pointer)) == CUDA_SUCCESS &&
         context == owner && pool == nullptr;
}

bool reachInProcess(const CudaDevice& device, const UserAllocation& allocation) noexcept {
  const CudaDriver* const driver = findCudaDriver();
  if (driver == nullptr) return false;
  const ContextScope scope(device.context());
  CUcontext owner = nullptr;
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_CONTEXT};
  void* values[] = {&owner};
  if (driver->pointerGetAttributes(1, wanted, values, address(allocation.base)) != CUDA_SUCCESS) {
    return false;
  }
  if (owner != nullptr) return reachContext(device, owner);
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device.ordinal();
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return driver->memSetAccess(address(allocation.base), allocation.bytes, &access, 1) ==
         CUDA_SUCCESS;
}

}  // namespace rondo

#endif  // HAVE_CUDA
