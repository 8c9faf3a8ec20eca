#pragma once
// What generation a graph's GPUs are of.

#include "topo/graph.h"

namespace rondo::topo {

/// Of a GPU, 90 for 9.0: as it was read, or of the generation that has NVLinks of such bandwidth.
int capabilityOf(const Graph& graph, int gpu);

}  // namespace rondo::topo
