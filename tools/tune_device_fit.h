#pragma once
// Finds the costs with which the device planner's predictions come closest to measured times.

#include <functional>
#include <string_view>
#include <vector>

#include "coll/device_planner.h"

namespace rondo::tune {

/// A call in a graph that was timed, with a rule that leaves one kernel and its lanes to it. A
/// gather, a scatter and a message have only one, and no rule.
struct DeviceObservation {
  DeviceRequest request;
  DeviceFacts facts;  ///< Of the ranks that made it; its costs do not count.
  std::vector<TuneRule> rules;
  double picoseconds;
  bool heldOut = false;  ///< Takes no part in the fit: shows what it is worth.
  bool message = false;  ///< From rank 0 to 1, which answers; half of both. No collective.
};

/// What the planner predicts for the call if things cost `costs`; 0: nothing may run.
uint64_t predictionOf(const DeviceObservation& observation, const DeviceCosts& costs);

/// Of calls between hosts; all others are of kernels inside one.
inline bool isFarCost(const DeviceCostField& field) {
  return std::string_view(field.name).starts_with("far_");
}

struct DeviceFit {
  DeviceCosts costs;
  std::vector<bool> measured;  ///< By field: some call's time depends on it.
};
/// Predictions of all observations, if things cost `costs`.
using PredictByCosts = std::function<std::vector<double>(const DeviceCosts& costs)>;

/// As fitCosts(), of what the predictions depend on. A launch is kept as it is, and what it takes
/// less behind another: no call is without a flag too.
DeviceFit fitFields(const std::vector<double>& measured, const PredictByCosts& predictionsOf,
                    const DeviceCosts& prior);

/// fitFields() of kernels in graphs.
DeviceFit fitDeviceCosts(const std::vector<DeviceObservation>& observations,
                         const DeviceCosts& prior);

}  // namespace rondo::tune
