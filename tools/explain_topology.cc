#include "explain_topology.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/error.h"
#include "topo/load.h"
#include "topo/paths.h"

namespace rondo {
namespace {

using topo::NodeKind;

/// The CPU of its host that is nearest to a GPU.
int cpuOf(const topo::Graph& graph, topo::PathFinder& finder, int gpu) {
  int nearest = -1;
  topo::Path best, path;
  for (const int cpu : graph.all(NodeKind::Cpu, graph.node(gpu).host)) {
    if (!finder.find(gpu, cpu, &path)) continue;
    if (nearest >= 0 && path.arcs.size() >= best.arcs.size()) continue;
    nearest = cpu;
    best = path;
  }
  if (nearest < 0) {
    throw Error(
        rondoInvalidArgument,
        graph.fullName(gpu) + " hangs on no CPU; allowed: GPUs that reach one of their host");
  }
  return nearest;
}

/// By rank: its CPU.
std::vector<int> cpusOf(const topo::Graph& graph, int ranks) {
  std::vector<int> out;
  const std::vector<int> gpus = graph.all(NodeKind::Gpu);
  if (static_cast<size_t>(ranks) <= gpus.size()) {
    topo::PathFinder finder(graph);
    for (int r = 0; r < ranks; ++r) {
      out.push_back(cpuOf(graph, finder, gpus[static_cast<size_t>(r)]));
    }
    return out;
  }
  for (size_t host = 0; host < graph.hosts().size(); ++host) {
    for (const int cpu : graph.all(NodeKind::Cpu, static_cast<int>(host))) {
      const int cores = std::max(graph.node(cpu).cores, 1);
      for (int c = 0; c < cores && out.size() < static_cast<size_t>(ranks); ++c) out.push_back(cpu);
    }
  }
  if (out.size() < static_cast<size_t>(ranks)) {
    throw Error(rondoInvalidArgument,
                format("--ranks is %d; allowed on this machine: 1 to %zu, one on each core", ranks,
                       out.size()));
  }
  return out;
}

}  // namespace

void placeOnTopology(const std::string& topology, CommFacts* facts) {
  const topo::Loaded loaded = topo::loadTopology(topology);
  for (const std::string& warning : loaded.warnings) {
    std::fprintf(stderr, "rondo-explain: %s\n", warning.c_str());
  }
  const topo::Graph& graph = loaded.graph;
  const std::vector<int> cpus = cpusOf(graph, facts->ranks);
  std::vector<int> hosts;
  std::map<int, int> ranksOf;
  for (const int cpu : cpus) {
    hosts.push_back(graph.node(cpu).host);
    facts->localRanks = std::max(facts->localRanks, ++ranksOf[hosts.back()]);
  }
  int cores = 0;
  for (const int cpu : graph.all(NodeKind::Cpu, hosts.front())) {
    cores += std::max(graph.node(cpu).cores, 1);
  }
  facts->cpus = static_cast<uint32_t>(std::max(cores, 1));
  std::vector<Seat> seats;
  for (const int cpu : cpus) seats.push_back({graph.node(cpu).host, cpu, true});
  facts->links = linkFactsOf(graph, seats);
  facts->links.acrossHosts = ranksOf.size() > 1;
  // As when ranks are bound: groups count where one of them has several ranks.
  const RankGroups near(cpus);
  if (ranksOf.size() > 1) {
    facts->groups = RankGroups(hosts);
  } else if (near.layered()) {
    facts->groups = near;
  }
}

}  // namespace rondo
