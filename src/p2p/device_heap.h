#pragma once
// Memory of devices that programs have asked Rondo for. Needs no CUDA header.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace rondo {

/// This process's; from any thread.
class DeviceHeap {
 public:
  /// Never destroyed: the driver may be gone before.
  static DeviceHeap& own();

  /// `device`: an ordinal, or RONDO_DEVICE_AUTO for the calling thread's, or the first if it has
  /// none. `bytes` is not 0. Every device of the process that can reaches it. Throws Error:
  /// rondoUnsupported (no driver, no device), rondoInvalidArgument, rondoOutOfMemory,
  /// rondoUnhandledCudaError.
  void* allocate(int device, size_t bytes);

  /// Waits for the device, as cudaFree does. False if allocate() did not give this address.
  bool release(void* memory);

  /// Whether [data, data + bytes) is of one allocation that device `ordinal` may address.
  bool reaches(int ordinal, const void* data, uint64_t bytes) const;

 private:
  struct Allocation;
  mutable std::mutex mutex_;
  std::map<const unsigned char*, std::shared_ptr<Allocation>> allocations_;  ///< By address.
};

}  // namespace rondo
