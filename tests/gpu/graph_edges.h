#pragma once
// What a graph's edges are.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "gpu/rank_env.h"

namespace rondo::test {

/// How many of them let a kernel come close behind another one.
inline size_t programmaticEdges(cudaGraph_t graph) {
#if CUDART_VERSION >= 12030
#if CUDART_VERSION >= 13000
  const auto get = cudaGraphGetEdges;
#else
  const auto get = cudaGraphGetEdges_v2;
#endif
  size_t count = 0;
  cuda(get(graph, nullptr, nullptr, nullptr, &count), "how many edges");
  std::vector<cudaGraphNode_t> from(count), to(count);
  std::vector<cudaGraphEdgeData> data(count);
  cuda(get(graph, from.data(), to.data(), data.data(), &count), "edges");
  return static_cast<size_t>(std::count_if(data.begin(), data.end(), [](const auto& edge) {
    return edge.type == cudaGraphDependencyTypeProgrammatic;
  }));
#else
  static_cast<void>(graph);
  return 0;
#endif
}

}  // namespace rondo::test
