#include "coll/link_facts.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/error.h"
#include "coll/facts.h"
#include "topo/paths.h"
#include "topo/quantities.h"

namespace rondo {
namespace {

using topo::LinkKind;
using topo::NodeKind;

/// Paths that are looked at: hosts of one kind have the same ones.
constexpr size_t kMostPaths = 16;

// What a card that moves data by itself leaves to the CPUs: published latencies of UCX over
// InfiniBand are 1 to 2 us for a short message, of which a post and a completion are some 0.3 each.
// An assumption, as the simulator's, until there are such hosts to measure.
constexpr uint64_t kRdmaHop = 1'500'000, kRdmaMessage = 300'000;

uint64_t perKiBOf(uint64_t bytesPerSecond) {
  return 1024 * uint64_t{1'000'000'000'000} / std::max<uint64_t>(bytesPerSecond, 1);
}

/// Of several ways the narrowest and the longest.
struct Worst {
  uint64_t bytes = 0, latency = 0;
  bool measured = false;
  void add(const topo::Graph& graph, const topo::Path& path) {
    for (const topo::Arc arc : path.arcs) measured |= graph.link(arc / 2).measured();
    bytes = bytes == 0 ? path.bytesPerSecond : std::min(bytes, path.bytesPerSecond);
    latency = std::max(latency, path.picoseconds);
  }
};

/// All ways from the first of these nodes, and between neighbours, over links of these kinds.
/// False: some are not joined.
bool findWays(const topo::Graph& graph, topo::PathFinder& finder, const std::vector<int>& nodes,
              unsigned kinds, Worst* worst) {
  topo::Path path;
  for (size_t i = 1; i < std::min(nodes.size(), kMostPaths); ++i) {
    for (const int from : {nodes[0], nodes[i - 1]}) {
      if (from == nodes[i]) continue;
      if (!finder.find(from, nodes[i], &path, 0, kinds)) return false;
      worst->add(graph, path);
    }
  }
  return true;
}

/// Bytes/s of all links of a kind that leave these nodes.
uint64_t widthOf(const topo::Graph& graph, const std::vector<int>& nodes, LinkKind kind) {
  uint64_t sum = 0;
  for (const int node : nodes) {
    for (const topo::Arc arc : graph.from(node)) {
      const topo::Link& link = graph.link(arc / 2);
      if (link.kind == kind) sum += link.bytesPerSecond;
    }
  }
  return sum;
}

/// Bytes/s that cards move between their networks and the host: no more than was measured of the
/// link that they hang on.
uint64_t widthOfCards(const topo::Graph& graph, const std::vector<int>& cards) {
  uint64_t sum = 0;
  for (const int card : cards) {
    uint64_t below = UINT64_MAX;
    for (const topo::Arc arc : graph.from(card)) {
      const topo::Link& link = graph.link(arc / 2);
      if (link.kind == LinkKind::Pci && link.claimedBytes) below = link.bytesPerSecond;
    }
    sum += std::min(below, widthOf(graph, {card}, LinkKind::Network));
  }
  return sum;
}

uint64_t leastOf(uint64_t least, uint64_t value) {
  return least == 0 ? value : std::min(least, value);
}

/// Whether packages tell ranks apart: somewhere there are two of a host, and somewhere two ranks of
/// one. Where each rank has its own (as a virtual machine's cores may), all are equally far.
bool packagesMatter(const std::vector<Seat>& seats) {
  std::map<int, std::map<int, int>> ranksOf;  // by host and package
  for (const Seat& seat : seats) {
    if (seat.bound) ++ranksOf[seat.host][seat.cpu];
  }
  bool several = false, shared = false;
  for (const auto& [host, packages] : ranksOf) {
    several |= packages.size() > 1;
    for (const auto& [cpu, ranks] : packages) shared |= ranks > 1;
  }
  return several && shared;
}

void addPackages(const topo::Graph& graph, const std::vector<Seat>& seats, LinkFacts* links) {
  if (!packagesMatter(seats)) return;
  std::map<std::pair<int, int>, int> numbers;
  std::map<int, std::set<int>> cpusOf;  // by host of the graph
  for (const Seat& seat : seats) {
    if (!seat.bound) {
      links->package.push_back(-1);
      continue;
    }
    const auto number = static_cast<int>(numbers.size());
    links->package.push_back(numbers.try_emplace({seat.host, seat.cpu}, number).first->second);
    cpusOf[graph.node(seat.cpu).host].insert(seat.cpu);
  }
  topo::PathFinder finder(graph);
  Worst worst;
  for (const auto& [host, set] : cpusOf) {
    const std::vector<int> cpus(set.begin(), set.end());
    if (!findWays(graph, finder, cpus, topo::kAllLinks & ~topo::linkBit(LinkKind::Network),
                  &worst)) {
      continue;
    }
    for (const int cpu : cpus) {
      const uint64_t width = cpus.size() < 2 ? 0 : widthOf(graph, {cpu}, LinkKind::Socket);
      if (width > 0) links->intoPackage = leastOf(links->intoPackage, width);
    }
  }
  links->packageBytes = worst.bytes;
  links->packageLatency = worst.latency;
  links->packagesMeasured = worst.measured;
}

void addHosts(const topo::Graph& graph, const std::vector<Seat>& seats, LinkFacts* links) {
  std::map<int, int> first;  // by host: a CPU that ranks sit on
  for (const Seat& seat : seats) {
    links->host.push_back(seat.host);
    first.try_emplace(seat.host, seat.cpu);
  }
  if (first.size() < 2) {
    links->host.clear();
    return;
  }
  std::vector<int> nodes;
  for (const auto& [host, cpu] : first) {
    if (std::find(nodes.begin(), nodes.end(), cpu) == nodes.end()) nodes.push_back(cpu);
  }
  topo::PathFinder finder(graph);
  Worst worst;
  if (!findWays(graph, finder, nodes, topo::kAllLinks, &worst) || worst.bytes == 0) return;
  links->hostBytes = worst.bytes;
  links->hostLatency = worst.latency;
  links->hostsMeasured = worst.measured;
  links->rdma = true;
  for (const int cpu : nodes) {
    const std::vector<int> cards = graph.all(NodeKind::Nic, graph.node(cpu).host);
    links->intoHost = leastOf(links->intoHost, widthOfCards(graph, cards));
    for (const int card : cards) links->rdma &= graph.node(card).model != "ethernet";
  }
}

bool isMeasured(MeasuredCosts measured, uint64_t HostCosts::*at) {
  const auto fields = costFields();
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [at](const CostField& field) { return field.at == at; });
  return (measured >> std::distance(fields.begin(), found) & 1) != 0;
}

/// Costs between hosts that nobody measured: a card is at most as quick as it says, and without
/// RDMA the CPUs are the slower of the two.
void priceHosts(const LinkFacts& links, MeasuredCosts measured, HostCosts* costs) {
  const auto put = [&](uint64_t HostCosts::*at, uint64_t value) {
    if (!isMeasured(measured, at)) costs->*at = value;
  };
  const uint64_t wire = perKiBOf(links.hostBytes);
  if (!links.rdma) {
    put(&HostCosts::hostsPerKiB, std::max(costs->hostsPerKiB, wire));
    put(&HostCosts::hostsSendPerKiB, std::max(costs->hostsSendPerKiB, wire));
    return;
  }
  // Data are in memory then, whence the CPU takes them as from anywhere.
  put(&HostCosts::hostsPerKiB, wire);
  put(&HostCosts::hostsSendPerKiB, wire);
  put(&HostCosts::hostsHop, kRdmaHop + links.hostLatency);
  put(&HostCosts::hostsMessage, kRdmaMessage);
  put(&HostCosts::hostsSend, kRdmaMessage);
}

}  // namespace

