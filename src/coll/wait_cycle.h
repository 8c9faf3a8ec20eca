#pragma once
// Ranks that wait for each other in different calls.

#include <string>
#include <vector>

#include "coll/wait_links.h"

namespace rondo {

/// The cycle of waits that `rank` of communicator `id` is part of: each waits in a call, which
/// blocks its caller, for one that waits in another, on the same communicator or not. By what the
/// `near` processes have written down and were told of the processes of other hosts, and what
/// `far` ones have called (see waitLinks()). "" if there is none. A process with several threads
/// may yet make the call that is waited for in another one.
std::string waitCycleText(const std::vector<FlightProcess>& near,
                          const std::vector<FlightProcess>& far, uint64_t id, int rank);

}  // namespace rondo
