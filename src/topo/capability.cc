#include "topo/capability.h"

#include "topo/quantities.h"

namespace rondo::topo {

int capabilityOf(const Graph& graph, int gpu) {
  uint64_t known = 0;
  const Node& node = graph.node(gpu);
  if (node.model.starts_with("sm") && parseWhole(node.model.substr(2), 10, 999, &known)) {
    return static_cast<int>(known);
  }
  uint64_t bytesPerSecond = 0;
  for (const Arc arc : graph.from(gpu)) {
    const Link& link = graph.link(arc / 2);
    if (link.kind == LinkKind::NvLink) bytesPerSecond += link.bytesPerSecond;
  }
  // 300, 450 and 900 GB/s.
  if (bytesPerSecond > 600'000'000'000) return 100;
  return bytesPerSecond > 400'000'000'000 ? 90 : 80;
}

}  // namespace rondo::topo