LinkFacts linkFactsOf(const topo::Graph& graph, const std::vector<Seat>& seats) {
  LinkFacts links;
  addPackages(graph, seats, &links);
  addHosts(graph, seats, &links);
  return links;
}

void setCosts(HostCosts costs, MeasuredCosts measured, CommFacts* facts) {
  LinkFacts& links = facts->links;
  if (links.hostBytes > 0) {
    priceHosts(links, measured, &costs);
    // A link carries at least what one rank was measured to send.
    if (isMeasured(measured, &HostCosts::hostsSendPerKiB) && costs.hostsSendPerKiB > 0) {
      links.intoHost = std::max(links.intoHost, perKiBOf(costs.hostsSendPerKiB));
    }
  }
  links.apartMessage = costs.farMessage;
  links.apartPerKiB = costs.farPerKiB;
  if (links.packageBytes > 0) {
    // A flag is asked for and comes: there and back.
    if (!isMeasured(measured, &HostCosts::farMessage)) {
      links.apartMessage += 2 * links.packageLatency;
    }
    if (!isMeasured(measured, &HostCosts::farPerKiB)) {
      links.apartPerKiB = std::max(links.apartPerKiB, perKiBOf(links.packageBytes));
    }
  }
  if (links.acrossHosts) costs.acrossHosts();
  facts->costs = costs;
}

std::string LinkFacts::text() const {
  std::string out;
  if (!package.empty()) {
    out = format("packages %s and %s apart, %s into each%s",
                 topo::shortBandwidth(packageBytes).c_str(),
                 topo::latencyText(packageLatency).c_str(),
                 topo::shortBandwidth(intoPackage).c_str(), packagesMeasured ? " (measured)" : "");
  }
  if (hostBytes > 0) {
    out += out.empty() ? "" : "; ";
    out +=
        format("hosts %s and %s apart, %s into each, %s%s", topo::shortBandwidth(hostBytes).c_str(),
               topo::latencyText(hostLatency).c_str(), topo::shortBandwidth(intoHost).c_str(),
               rdma ? "by RDMA" : "by TCP", hostsMeasured ? " (links measured)" : "");
  } else if (!host.empty()) {
    out += out.empty() ? "" : "; ";
    out += "between hosts not known";
  }
  return out;
}

}  // namespace rondo
