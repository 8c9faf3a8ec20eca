#pragma once
// What would run for a collective and size, as a table.

#include <string>

#include "coll/sim/rehearsal.h"

namespace rondo::sim {

/// The protocol that carries an algorithm's messages: LL or Simple on devices, shared memory or
/// the network on hosts.
const char* protocolOf(const Rehearsal& on, const Algorithm& algorithm);

/// Steps that a rank takes in a whole call, all channels together; of rank 0.
uint64_t stepsOfRank(const Rehearsal& on, const Algorithm& algorithm,
                     const algo::Geometry& geometry, int root);

std::string choicesHead();
/// Collective, bytes, algorithm, protocol, channels, chunk, steps, predicted time, bus bandwidth.
std::string choiceLine(Rehearsal& on, const CallShape& call);

}  // namespace rondo::sim
