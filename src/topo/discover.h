#pragma once
// This host as a graph: hwloc's view, NVML's NVLinks, and the RDMA ports that the kernel tells of.

#include <string>
#include <vector>

#include "topo/graph.h"
#include "topo/rdma_ports.h"

namespace rondo::topo {

/// A card's active ports give its NIC its rate and its name.
void addRdmaPorts(Graph& graph, int host, const std::vector<RdmaPort>& ports);

/// This host, as it describes itself: whatever can be seen of it. Takes milliseconds to a second.
Graph describeHost();

/// describeHost(), and what was measured of its links (rondo-topo --measure), which holds. To
/// `warnings` goes what is to be said about that, a sentence each.
Graph discoverHost(std::vector<std::string>* warnings);

/// Measures the links of describeHost() that copies can reach. To `left` goes what could not be
/// measured, a sentence each. Takes seconds, and disturbs what else runs.
Graph measureHost(std::vector<std::string>* left);

/// Where jobs look for what was measured first. Written as a file of graph_xml.h.
std::string measuredLinksPath();

}  // namespace rondo::topo
