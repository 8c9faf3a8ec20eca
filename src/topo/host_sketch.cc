#include "topo/host_sketch.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/hash.h"
#include "topo/rdma_ports.h"
#include "topo/usual_links.h"

namespace rondo::topo {
namespace {

namespace fs = std::filesystem;

constexpr char kEthernet[] = "ethernet";

long numberIn(const fs::path& file) {
  std::ifstream in(file);
  long number = -1;
  return in >> number ? number : -1;
}

/// The package of a NUMA node by the kernel's number, which need not be hwloc's: that of its first
/// CPU.
int packageOf(const fs::path& sys, long numa, const CpuPlaces& places) {
  if (numa < 0) return 0;
  const long cpu = numberIn(sys / ("devices/system/node/node" + std::to_string(numa)) / "cpulist");
  if (cpu < 0 || cpu >= CpuPlaces::kMostCpus) return 0;
  const uint8_t package = places.at[static_cast<int>(Near::Package)][cpu];
  return package == CpuPlaces::kNowhere ? 0 : package;
}

void addNic(const NicSketch& nic, const std::string& busId, HostSketch* sketch,
            std::vector<std::string>* cards) {
  if (sketch->nics == kMostNics || nic.bytesPerSecond == 0) return;
  sketch->nic[sketch->nics++] = nic;
  cards->push_back(busId);
}

std::vector<fs::path> sortedEntries(const fs::path& dir) {
  std::vector<fs::path> out;
  std::error_code fault;
  for (fs::directory_iterator it(dir, fault), end; !fault && it != end; it.increment(fault)) {
    out.push_back(it->path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Of the PCI device that this is, or is a part of, as a virtual machine's cards are.
std::string busIdOf(const fs::path& device) {
  std::error_code fault;
  fs::path at = fs::canonical(device, fault);
  while (at.has_relative_path() && at.filename().string().find(':') == std::string::npos) {
    at = at.parent_path();
  }
  return at.filename();
}

std::string lineIn(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

void setMeasured(Graph& graph, int link, uint64_t bytesPerSecond, uint64_t picoseconds) {
  if (bytesPerSecond > 0) graph.setMeasuredBandwidth(link, bytesPerSecond);
  if (picoseconds > 0) graph.setMeasuredLatency(link, picoseconds);
}

void joinPackages(Graph& graph, const std::vector<int>& cpus, const HostSketch& sketch) {
  for (size_t a = 0; a < cpus.size(); ++a) {
    for (size_t b = a + 1; b < cpus.size(); ++b) {
      graph.addLink({LinkKind::Socket, cpus[a], cpus[b], kSocketBytes, kSocketLatency});
    }
  }
  for (uint32_t k = 0; k < sketch.sockets; ++k) {
    const SocketSketch& socket = sketch.socket[k];
    const int link = graph.findLink(LinkKind::Socket, cpus[static_cast<size_t>(socket.a)],
                                    cpus[static_cast<size_t>(socket.b)]);
    setMeasured(graph, link, socket.bytesPerSecond, socket.picoseconds);
  }
}

int addNode(Graph& graph, NodeKind kind, int host, const std::string& model = {}) {
  Node node{};
  node.kind = kind;
  node.host = host;
  node.model = model;
  node.name = nodeKindName(kind) + std::to_string(graph.count(kind, host));
  return graph.addNode(std::move(node));
}

}  // namespace

bool HostSketch::hasRdma() const {
  return std::any_of(nic, nic + nics, [](const NicSketch& n) { return n.rdma != 0; });
}

uint64_t HostSketch::hash() const {
  const std::string bytes(reinterpret_cast<const char*>(this), sizeof *this);
  return mixBits(hashBytes(bytes));
}

void readNics(const std::string& sys, HostSketch* sketch, std::vector<std::string>* cards) {
  const fs::path root(sys);
  for (const RdmaPort& port : readRdmaPorts(root / "class/infiniband")) {
    if (!port.active || port.busId.empty()) continue;  // one without a card is software
    const long numa = numberIn(root / "class/infiniband" / port.device / "device/numa_node");
    addNic({port.bytesPerSecond, packageOf(root, numa, sketch->node.places), 1}, port.busId, sketch,
           cards);
  }
  for (const fs::path& net : sortedEntries(root / "class/net")) {
    std::error_code fault;
    const long megabits = numberIn(net / "speed");
    if (!fs::exists(net / "device", fault) || lineIn(net / "operstate") != "up" || megabits <= 0) {
      continue;
    }
    const uint64_t bytes = static_cast<uint64_t>(megabits) * 125'000;
    const int package = packageOf(root, numberIn(net / "device/numa_node"), sketch->node.places);
    addNic({std::min(bytes, Graph::kMostBandwidth), package, 0}, busIdOf(net / "device"), sketch,
           cards);
  }
}

HostSketch readHostSketch(std::vector<std::string>* cards, const std::string& sys) {
  HostSketch sketch;
  sketch.node = ownNodeFacts();
  readNics(sys, &sketch, cards);
  return sketch;
}

Graph joinHosts(std::span<const HostSketch* const> hosts, bool rdma) {
  Graph graph;
  std::vector<std::pair<int, uint64_t>> cards;  // node, rate
  for (const HostSketch* sketch : hosts) {
    const int host = graph.addHost("host" + std::to_string(graph.hosts().size()));
    const uint32_t packages = std::max<uint32_t>(sketch->node.packages, 1);
    std::vector<int> cpus;
    for (uint32_t p = 0; p < packages; ++p) {
      cpus.push_back(addNode(graph, NodeKind::Cpu, host, sketch->node.cpuModel));
    }
    joinPackages(graph, cpus, *sketch);
    for (uint32_t k = 0; k < sketch->nics; ++k) {
      const NicSketch& card = sketch->nic[k];
      if ((card.rdma != 0) != rdma) continue;
      const int nic = addNode(graph, NodeKind::Nic, host, rdma ? "" : kEthernet);
      graph.setRate(nic, card.bytesPerSecond);
      const auto at = std::min(static_cast<size_t>(std::max(card.package, 0)), cpus.size() - 1);
      const int link = graph.addLink(
          {LinkKind::Pci, cpus[at], nic, std::max(kPciBytes, card.bytesPerSecond), kPciLatency});
      setMeasured(graph, link, card.pciBytes, card.pciPicoseconds);
      cards.emplace_back(nic, card.bytesPerSecond);
    }
  }
  if (hosts.size() < 2 || cards.empty()) return graph;
  Node fabric{};
  fabric.kind = NodeKind::Switch;
  fabric.host = -1;
  fabric.name = "network";
  const int network = graph.addNode(std::move(fabric));
  for (const auto& [nic, rate] : cards) {
    graph.addLink({LinkKind::Network, nic, network, rate, kNetworkLatency});
  }
  return graph;
}

}  // namespace rondo::topo
