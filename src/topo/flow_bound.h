#pragma once
// What a graph allows at most, whatever the algorithm: its narrowest cut.

#include <cstdint>
#include <vector>

#include "topo/graph.h"
#include "topo/paths.h"

namespace rondo::topo {

/// The greatest flow from one node to another; data may pass through GPUs too, which may hand on
/// what they get. Source: Dinic, "Algorithm for solution of a problem of maximum flow", 1970.
uint64_t maxFlow(const Graph& graph, int from, int to, unsigned kinds = kAllLinks);

/// The least of the greatest flows between any two of the places: no set of rings, each of which
/// visits them all, has more bandwidth together. In a graph whose links are as fast both ways it is
/// enough to look from one of them.
uint64_t flowBound(const Graph& graph, const std::vector<int>& places, unsigned kinds = kAllLinks);

}  // namespace rondo::topo
