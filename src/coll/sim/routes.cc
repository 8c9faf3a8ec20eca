#include "coll/sim/routes.h"

#include <limits>

#include "base/error.h"

namespace rondo::sim {

using topo::LinkKind;

Routes::Routes(const topo::Graph& graph, const std::vector<int>& places)
    : graph_(graph), places_(places), finder_(graph) {
  if (graph.arcs() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    throw Error(rondoInvalidArgument, "too many links");
  }
}

void Routes::throughMemory(int place, Route* route) const {
  for (const topo::Arc arc : graph_.from(place)) {
    if (graph_.link(arc / 2).kind != LinkKind::Memory) continue;
    route->arcs = {arc, arc ^ 1};
    route->latency = 2 * graph_.link(arc / 2).picoseconds;
    return;
  }
}

void Routes::overLinks(int from, int to, Route* route) {
  topo::Path path;
  const bool sameHost = graph_.node(from).host == graph_.node(to).host;
  const unsigned nvLink = topo::linkBit(LinkKind::NvLink);
  // A GPU's NVLinks are for its host; PCIe is taken where they do not lead.
  const bool found = (sameHost && finder_.find(from, to, &path, 0, nvLink)) ||
                     finder_.find(from, to, &path, 0, topo::kAllLinks);
  if (!found) {
    throw Error(rondoInvalidArgument,
                format("the machine is not joined: there is no way from %s to %s",
                       graph_.fullName(from).c_str(), graph_.fullName(to).c_str()));
  }
  route->arcs = path.arcs;
  route->latency = path.picoseconds;
  for (const topo::Arc arc : path.arcs) {
    route->network = route->network || graph_.link(arc / 2).kind == LinkKind::Network;
  }
}

int Routes::find(int from, int to) {
  const int a = places_[static_cast<size_t>(from)], b = places_[static_cast<size_t>(to)];
  const uint64_t key = static_cast<uint64_t>(a) << 32 | static_cast<uint32_t>(b);
  const auto [found, isNew] = known_.try_emplace(key, static_cast<int>(routes_.size()));
  if (!isNew) return found->second;
  Route route;
  route.ends = static_cast<uint64_t>(from) * places_.size() + static_cast<uint64_t>(to);
  if (a == b)
    throughMemory(a, &route);
  else
    overLinks(a, b, &route);
  routes_.push_back(std::move(route));
  return found->second;
}

}  // namespace rondo::sim
