#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include "p2p/cuda_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "p2p/cuda_driver.h"

namespace rondo {
namespace {

CUdeviceptr address(const void* p) { return reinterpret_cast<CUdeviceptr>(const_cast<void*>(p)); }

CUmemAccessDesc readWrite(int ordinal) {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = ordinal;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return access;
}

CUmemAllocationProp propertiesOn(const CudaDevice& device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device.ordinal();
  return properties;
}

// Physical memory of the virtual memory management calls, mapped at an address of its own.
class VirtualMemory : public DeviceMemory {
 public:
  VirtualMemory(const CudaDevice& device, size_t bytes) {
    const CUmemAllocationProp properties = propertiesOn(device);
    size_t grain = 0;
    checkCuda(cudaDriver().memGetAllocationGranularity(&grain, &properties,
                                                       CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
              "cuMemGetAllocationGranularity");
    bytes_ = (bytes + grain - 1) / grain * grain;
    checkCudaMemory(cudaDriver().memCreate(&physical_, bytes_, &properties, 0),
                    format("cuMemCreate of %zu bytes on device %d", bytes_, device.ordinal()));
    created_ = true;
    mapOrRelease(device);
  }

  VirtualMemory(const CudaDevice& device, const UniqueFd& fd, size_t bytes) {
    bytes_ = bytes;
    void* handle = reinterpret_cast<void*>(static_cast<intptr_t>(fd.get()));
    checkCuda(cudaDriver().memImportFromShareableHandle(&physical_, handle,
                                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
              format("cuMemImportFromShareableHandle of a peer's %zu bytes", bytes));
    created_ = true;
    mapOrRelease(device);
  }

  ~VirtualMemory() override { release(); }

  UniqueFd exportDescriptor() const override {
    int fd = -1;
    checkCuda(cudaDriver().memExportToShareableHandle(&fd, physical_,
                                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
              "cuMemExportToShareableHandle");
    return UniqueFd(fd);
  }

  void allow(const CudaDevice& device) override {
    checkCuda(allowOrdinal(device.ordinal()),
              format("cuMemSetAccess for device %d", device.ordinal()));
  }

  void allowAll(const CudaDevice& owner) override {
    for (const int peer : owner.reachedBy()) allowOrdinal(peer);
  }

  bool allowed(int ordinal) const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::find(allowed_.begin(), allowed_.end(), ordinal) != allowed_.end();
  }

 private:
  CUresult allowOrdinal(int ordinal) {
    // Several ranks of a process may share the device; the driver refuses to allow it twice.
    const std::lock_guard<std::mutex> lock(mutex_);
    if (std::find(allowed_.begin(), allowed_.end(), ordinal) != allowed_.end()) return CUDA_SUCCESS;
    const CUmemAccessDesc access = readWrite(ordinal);
    const CUresult result = cudaDriver().memSetAccess(address(data_), bytes_, &access, 1);
    if (result == CUDA_SUCCESS) allowed_.push_back(ordinal);
    return result;
  }

  void mapOrRelease(const CudaDevice& device) {
    try {
      CUdeviceptr at = 0;
      checkCuda(cudaDriver().memAddressReserve(&at, bytes_, 0, 0, 0), "cuMemAddressReserve");
      data_ = reinterpret_cast<unsigned char*>(at);
      checkCuda(cudaDriver().memMap(at, bytes_, 0, physical_, 0), "cuMemMap");
      mapped_ = true;
      VirtualMemory::allow(device);  // under construction: nobody overrides it
    } catch (...) {
      release();
      throw;
    }
  }

  void release() noexcept {
    const CudaDriver& cu = cudaDriver();
    if (mapped_) cu.memUnmap(address(data_), bytes_);
    if (data_ != nullptr) cu.memAddressFree(address(data_), bytes_);
    if (created_) cu.memRelease(physical_);
  }

  CUmemGenericAllocationHandle physical_ = 0;
  bool created_ = false;
  bool mapped_ = false;
  mutable std::mutex mutex_;
  std::vector<int> allowed_;  // ordinals of devices
};

// cuMemAlloc, for devices or drivers without the above.
class PlainMemory : public DeviceMemory {
 public:
  PlainMemory(const CudaDevice& device, size_t bytes)
      : context_(device.context()), ordinal_(device.ordinal()) {
    const ContextScope scope(context_);
    CUdeviceptr at = 0;
    checkCudaMemory(cudaDriver().memAlloc(&at, bytes),
                    format("cuMemAlloc of %zu bytes on device %d", bytes, device.ordinal()));
    data_ = reinterpret_cast<unsigned char*>(at);
    bytes_ = bytes;
  }
  ~PlainMemory() override {
    const ContextScope scope(context_);
    cudaDriver().memFree(address(data_));
  }

  CudaIpcHandle exportIpc() const override {
    CUipcMemHandle handle;
    checkCuda(cudaDriver().ipcGetMemHandle(&handle, address(data_)), "cuIpcGetMemHandle");
    CudaIpcHandle out;
    static_assert(sizeof handle == sizeof out);
    std::memcpy(out.data(), &handle, sizeof handle);
    return out;
  }

  void allow(const CudaDevice& device) override {
    if (device.context() == context_) return;
    const ContextScope scope(device.context());
    const CUresult result = cudaDriver().ctxEnablePeerAccess(context_, 0);
    if (result == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) return;
    checkCuda(result, format("cuCtxEnablePeerAccess by device %d", device.ordinal()));
  }
  bool allowed(int ordinal) const override { return ordinal == ordinal_; }

 private:
  CUctx_st* context_;
  int ordinal_;
};

class IpcMapping : public DeviceMemory {
 public:
  IpcMapping(const CudaDevice& device, const CudaIpcHandle& handle, size_t bytes)
      : context_(device.context()) {
    const ContextScope scope(context_);
    CUipcMemHandle raw;
    std::memcpy(&raw, handle.data(), sizeof raw);
    CUdeviceptr at = 0;
    checkCuda(cudaDriver().ipcOpenMemHandle(&at, raw, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
              format("cuIpcOpenMemHandle of a peer's %zu bytes", bytes));
    data_ = reinterpret_cast<unsigned char*>(at);
    bytes_ = bytes;
  }
  ~IpcMapping() override {
    const ContextScope scope(context_);
    cudaDriver().ipcCloseMemHandle(address(data_));
  }

 private:
  CUctx_st* context_;
};

// An anonymous file, mapped by each process and lent to its driver: it goes with the last of them,
// however they end.
class HostPages : public DeviceMemory {
 public:
  HostPages(const CudaDevice& device, size_t bytes) : context_(device.context()) {
    own_ = UniqueFd(memfd_create("rondo-device", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (own_.get() < 0 || ftruncate(own_.get(), static_cast<off_t>(bytes)) != 0) {
      throw Error(rondoOutOfMemory, format("cannot create %zu bytes of shared memory for a device "
                                           "(memfd_create, ftruncate): %s",
                                           bytes, std::strerror(errno)));
    }
    fcntl(own_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    map(own_, bytes);
  }
  HostPages(const CudaDevice& device, const UniqueFd& fd, size_t bytes)
      : context_(device.context()) {
    map(fd, bytes);
  }
  ~HostPages() override {
    const ContextScope scope(context_);
    cudaDriver().memHostUnregister(pages_);
    munmap(pages_, bytes_);
  }

  UniqueFd exportDescriptor() const override {
    UniqueFd copy(fcntl(own_.get(), F_DUPFD_CLOEXEC, 0));
    if (copy.get() < 0) {
      throw Error(rondoSystemError,
                  format("cannot duplicate a descriptor of shared memory for a device: %s",
                         std::strerror(errno)));
    }
    return copy;
  }
  void allow(const CudaDevice&) override {}  // portable: every context has it

 private:
  void map(const UniqueFd& fd, size_t bytes) {
    pages_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (pages_ == MAP_FAILED) {
      throw Error(rondoOutOfMemory, format("cannot map %zu bytes of shared memory for a device: %s",
                                           bytes, std::strerror(errno)));
    }
    bytes_ = bytes;
    const ContextScope scope(context_);
    const CudaDriver& cu = cudaDriver();
    CUdeviceptr at = 0;
    CUresult result = cu.memHostRegister(
        pages_, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    const bool lent = result == CUDA_SUCCESS;
    if (lent) result = cu.memHostGetDevicePointer(&at, pages_, 0);
    if (result != CUDA_SUCCESS) {
      if (lent) cu.memHostUnregister(pages_);
      munmap(pages_, bytes);
      checkCuda(result, format("page-locking %zu bytes of shared memory", bytes));
    }
    data_ = reinterpret_cast<unsigned char*>(at);
  }

  CUctx_st* context_;
  UniqueFd own_;
  void* pages_ = nullptr;
};

}  // namespace

UniqueFd DeviceMemory::exportDescriptor() const { return UniqueFd(); }

CudaIpcHandle DeviceMemory::exportIpc() const { return {}; }

void DeviceMemory::allow(const CudaDevice&) {
  throw Error(rondoInternalError, "a mapping of a peer's memory cannot be passed on");
}

void DeviceMemory::allowAll(const CudaDevice&) {}

bool DeviceMemory::allowed(int) const { return false; }

std::shared_ptr<DeviceMemory> allocateDevice(const CudaDevice& device, size_t bytes,
                                             DeviceMemory::Sharing sharing) {
  const ContextScope scope(device.context());
  std::shared_ptr<DeviceMemory> memory;
  if (sharing == DeviceMemory::Sharing::kHost) {
    memory = std::make_shared<HostPages>(device, (bytes + 4095) / 4096 * 4096);
  } else if (sharing == DeviceMemory::Sharing::kDescriptor) {
    memory = std::make_shared<VirtualMemory>(device, bytes);
  } else {
    memory = std::make_shared<PlainMemory>(device, bytes);
  }
  fillDevice(device, memory->data(), 0, memory->bytes() / 4);
  return memory;
}

std::shared_ptr<DeviceMemory> allocateForCaller(const CudaDevice& device, size_t bytes) {
  const ContextScope scope(device.context());
  if (device.exportsDescriptors()) {
    try {
      return std::make_shared<VirtualMemory>(device, bytes);
    } catch (const Error& error) {
      if (error.code() == rondoOutOfMemory) throw;  // a virtual GPU, say, has the attributes only
    }
  }
  return std::make_shared<PlainMemory>(device, bytes);
}

std::shared_ptr<DeviceMemory> importDescriptor(const CudaDevice& device, const UniqueFd& fd,
                                               size_t bytes) {
  const ContextScope scope(device.context());
  return std::make_shared<VirtualMemory>(device, fd, bytes);
}

std::shared_ptr<DeviceMemory> importHostPages(const CudaDevice& device, const UniqueFd& fd,
                                              size_t bytes) {
  return std::make_shared<HostPages>(device, fd, bytes);
}

std::shared_ptr<DeviceMemory> importIpc(const CudaDevice& device, const CudaIpcHandle& handle,
                                        size_t bytes) {
  return std::make_shared<IpcMapping>(device, handle, bytes);
}

namespace {

// Runs enqueue(stream) on a stream of its own and waits for it.
template <class Enqueue>
void onOwnStream(const CudaDevice& device, const std::string& what, Enqueue enqueue) {
  const CudaDriver& cu = cudaDriver();
  const ContextScope scope(device.context());
  CUstream stream = nullptr;
  checkCuda(cu.streamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  CUresult result = enqueue(stream);
  if (result == CUDA_SUCCESS) result = cu.streamSynchronize(stream);
  cu.streamDestroy(stream);
  checkCuda(result, what);
}

}  // namespace

void fillDevice(const CudaDevice& device, void* at, uint32_t value, size_t words) {
  onOwnStream(device, format("filling %zu words of device memory", words), [&](CUstream stream) {
    return cudaDriver().memsetD32Async(address(at), value, words, stream);
  });
}

void readDevice(const CudaDevice& device, const void* at, void* to, size_t bytes) {
  onOwnStream(device, format("reading %zu bytes of device memory", bytes), [&](CUstream stream) {
    return cudaDriver().memcpyDtoHAsync(to, address(at), bytes, stream);
  });
}

namespace {

/// Pages of this process's own; nullptr: the system has none.
void* ownPages(size_t bytes) {
  void* const pages =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

}  // namespace

/// The host looks at it whenever it likes, so it must not go with the context, which the
/// application may reset: memory of this process, which the driver is lent. Where that is not
/// possible the driver's own.
PinnedMemory::PinnedMemory(const CudaDevice& device, size_t bytes)
    : context_(device.context()), bytes_(bytes) {
  const CudaDriver& cu = cudaDriver();
  const ContextScope scope(context_);
  constexpr unsigned kShared = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP;
  host_ = ownPages(bytes);
  lent_ = host_ != nullptr && cu.memHostRegister(host_, bytes, kShared) == CUDA_SUCCESS;
  if (!lent_) {
    if (host_ != nullptr) munmap(host_, bytes);
    checkCuda(cu.memHostAlloc(&host_, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
              format("cuMemHostAlloc of %zu bytes", bytes));
    std::memset(host_, 0, bytes);
  }
  CUdeviceptr at = 0;
  const CUresult result = cu.memHostGetDevicePointer(&at, host_, 0);
  if (result != CUDA_SUCCESS) release();
  checkCuda(result, "cuMemHostGetDevicePointer");
  device_ = reinterpret_cast<void*>(at);
}

void PinnedMemory::release() {
  const ContextScope scope(context_);
  if (!lent_) {
    cudaDriver().memFreeHost(host_);
    return;
  }
  cudaDriver().memHostUnregister(host_);
  munmap(host_, bytes_);
}

PinnedMemory::~PinnedMemory() { release(); }

}  // namespace rondo

#endif  // HAVE_CUDA
