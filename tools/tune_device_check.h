#pragma once
// rondo-tune --memory device --check: what choices among a host's kernels are worth.

#include <cstdint>
#include <vector>

#include "tune_device_fit.h"

namespace rondo::tune {

/// Of each collective, at every power of two from 8 bytes to `most`: first what the planner
/// chooses, then the other ways that are predicted to take no more than kWorthALook times as long:
/// every algorithm and protocol, with the lanes that the planner would give it, and what is chosen
/// with half and twice as many. Calls that go as sends and receives are not among them.
std::vector<DeviceObservation> deviceCheckTrials(const DeviceFacts& facts, uint64_t most);
constexpr uint64_t kWorthALook = 3;

/// A call whose ways were timed, all but those that took 0.
struct DeviceWays {
  const DeviceObservation *chosen, *best;

  /// The time of the way that is chosen over that of the quickest.
  double ratio() const { return chosen->picoseconds / best->picoseconds; }
};
/// Of trials in that order; pointers into them.
std::vector<DeviceWays> waysOf(const std::vector<DeviceObservation>& trials);

/// Prints each call, what is chosen, its time and prediction, the best way and the ratio, and what
/// choices are worth by collective.
void printDeviceCheck(const std::vector<DeviceObservation>& trials);

}  // namespace rondo::tune
