#pragma once
// Device memory of a communicator that spans hosts of one size, in levels: kernels inside the
// hosts, host memory between them; sends and receives each by the way to their peer.

#include <memory>

#include "coll/far_runner.h"
#include "coll/levels_choice.h"
#include "coll/levels_layout.h"

namespace rondo {

/// `near`: this host's ranks, as createDeviceRunner() made it for them; `far` has rails. What does
/// not go in levels is `far`'s. `config`: of the communicator.
std::unique_ptr<DeviceRunner> createLevelsRunner(std::unique_ptr<DeviceRunner> near,
                                                 std::unique_ptr<FarRunner> far,
                                                 const LevelsLayout& layout, const NearTimes& times,
                                                 const DeviceConfig& config);

}  // namespace rondo
