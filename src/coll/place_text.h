#pragma once
// Where a rank is that is waited for.

#include <string>

#include "coll/flight_view.h"

namespace rondo {

/// Since when a rank is in no call of `comm`, and what the kernel says of its process, which is of
/// this host; of one that is in a call only whether it is stopped there. May be empty.
std::string placeText(const FlightProcess& process, const FlightComm& comm, int64_t now);

/// The same for another host, which does not see its last call: that comes first.
std::string placeForFar(const FlightProcess& process, const FlightComm& comm, int64_t now);

}  // namespace rondo
