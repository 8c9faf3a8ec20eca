#pragma once
// What the device planner and the kernels need of a call.

#include "coll/device_planner.h"
#include "coll/device_runner.h"

namespace rondo {

/// What is asked of the planner. Premultiplied sums of the usual types multiply on their way in.
DeviceRequest requestOf(const DeviceCall& call, int ranks);

/// Throws Error for an operator that no kernel has, and for addresses between elements.
void checkDeviceCall(const DeviceCall& call, int rank);

}  // namespace rondo
