#pragma once
// Memory between two points of a stream: what is enqueued between them has it for itself.

#include <cstdint>

#include "base/error.h"
#include "coll/device_runner.h"

namespace rondo {

/// From `device`, which has allocate() and release() as FarDevice has; on the call's stream.
template <class Device>
class StreamMemory {
 public:
  StreamMemory(Device& device, const DeviceCall& call, uint64_t bytes)
      : device_(device), call_(call), memory_(device.allocate(call, bytes)) {}
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;
  ~StreamMemory() {
    try {
      device_.release(call_, memory_);
    } catch (const Error&) {  // the context is gone, and with it all memory
    }
  }
  void* get() const { return memory_; }

 private:
  Device& device_;
  const DeviceCall& call_;
  void* const memory_;
};

}  // namespace rondo
