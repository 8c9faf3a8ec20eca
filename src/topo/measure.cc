#include "topo/measure.h"

#include <map>

#include "base/error.h"
#include "topo/measured_links.h"
#include "topo/memory_speed.h"
#include "topo/node_facts.h"
#include "topo/paths.h"
#include "topo/quantities.h"

namespace rondo::topo {
namespace {

constexpr unsigned kInside = kAllLinks & ~linkBit(LinkKind::Network);

/// The NUMA nodes of a CPU; their numbers are the kernel's.
std::vector<int> memoriesOf(const Graph& graph, int cpu) {
  std::vector<int> out;
  for (const Arc arc : graph.from(cpu)) {
    if (graph.link(arc / 2).kind == LinkKind::Memory) out.push_back(graph.target(arc));
  }
  return out;
}

std::string linkName(const Graph& graph, int index) {
  const Link& link = graph.link(index);
  return std::string(linkKindName(link.kind)) + " " + graph.node(link.a).name + " " +
         graph.node(link.b).name;
}

/// What reading over one link takes.
class MemoryLinks {
 public:
  explicit MemoryLinks(Graph& graph)
      : graph_(graph), bytes_(bytesToMeasure(readNodeFacts().l3Bytes)) {}

  void memory(int link, int numa) {
    const std::vector<int> cpus = cpusOfNuma(graph_.node(numa).numa);
    if (cpus.empty()) return leave(link, "this process may run on no core beside it");
    const MemorySpeed speed = measureMemory(cpus, cpus, bytes_);
    if (speed.bytesPerSecond == 0) return leave(link, "a thread could not be bound to its cores");
    near_[numa] = speed.picoseconds;
    graph_.setMeasuredBandwidth(link, fourDigits(speed.bytesPerSecond));
    graph_.setMeasuredLatency(link, fourDigits(speed.picoseconds / 2));
  }

  void socket(int link) {
    const std::vector<int> here = memoriesOf(graph_, graph_.link(link).a);
    const std::vector<int> there = memoriesOf(graph_, graph_.link(link).b);
    if (here.empty() || there.empty()) return leave(link, "an end of it has no memory");
    const std::vector<int> readers = cpusOfNuma(graph_.node(here[0]).numa);
    const std::vector<int> homes = cpusOfNuma(graph_.node(there[0]).numa);
    if (readers.empty() || homes.empty()) {
      return leave(link, "this process may run on no core at an end of it");
    }
    const MemorySpeed speed = measureMemory(readers, homes, bytes_);
    if (speed.bytesPerSecond == 0) return leave(link, "a thread could not be bound to its cores");
    const uint64_t near = near_[there[0]];
    graph_.setMeasuredBandwidth(link, fourDigits(speed.bytesPerSecond));
    const uint64_t more = speed.picoseconds > near ? speed.picoseconds - near : 0;
    graph_.setMeasuredLatency(link, fourDigits(more / 2));
  }

  std::vector<std::string> left;

 private:
  void leave(int link, const char* why) {
    left.push_back(linkName(graph_, link) + ": " + why + "; it stays as the machine says");
  }

  Graph& graph_;
  size_t bytes_;
  std::map<int, uint64_t> near_;  // a read of near memory, by its node
};

/// NVLinks alone, if they join the two; else whatever does.
void addPeers(const std::vector<int>& nodes, const GpuCopies& copies, WayTimes& ways) {
  for (size_t g = 0; g < nodes.size(); ++g) {
    for (size_t peer = 0; peer < nodes.size(); ++peer) {
      const uint64_t rate = copies.gpus[g].peers[peer];
      if (nodes[g] < 0 || nodes[peer] < 0 || rate == 0) continue;
      if (!ways.add(nodes[g], nodes[peer], rate, linkBit(LinkKind::NvLink))) {
        ways.add(nodes[g], nodes[peer], rate, kInside);
      }
    }
  }
}

}  // namespace

std::vector<std::string> measureMemoryLinks(Graph& graph, int host) {
  MemoryLinks links(graph);
  const auto ofHost = [&](const Link& link) { return graph.node(link.a).host == host; };
  for (const LinkKind kind : {LinkKind::Memory, LinkKind::Socket}) {  // sockets need the memories
    for (int i = 0; i < static_cast<int>(graph.links().size()); ++i) {
      const Link& link = graph.link(i);
      if (link.kind != kind || !ofHost(link)) continue;
      if (kind == LinkKind::Socket) {
        links.socket(i);
      } else {
        links.memory(i, graph.node(link.a).kind == NodeKind::Numa ? link.a : link.b);
      }
    }
  }
  return std::move(links.left);
}

std::vector<std::string> addGpuCopies(const GpuCopies& copies, Graph& graph, int host) {
  std::vector<std::string> left = copies.failures;
  std::map<std::string, int> known;
  for (const int gpu : graph.all(NodeKind::Gpu, host)) known[graph.node(gpu).busId] = gpu;
  WayTimes ways(graph);
  std::vector<int> nodes;
  PathFinder finder(graph);
  for (const GpuCopies::Gpu& gpu : copies.gpus) {
    const auto found = known.find(gpu.busId);
    nodes.push_back(found == known.end() ? -1 : found->second);
    if (found == known.end()) left.push_back("GPU " + gpu.busId + ": it is not in the graph");
    if (found == known.end() || gpu.host == 0) continue;
    int nearest = -1;
    size_t links = graph.links().size() + 1;
    for (const int cpu : graph.all(NodeKind::Cpu, host)) {
      Path path;
      if (!finder.find(cpu, found->second, &path, 0, kInside) || path.arcs.size() >= links)
        continue;
      nearest = cpu;
      links = path.arcs.size();
    }
    if (nearest >= 0) ways.add(nearest, found->second, gpu.host, kInside);
  }
  addPeers(nodes, copies, ways);
  return left;
}

}  // namespace rondo::topo
