#pragma once
// Who waits for whom, in calls that hold their callers.

#include <vector>

#include "coll/flight_view.h"

namespace rondo {

/// As other processes know `process`.
uint64_t keyOf(const FlightProcess& process);

/// Nobody can leave it before everybody has entered it.
bool needsAll(const OpFacts& facts);

/// What the `near` processes wait in by what they have written down, `seen` at `now`; then what
/// they know of others. Whom a collective of several hosts waits for tells `far` (FarCalls), of
/// this process's communicators; what the others do not wait in any more is left out.
std::vector<WaitNote> waitLinks(const std::vector<FlightProcess>& near,
                                const std::vector<FlightProcess>& far, int64_t now);

}  // namespace rondo
