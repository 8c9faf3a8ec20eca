#pragma once
// A machine on a terminal: a tree of what is below what, and a matrix of the ways between GPUs and
// NICs.

#include <string>

#include "topo/graph.h"

namespace rondo::topo {

/// One host as a tree by PCIe and memory, with each link's bandwidth; hosts alike are said once.
std::string treeText(const Graph& graph);

/// Ways between the GPUs (CPUs where there are none) and NICs of a host: NV (with the number of
/// links), C2C, PIX (one PCIe switch), PXB (several), PHB (the CPU), SYS (several CPUs), and their
/// bandwidth in GB/s.
std::string matrixText(const Graph& graph, int host);

}  // namespace rondo::topo
