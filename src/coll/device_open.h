#pragma once
// What a rank makes of its device before it knows the others.

#include <memory>

#include "coll/device_budget.h"
#include "coll/device_lease.h"
#include "coll/device_runner.h"
#include "p2p/cuda_device.h"
#include "p2p/cuda_memory.h"

namespace rondo {

/// Host memory that kernels read and write: FaultWords, then what kernels that stand are told.
constexpr uint64_t kStandingDeskAt = 128;
constexpr uint64_t kHostWordsBytes = kStandingDeskAt + kStandingDeskBytes;
static_assert(sizeof(FaultWords) <= kStandingDeskAt);

struct OpenedDevice {
  std::unique_ptr<CudaDevice> device;
  std::unique_ptr<PinnedMemory> faults;  ///< kHostWordsBytes
  DeviceBudget budget;
};

/// The device that `config` asks for, its kernels loaded, and in `card` what the other ranks are
/// told of it; where that fails, the code and the sentence of why. Throws nothing.
OpenedDevice openDevice(const DeviceConfig& config, DeviceCard* card);

}  // namespace rondo
