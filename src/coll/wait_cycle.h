#pragma once
// Ranks that wait for each other in different calls.

#include <string>
#include <vector>

#include "coll/flight_view.h"

namespace rondo {

/// The cycle of waits that `rank` of communicator `id` is part of, by what the `near` processes
/// have written down and the `far` ones have told (FarCalls): each waits in a call, which blocks
/// its caller, for one that waits in another, on the same communicator or not. Collectives, and
/// sends and receives of near ranks. "" if there is none. A process with several threads may yet
/// make the call that is waited for in another one.
std::string waitCycleText(const std::vector<FlightProcess>& near,
                          const std::vector<FlightProcess>& far, uint64_t id, int rank);

}  // namespace rondo
