#pragma once
// What the device planner and the kernels need of a call.

#include <vector>

#include "coll/device_planner.h"
#include "coll/device_runner.h"
#include "coll/exchange.h"

namespace rondo {

/// What is asked of the planner. Premultiplied sums of the usual types multiply on their way in.
DeviceRequest requestOf(const DeviceCall& call, int ranks);

/// Gathers and scatters: no kernel of the registry's algorithms has them.
constexpr bool becomesTransfers(Collective collective) {
  return collective == Collective::Gather || collective == Collective::Scatter;
}

/// What one of those, or an all-to-all that is not in place, is as sends and receives of `rank`:
/// nothing else is left in `transfers`.
void asTransfers(const DeviceCall& call, int rank, int size, std::vector<Transfer>* transfers);

/// Throws Error for an operator that no kernel has, and for addresses between elements.
void checkDeviceCall(const DeviceCall& call, int rank);

}  // namespace rondo
