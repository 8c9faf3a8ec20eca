#pragma once
// What a rank makes of its device before it knows the others.

#include <memory>

#include "coll/device_budget.h"
#include "coll/device_faults.h"
#include "coll/device_lease.h"
#include "coll/device_runner.h"
#include "p2p/cuda_device.h"
#include "p2p/cuda_memory.h"

namespace rondo {

struct OpenedDevice {
  std::unique_ptr<CudaDevice> device;
  std::unique_ptr<PinnedMemory> faults;  ///< DeviceFaults::kBytes
  DeviceBudget budget;
  bool launchesClose = false;
};

/// The device that `config` asks for, its kernels loaded, and in `card` what the other ranks are
/// told of it; where that fails, the code and the sentence of why. Throws nothing.
OpenedDevice openDevice(const DeviceConfig& config, DeviceCard* card);

}  // namespace rondo
