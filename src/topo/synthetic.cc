#include "topo/synthetic.h"

#include <algorithm>

#include "base/error.h"
#include "topo/synthetic_words.h"

namespace rondo::topo {
namespace {

// What is not said. Bandwidths: PCIe 5.0 x16 and its switches, UPI of a two-socket server, 8
// channels of DDR5; latencies are the order of magnitude that makers and benchmarks publish. A
// prediction that matters states its own.
constexpr uint64_t kGB = 1'000'000'000, kNanosecond = 1'000;
constexpr uint64_t kPcie = 64 * kGB, kSocket = 60 * kGB, kMemory = 200 * kGB, kNic = 50 * kGB;
constexpr uint64_t kPciLatency = 250 * kNanosecond, kSocketLatency = 100 * kNanosecond;
constexpr uint64_t kMemoryLatency = 50 * kNanosecond, kNvLinkLatency = 250 * kNanosecond;
constexpr uint64_t kNetworkLatency = 500 * kNanosecond, kC2cLatency = 150 * kNanosecond;
constexpr int kCores = 32;

uint64_t said(uint64_t value, uint64_t fallback) { return value != 0 ? value : fallback; }

class Builder {
 public:
  explicit Builder(const MachineWords& words) : m_(words) {}

  Graph build() {
    checkSize();
    for (int h = 0; h < m_.hosts; ++h) addHost(h);
    if (m_.nics > 0 && m_.hosts > 1) addFabric();
    return std::move(graph_);
  }

 private:
  void checkSize() const {
    const size_t each = static_cast<size_t>(2 * m_.cpus + m_.pcis + m_.gpus + 1 + m_.nics);
    const size_t all = each * static_cast<size_t>(m_.hosts);
    if (all <= Graph::kMostNodes) return;
    throw Error(rondoInvalidArgument,
                format("synthetic machine: %zu nodes; allowed: up to %zu", all, Graph::kMostNodes));
  }

  int add(NodeKind kind, int host, const std::string& name) {
    return graph_.addNode(Node{kind, host, 0, name, 0, -1, "", "", 0});
  }
  void join(LinkKind kind, int a, int b, uint64_t bytes, uint64_t latency, int count = 1) {
    graph_.addLink(Link{kind, a, b, bytes, latency, count});
  }
  /// Which of `above` has number `index` of `many`.
  static int over(int index, int many, const std::vector<int>& above) {
    const size_t at = static_cast<size_t>(index) * above.size() / static_cast<size_t>(many);
    return above[std::min(at, above.size() - 1)];
  }

  void addHost(int number) {
    const int host = graph_.addHost("host" + std::to_string(number));
    const std::vector<int> cpus = addCpus(host);
    std::vector<int> roots = cpus;
    if (m_.pcis > 0) {
      roots.clear();
      for (int p = 0; p < m_.pcis; ++p) {
        roots.push_back(add(NodeKind::Pci, host, "pci" + std::to_string(p)));
        if (cpus.empty()) continue;
        join(LinkKind::Pci, over(p, m_.pcis, cpus), roots.back(), said(m_.pciUp, kPcie),
             kPciLatency);
      }
    }
    addGpus(host, cpus, roots);
    for (int i = 0; i < m_.nics; ++i) {
      const int nic = graph_.addNode(Node{NodeKind::Nic, host, 0, "nic" + std::to_string(i), 0, -1,
                                          "", "", said(m_.nic, kNic)});
      nics_.push_back(nic);
      if (roots.empty()) {
        // Neither CPU nor switch: the NIC belongs to its GPU.
        const std::vector<int> gpus = graph_.all(NodeKind::Gpu, host);
        join(LinkKind::Pci, over(i, m_.nics, gpus), nic, said(m_.nicPcie, kPcie), kPciLatency);
      } else {
        join(LinkKind::Pci, over(i, m_.nics, roots), nic, said(m_.nicPcie, kPcie), kPciLatency);
      }
    }
  }

  std::vector<int> addCpus(int host) {
    std::vector<int> cpus;
    for (int c = 0; c < m_.cpus; ++c) {
      Node cpu{NodeKind::Cpu, host, 0, "cpu" + std::to_string(c), m_.cores, c, "", "", 0};
      if (cpu.cores == 0) cpu.cores = kCores;
      cpus.push_back(graph_.addNode(cpu));
      const int memory = graph_.addNode(
          Node{NodeKind::Numa, host, 0, "numa" + std::to_string(c), 0, c, "", "", 0});
      join(LinkKind::Memory, cpus.back(), memory, said(m_.memory, kMemory), kMemoryLatency);
    }
    for (size_t a = 0; a < cpus.size(); ++a) {
      for (size_t b = a + 1; b < cpus.size(); ++b) {
        join(LinkKind::Socket, cpus[a], cpus[b], said(m_.socket, kSocket), kSocketLatency);
      }
    }
    return cpus;
  }

