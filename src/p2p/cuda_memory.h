#pragma once
// Memory of devices that other ranks of the node map, and host memory that a kernel writes. Needs
// no CUDA header.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "p2p/cuda_device.h"
#include "p2p/fd_exchange.h"

namespace rondo {

/// A legacy CUDA IPC handle, as bytes.
using CudaIpcHandle = std::array<char, 64>;

/// A mapping of device memory: this rank's own, or a peer's. Freed with its last owner; memory
/// that another process has imported lives on there.
class DeviceMemory {
 public:
  /// kHost: pages of the host, which every device reaches.
  enum class Sharing : uint8_t { kDescriptor, kLegacyIpc, kHost };

  virtual ~DeviceMemory() = default;
  unsigned char* data() const { return data_; }
  size_t bytes() const { return bytes_; }

  /// Own memory only. A descriptor, or a handle, that a peer process can import.
  virtual UniqueFd exportDescriptor() const;
  virtual CudaIpcHandle exportIpc() const;
  /// Makes the memory reachable from another device of this process.
  virtual void allow(const CudaDevice& device);
  /// The same of every device of `owner.reachedBy()`, without a context on it; a device that the
  /// driver refuses is left out.
  virtual void allowAll(const CudaDevice& owner);
  /// Whether device `ordinal` of this process may address it.
  virtual bool allowed(int ordinal) const;

 protected:
  unsigned char* data_ = nullptr;
  size_t bytes_ = 0;
};

/// Zeroed memory on `device`; at least `bytes`, rounded up as the driver wants it.
std::shared_ptr<DeviceMemory> allocateDevice(const CudaDevice& device, size_t bytes,
                                             DeviceMemory::Sharing sharing);
/// Memory of whatever contents for the caller's buffers: one whose descriptor can be exported, or
/// cuMemAlloc's where the driver has no such. Throws Error: rondoOutOfMemory,
/// rondoUnhandledCudaError.
std::shared_ptr<DeviceMemory> allocateForCaller(const CudaDevice& device, size_t bytes);
/// Maps a peer process's memory for use by `device`. `bytes` is what the peer's bytes() says.
std::shared_ptr<DeviceMemory> importDescriptor(const CudaDevice& device, const UniqueFd& fd,
                                               size_t bytes);
/// The same of pages of the host.
std::shared_ptr<DeviceMemory> importHostPages(const CudaDevice& device, const UniqueFd& fd,
                                              size_t bytes);
std::shared_ptr<DeviceMemory> importIpc(const CudaDevice& device, const CudaIpcHandle& handle,
                                        size_t bytes);

/// Sets `words` 32-bit words of device memory and waits for it, on a stream of its own, so that
/// kernels that run meanwhile are not waited for.
void fillDevice(const CudaDevice& device, void* at, uint32_t value, size_t words);

/// Copies device memory to the host and waits for it, in the same way.
void readDevice(const CudaDevice& device, const void* at, void* to, size_t bytes);

/// Zeroed, page-locked host memory that kernels of `device` can address.
class PinnedMemory {
 public:
  PinnedMemory(const CudaDevice& device, size_t bytes);
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory();
  void* host() const { return host_; }
  void* device() const { return device_; }

 private:
  void release();

  CUctx_st* context_;
  size_t bytes_;
  bool lent_ = false;  // memory of this process, which outlives the context
  void* host_ = nullptr;
  void* device_ = nullptr;
};

}  // namespace rondo
