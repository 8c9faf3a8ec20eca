#pragma once
// rondo-tune --memory device: times kernels on the ranks' GPUs, and fits what they cost.

#include <cstdint>
#include <optional>

#include "tune_device_fit.h"

namespace rondo::tune {

/// The calls that are timed on such ranks: for every algorithm and protocol, sizes at which it
/// could be chosen, with the lanes that the planner would take by their costs and with half of
/// them; and gathers, scatters and messages. A fourth of them is held out of the fit.
std::vector<DeviceObservation> deviceTrials(const DeviceFacts& facts, uint64_t most);

/// The call by one algorithm and protocol, with so many lanes; 0: as many as the planner would give
/// it. Empty: nothing can follow such a rule, which is only a wish.
std::optional<DeviceObservation> trialBy(const DeviceRequest& request, const DeviceFacts& facts,
                                         const char* algorithm, Protocol protocol, int lanes);

/// What the ranks of MPI_COMM_WORLD choose by.
struct DeviceJob {
  DeviceFacts facts;
  std::string costs;  ///< Which.
};
/// By a new communicator. Throws Error(rondoInvalidArgument) where the ranks have no GPUs.
DeviceJob deviceJob();

/// As RONDO_TUNE: leaves the call's kernel and lanes to it, and says nothing of other sizes. Empty
/// where there is one kernel only.
std::string ruleOf(const DeviceObservation& trial);

/// Times them on new communicators over MPI_COMM_WORLD, on graphs of some calls each, for about so
/// many seconds; the same times on all ranks. Throws Error(rondoInvalidArgument) where the ranks
/// have no GPUs.
void timeOnDevices(std::vector<DeviceObservation>* trials, double seconds);

/// Prints calls with their predictions, errors before and after, and the costs.
void printDeviceFit(const std::vector<DeviceObservation>& trials, const DeviceCosts& before,
                    const DeviceFit& after);

}  // namespace rondo::tune
