#include "coll/sim/job.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace rondo::sim {

Parts::Parts(std::vector<std::vector<int>> all) : members(std::move(all)) {
  size_t ranks = 0;
  for (const std::vector<int>& part : members) ranks += part.size();
  of.resize(ranks);
  number.resize(ranks);
  for (size_t p = 0; p < members.size(); ++p) {
    for (size_t i = 0; i < members[p].size(); ++i) {
      of.at(static_cast<size_t>(members[p][i])) = static_cast<int>(p);
      number.at(static_cast<size_t>(members[p][i])) = static_cast<int>(i);
    }
  }
}

Costs hostCosts(const HostCosts& costs) {
  Costs out;
  out.hop = costs.hop;
  out.signalHop = costs.hop;
  out.step = costs.step;
  out.message = costs.message;
  out.copyPerKiB = costs.copyPerKiB;
  out.reducePerKiB = costs.reducePerKiB;
  out.handOnPerKiB = costs.handOnPerKiB;
  // A message over UCX is not a store: a round of its progress and of the card's doorbell on each
  // side. An assumption, until there are several hosts to measure.
  out.networkHop = 1'500'000;
  out.oneThread = true;
  return out;
}

Costs deviceCosts() {
  Costs out;
  out.launch = 900'000;
  // A ring's hop took 3.9 us there, and data through a window 2.2 us; 0.5 us of them are NVLink's.
  out.hop = 3'400'000;
  out.signalHop = 1'700'000;
  out.networkHop = 1'500'000;
  // 335 of 450 GB/s.
  out.nvLinkPercent = 74;
  return out;
}

std::vector<int> placeRanks(const topo::Graph& graph, int ranks) {
  using topo::NodeKind;
  const bool gpus = !graph.all(NodeKind::Gpu).empty();
  std::vector<int> places;
  for (size_t h = 0; h < graph.hosts().size(); ++h) {
    for (const int node : graph.all(gpus ? NodeKind::Gpu : NodeKind::Cpu, static_cast<int>(h))) {
      const int each = gpus ? 1 : std::max(graph.node(node).cores, 1);
      if (places.size() > static_cast<size_t>(kMostPlaces)) break;  // nobody asks for so many
      places.insert(places.end(), static_cast<size_t>(each), node);
    }
  }
  if (ranks < 1 || ranks > kMostPlaces || static_cast<size_t>(ranks) > places.size()) {
    throw Error(rondoInvalidArgument,
                format("%d ranks; allowed on this machine: 1 to %zu, one on each %s", ranks,
                       std::min<size_t>(places.size(), kMostPlaces), gpus ? "GPU" : "core"));
  }
  places.resize(static_cast<size_t>(ranks));
  return places;
}

std::vector<int> hostsOf(const topo::Graph& graph, const std::vector<int>& places) {
  std::vector<int> out;
  for (const int place : places) out.push_back(graph.node(place).host);
  return out;
}

void checkEnded(const Result& result) {
  constexpr size_t kShown = 64;
  if (result.blocked.empty()) return;
  std::string text = format("deadlock: %zu lanes of ranks cannot go on", result.blocked.size());
  for (size_t i = 0; i < std::min(kShown, result.blocked.size()); ++i) {
    text += "\n" + result.blocked[i];
  }
  throw Error(rondoInternalError, text);
}

}  // namespace rondo::sim
