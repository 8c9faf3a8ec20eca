#pragma once
// Rings over the places of one host.

#include <cstdint>
#include <vector>

#include "topo/paths.h"

namespace rondo::topo {

/// Cycles over indices 0 .. places.size() - 1, the best one first; each takes what the ones before
/// it have left of every link. Empty: there is none over these links.
std::vector<std::vector<int>> hostCycles(const Graph& graph, const std::vector<int>& places,
                                         unsigned kinds);

}  // namespace rondo::topo
