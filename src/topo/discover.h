#pragma once
// This host as a graph: hwloc's view, NVML's NVLinks, and the RDMA ports that the kernel tells of.

#include <string>
#include <vector>

#include "topo/graph.h"
#include "topo/rdma_ports.h"

namespace rondo::topo {

/// A card's active ports give its NIC its rate and its name.
void addRdmaPorts(Graph& graph, int host, const std::vector<RdmaPort>& ports);

/// This host, whatever of it can be seen. Takes milliseconds to a second.
Graph discoverHost();

}  // namespace rondo::topo
