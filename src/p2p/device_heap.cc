#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "p2p/device_heap.h"

#include "api/rondo_types.h"
#include "base/error.h"

#ifdef HAVE_CUDA

#include <optional>

#include "p2p/cuda_device.h"
#include "p2p/cuda_memory.h"

namespace rondo {

struct DeviceHeap::Allocation {
  CudaDevice device;  // keeps its context
  std::shared_ptr<DeviceMemory> memory;
};

namespace {

CudaDevice openFor(int device) {
  try {
    return CudaDevice::open(device, 0);
  } catch (const Error& error) {
    if (error.code() != rondoInvalidArgument) throw;
    throw Error(rondoInvalidArgument,
                format("argument device is %d: %s, RONDO_DEVICE_AUTO (%d) or RONDO_DEVICE_NONE "
                       "(%d)",
                       device, error.what(), RONDO_DEVICE_AUTO, RONDO_DEVICE_NONE));
  }
}

}  // namespace

DeviceHeap& DeviceHeap::own() {
  static DeviceHeap& heap = *new DeviceHeap;
  return heap;
}

void* DeviceHeap::allocate(int device, size_t bytes) {
  CudaDevice opened = openFor(device);
  const CapturesAlone alone;
  std::shared_ptr<DeviceMemory> memory;
  try {
    memory = allocateForCaller(opened, bytes);
  } catch (const Error& error) {
    if (error.code() != rondoOutOfMemory) throw;
    throw Error(rondoOutOfMemory,
                format("argument bytes is %zu: %s; allowed: what device %d has free, or less",
                       bytes, error.what(), opened.ordinal()));
  }
  memory->allowAll(opened);
  unsigned char* const at = memory->data();
  noteDeviceMemory(at, bytes);
  auto entry = std::make_shared<Allocation>(Allocation{std::move(opened), std::move(memory)});
  const std::lock_guard<std::mutex> lock(mutex_);
  allocations_[at] = std::move(entry);
  return at;
}

bool DeviceHeap::release(void* memory) {
  std::optional<CapturesAlone> alone;  // once it is known that there is a driver
  std::shared_ptr<Allocation> entry;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = allocations_.find(static_cast<unsigned char*>(memory));
    if (found == allocations_.end()) return false;
    entry = std::move(found->second);
    allocations_.erase(found);
  }
  alone.emplace();
  try {
    entry->device.synchronize();  // what is unmapped under a kernel ends the context
  } catch (const Error&) {        // which is gone already
  }
  return true;
}

bool DeviceHeap::reaches(int ordinal, const void* data, uint64_t bytes) const {
  const auto* const begin = static_cast<const unsigned char*>(data);
  const std::lock_guard<std::mutex> lock(mutex_);
  auto at = allocations_.upper_bound(begin);
  if (at == allocations_.begin()) return false;
  const DeviceMemory& memory = *(--at)->second->memory;
  const auto offset = static_cast<uint64_t>(begin - memory.data());
  return offset < memory.bytes() && bytes <= memory.bytes() - offset && memory.allowed(ordinal);
}

}  // namespace rondo

#else

namespace rondo {

struct DeviceHeap::Allocation {};

DeviceHeap& DeviceHeap::own() {
  static DeviceHeap& heap = *new DeviceHeap;
  return heap;
}

void* DeviceHeap::allocate(int, size_t) {
  throw Error(rondoUnsupported, "this build of Rondo has no CUDA");
}

bool DeviceHeap::release(void*) { return false; }

bool DeviceHeap::reaches(int, const void*, uint64_t) const { return false; }

}  // namespace rondo

#endif  // HAVE_CUDA