  void addGpus(int host, const std::vector<int>& cpus, const std::vector<int>& roots) {
    std::vector<int> gpus;
    for (int g = 0; g < m_.gpus; ++g) {
      gpus.push_back(graph_.addNode(
          Node{NodeKind::Gpu, host, 0, "gpu" + std::to_string(g), 0, -1, m_.model, "", 0}));
      if (!roots.empty()) {
        join(LinkKind::Pci, over(g, m_.gpus, roots), gpus.back(), said(m_.gpuPcie, kPcie),
             kPciLatency);
      }
      if (m_.c2c > 0 && !cpus.empty()) {
        join(LinkKind::C2c, over(g, m_.gpus, cpus), gpus.back(), m_.c2c, kC2cLatency);
      }
    }
    if (m_.nvswitch) switched(host, gpus);
    if (m_.mesh) meshed(gpus);
    if (m_.ring) ringed(gpus);
  }

  int physical(int peers) const { return std::max(1, std::max(m_.nvlinks, 1) / peers); }

  /// One switch stands for all: every GPU is joined to each of them alike.
  void switched(int host, const std::vector<int>& gpus) {
    const int nvswitch = add(NodeKind::NvSwitch, host, "nvs0");
    for (const int gpu : gpus) {
      join(LinkKind::NvLink, gpu, nvswitch, share(1), kNvLinkLatency, physical(1));
    }
  }
  void meshed(const std::vector<int>& gpus) {
    const int peers = static_cast<int>(gpus.size()) - 1;
    for (size_t a = 0; a < gpus.size(); ++a) {
      for (size_t b = a + 1; b < gpus.size(); ++b) {
        join(LinkKind::NvLink, gpus[a], gpus[b], share(peers), 2 * kNvLinkLatency, physical(peers));
      }
    }
  }
  void ringed(const std::vector<int>& gpus) {
    const size_t n = gpus.size();
    for (size_t a = 0; a + 1 < n || (a + 1 == n && n > 2); ++a) {
      join(LinkKind::NvLink, gpus[a], gpus[(a + 1) % n], share(n > 2 ? 2 : 1), 2 * kNvLinkLatency,
           physical(n > 2 ? 2 : 1));
    }
  }
  uint64_t share(int ways) const {
    return std::max<uint64_t>(1, m_.nvlink / static_cast<uint64_t>(ways));
  }

  int addSwitch(const std::string& name) { return add(NodeKind::Switch, -1, name); }
  void cable(int nic, int leaf) { network(nic, leaf, said(m_.nic, kNic)); }
  void network(int a, int b, uint64_t bytes) {
    join(LinkKind::Network, a, b, std::min(bytes, Graph::kMostBandwidth),
         said(m_.latency, kNetworkLatency));
  }

  void addFabric() {
    switch (m_.fabric) {
      case MachineWords::Fabric::Switch: {
        const int only = addSwitch("switch0");
        for (const int nic : nics_) cable(nic, only);
        return;
      }
      case MachineWords::Fabric::Rail: {
        std::vector<int> leaves;
        for (int r = 0; r < m_.nics; ++r) leaves.push_back(addSwitch("rail" + std::to_string(r)));
        for (size_t i = 0; i < nics_.size(); ++i) {
          cable(nics_[i], leaves[i % static_cast<size_t>(m_.nics)]);
        }
        return spines(leaves, m_.hosts);
      }
      case MachineWords::Fabric::FatTree: {
        const size_t down = static_cast<size_t>(m_.ports) / 2;
        std::vector<int> leaves;
        for (size_t i = 0; i < nics_.size(); ++i) {
          if (i % down == 0) leaves.push_back(addSwitch("leaf" + std::to_string(i / down)));
          cable(nics_[i], leaves.back());
        }
        return spines(leaves, static_cast<int>(down));
      }
    }
  }

  /// As many as a leaf has ports down, up to 64, or those that were said; as much bandwidth up as
  /// down.
  void spines(const std::vector<int>& leaves, int down) {
    if (leaves.size() < 2) return;
    const int count = m_.spines > 0 ? m_.spines : std::min(down, 64);
    const uint64_t each = said(m_.nic, kNic) * static_cast<uint64_t>(down) /
                          static_cast<uint64_t>(m_.spines > 0 ? std::min(down, 64) : count);
    for (int s = 0; s < count; ++s) {
      const int spine = addSwitch("spine" + std::to_string(s));
      for (const int leaf : leaves) network(leaf, spine, each);
    }
  }

  const MachineWords& m_;
  Graph graph_;
  std::vector<int> nics_;
};

}  // namespace

Graph parseSynthetic(const std::string& text) {
  const MachineWords words = parseMachine(text);
  return Builder(words).build();
}

}  // namespace rondo::topo
