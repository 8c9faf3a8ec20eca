#pragma once
// Recorded operations as a trace that Perfetto (ui.perfetto.dev) and chrome://tracing show.

#include <string>
#include <vector>

#include "coll/flight_view.h"

namespace rondo {

/// JSON: a process for each process, a track for each communicator of it (and one for its device
/// calls), on one time line. `why`: goes with it; may be empty.
std::string flightTrace(const std::vector<FlightProcess>& processes, const std::string& why);

/// Writes the trace of readNearFlights() to RONDO_RECORD's `file`, all of it or nothing; "" is
/// none. What goes wrong is logged. `why`: the error that is the cause.
void dumpFlights(const std::string& file, const std::string& why) noexcept;

}  // namespace rondo
