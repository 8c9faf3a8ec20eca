#pragma once
// Measures the links of this host that copies can reach.

#include <functional>
#include <string>
#include <vector>

#include "topo/gpu_copies.h"
#include "topo/graph.h"

namespace rondo::topo {

/// What was measured gets into links of `graph` (WayTimes); returned is what could not be, and why,
/// a sentence each. Memory and sockets, by reading: bandwidth of all processing units that this
/// process may run on, and half of what a dependent read takes as the latency. Seconds.
std::vector<std::string> measureMemoryLinks(Graph& graph, int host);

/// By copies of GPUs, whose latencies stay: a copy's start takes longer than any link.
std::vector<std::string> addGpuCopies(const GpuCopies& copies, Graph& graph, int host);

}  // namespace rondo::topo
