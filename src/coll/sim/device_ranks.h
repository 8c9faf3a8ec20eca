#pragma once
// Ranks on a graph's GPUs, as the device planner knows them.

#include <vector>

#include "coll/device_planner.h"
#include "topo/graph.h"

namespace rondo::sim {

/// `gpus`: by rank, its node. Costs are those of the machine where they were measured, with stores
/// as much slower or quicker as these GPUs' narrowest way is. Kernels come close as in a job's only
/// communicator, by RONDO_DEPENDENT_LAUNCH. Throws Error(rondoUnsupported) for
/// GPUs of several hosts, rondoInvalidArgument for some that no way joins.
DeviceFacts deviceFactsOn(const topo::Graph& graph, const std::vector<int>& gpus);

}  // namespace rondo::sim
