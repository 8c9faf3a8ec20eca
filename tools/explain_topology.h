#pragma once
// What the planner would know of ranks on a machine that is given as a graph.

#include <string>

#include "coll/facts.h"

namespace rondo {

/// Sets ranks' places: which share a host, and in it a CPU, and what lies between; how many
/// processing units a host has. setCosts() must follow.
/// Ranks sit on the CPUs of the GPUs, host by host, where there are enough of these, else on cores.
/// `topology` is a file or a description; warnings go to stderr. Throws Error for what
/// loadTopology() refuses, and for more ranks than cores.
void placeOnTopology(const std::string& topology, CommFacts* facts);

}  // namespace rondo
