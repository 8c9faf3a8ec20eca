#include "topo/host_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "base/error.h"
#include "topo/host_rings.h"

namespace rondo::topo {
namespace {

size_t at(int i) { return static_cast<size_t>(i); }

std::vector<int> placesOfHost(const Graph& graph, int host) {
  std::vector<int> gpus = graph.all(NodeKind::Gpu, host);
  return gpus.empty() ? graph.all(NodeKind::Cpu, host) : gpus;
}

/// What a host looks like from inside: equal hosts are searched once.
std::string shapeOf(const Graph& graph, int host, const std::vector<int>& nodes) {
  std::map<int, size_t> numbers;
  std::string out;
  for (const int node : nodes) {
    numbers.emplace(node, numbers.size());
    out += static_cast<char>('a' + static_cast<int>(graph.node(node).kind));
  }
  for (const int node : nodes) {
    for (const Arc arc : graph.from(node)) {
      const int other = graph.target(arc);
      if (graph.node(other).host != host || (arc & 1) != 0) continue;
      const Link& link = graph.link(arc / 2);
      out +=
          format(" %zu-%zu:%d:%llu:%llu", numbers[node], numbers[other],
                 static_cast<int>(link.kind), static_cast<unsigned long long>(link.bytesPerSecond),
                 static_cast<unsigned long long>(link.picoseconds));
    }
  }
  return out;
}

uint64_t distance(const Graph& own, int from, int to) {
  Path path;
  if (!PathFinder(own).find(from, to, &path)) return std::numeric_limits<uint32_t>::max();
  return path.arcs.size();
}

/// A ring leaves at the place before the one it came in at, by the nearest NIC that is left.
void chooseWaysOut(const Graph& own, const HostPlan& host, const std::vector<int>& places,
                   std::vector<Door>* doors) {
  const std::vector<int> nics = own.all(NodeKind::Nic, 0);
  std::vector<bool> used(nics.size());
  for (size_t c = 0; c < doors->size(); ++c) {
    Door& door = (*doors)[c];
    const std::vector<int>& cycle = host.cycles[c % host.cycles.size()];
    const auto here = std::find(cycle.begin(), cycle.end(), door.place);
    const int last = here == cycle.begin() ? cycle.back() : *(here - 1);
    uint64_t best = std::numeric_limits<uint64_t>::max();
    for (size_t n = 0; n < nics.size(); ++n) {
      const uint64_t far = used[n] ? best : distance(own, places[at(last)], nics[n]);
      if (far >= best) continue;
      best = far;
      door.nicOut = static_cast<int>(n);
    }
    used[at(door.nicOut)] = true;
  }
}

/// Each NIC is used by a place near it; places take turns.
std::vector<Door> doorsOf(const Graph& own, const HostPlan& host, const std::vector<int>& places) {
  std::vector<Door> doors;
  std::vector<int> taken(places.size());
  const std::vector<int> nics = own.all(NodeKind::Nic, 0);
  for (size_t n = 0; n < nics.size(); ++n) {
    std::vector<uint64_t> best;
    Door door{static_cast<int>(n), 0};
    for (size_t p = 0; p < places.size(); ++p) {
      const size_t wanted = n * places.size() / nics.size();
      const std::vector<uint64_t> key{static_cast<uint64_t>(taken[p]),
                                      distance(own, places[p], nics[n]),
                                      p > wanted ? p - wanted : wanted - p};
      if (!best.empty() && key >= best) continue;
      best = key;
      door.place = static_cast<int>(p);
    }
    ++taken[at(door.place)];
    doors.push_back(door);
  }
  chooseWaysOut(own, host, places, &doors);
  return doors;
}

class Planner {
 public:
  explicit Planner(const Graph& graph) : graph_(graph) {}

  std::vector<HostPlan> run(unsigned* kinds) {
    collectHosts();
    kinds_ = linkBit(LinkKind::NvLink);
    if (!search()) {
      kinds_ = kInsideHost;
      if (!search()) refuseApart();
    }
    *kinds = kinds_;
    return std::move(hosts_);
  }

 private:
  void collectHosts() {
    for (size_t h = 0; h < graph_.hosts().size(); ++h) {
      HostPlan host;
      host.places = placesOfHost(graph_, static_cast<int>(h));
      if (host.places.empty()) continue;
      const size_t nics = graph_.all(NodeKind::Nic, static_cast<int>(h)).size();
      if (host.places.size() > kMostHostPlaces || nics > kMostHostNics) {
        throw Error(
            rondoInvalidArgument,
            format("%s has %zu %ss and %zu nics; rings are searched in hosts of up to %zu and "
                   "%zu",
                   graph_.hosts()[h].c_str(), host.places.size(),
                   nodeKindName(graph_.node(host.places[0]).kind), nics, kMostHostPlaces,
                   kMostHostNics));
      }
      hosts_.push_back(std::move(host));
    }
  }

  /// False: a host has no ring over these links.
  bool search() {
    std::map<std::string, const HostPlan*> known;
    std::vector<std::vector<int>> nodes(graph_.hosts().size());
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      const int host = graph_.nodes()[n].host;
      if (host >= 0) nodes[at(host)].push_back(static_cast<int>(n));
    }
    for (HostPlan& host : hosts_) {
      const int number = graph_.node(host.places[0]).host;
      const std::string shape = shapeOf(graph_, number, nodes[at(number)]);
      const auto [found, isNew] = known.try_emplace(shape, &host);
      if (!isNew) {
        host.cycles = found->second->cycles;
        host.doors = found->second->doors;
        continue;
      }
      // Searched in a graph of its own: a cluster's would make every array long.
      planHost(&host, nodes[at(number)]);
      if (host.cycles.empty()) return false;
    }
    return true;
  }

  [[noreturn]] void refuseApart() {
    for (const HostPlan& host : hosts_) {
      if (!host.cycles.empty()) continue;
      throw Error(rondoInvalidArgument,
                  format("%s is not joined: no ring leads through all of its %zu %ss",
                         graph_.hosts()[at(graph_.node(host.places[0]).host)].c_str(),
                         host.places.size(), nodeKindName(graph_.node(host.places[0]).kind)));
    }
    throw Error(rondoInternalError, "a host without a ring cannot be found again");
  }

  void planHost(HostPlan* host, const std::vector<int>& nodes) {
    Graph own;
    own.addHost("host");
    std::map<int, int> numbers;
    for (const int node : nodes) {
      Node copy = graph_.node(node);
      copy.host = 0;
      numbers[node] = own.addNode(copy);
    }
    for (const int node : nodes) {
      for (const Arc arc : graph_.from(node)) {
        if ((arc & 1) != 0 || numbers.count(graph_.target(arc)) == 0) continue;
        Link link = graph_.link(arc / 2);
        link.a = numbers[link.a];
        link.b = numbers[link.b];
        own.addLink(link);
      }
    }
    std::vector<int> places;
    for (const int place : host->places) places.push_back(numbers[place]);
    host->cycles = hostCycles(own, places, kinds_);
    if (!host->cycles.empty()) host->doors = doorsOf(own, *host, places);
  }

  const Graph& graph_;
  unsigned kinds_ = kAllLinks;
  std::vector<HostPlan> hosts_;
};

}  // namespace

std::vector<HostPlan> planHosts(const Graph& graph, unsigned* kinds) {
  return Planner(graph).run(kinds);
}

}  // namespace rondo::topo
