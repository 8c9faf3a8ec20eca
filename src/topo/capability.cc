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
    if (link.kind != LinkKind::NvLink) continue;
    // One link of 25 GB/s, or of 50: however many of them there are.
    const auto count = static_cast<uint64_t>(link.count);
    if (count > 1 && link.bytesPerSecond / count > 30'000'000'000) return 100;
    bytesPerSecond += link.bytesPerSecond;
  }
  // 300, 450 and 900 GB/s.
  if (bytesPerSecond > 600'000'000'000) return 100;
  return bytesPerSecond > 400'000'000'000 ? 90 : 80;
}

}  // namespace rondo::topo
