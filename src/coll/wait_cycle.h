#pragma once
// Ranks that wait for each other in calls on different communicators.

#include <string>
#include <vector>

#include "coll/flight_view.h"

namespace rondo {

/// The cycle of waits that `rank` of communicator `id` is part of, by what the processes have
/// written down: each waits in a collective call, which blocks its caller, for one that waits in
/// such a call on another communicator. "" if there is none. A process with several threads may yet
/// make the call that is waited for in another one.
std::string waitCycleText(const std::vector<FlightProcess>& processes, uint64_t id, int rank);

}  // namespace rondo
