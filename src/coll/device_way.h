#pragma once
// How a call on device memory is served, small enough for a flight record.

#include <cstdint>

namespace rondo {

/// What moves its bytes: a kernel by one of three protocols, the copy engines between all ranks,
/// one copy (a rank by itself), calls on host memory (between hosts), kernels inside the hosts and
/// calls on host memory between them, the kernel of sends and receives, or one that stores into
/// windows.
enum class DeviceWay : uint8_t {
  kNone,
  kLL,
  kLL128,
  kSimple,
  kCopyEngines,
  kOneCopy,
  kHost,
  kLevels,
  kTransfers,
  kStores
};

struct DeviceServed {
  DeviceWay way = DeviceWay::kNone;
  uint32_t choice = 0xffff;  ///< As choiceOf() has it; 0xffff: no algorithm of the registry's.
};

}  // namespace rondo
