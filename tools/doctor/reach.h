#pragma once
// Whether the hosts of a job reach each other over TCP.

#include "doctor/job.h"
#include "doctor/report.h"

namespace rondo::doctor {

/// The first rank of each host listens, as ranks that join by id do, and connects to all others.
/// Collective. `ranks` gets what was found.
void tryReach(const Job& job, std::vector<Facts>* ranks);

}  // namespace rondo::doctor
