#include <algorithm>
#include <map>
#include <set>

#include "topo/capability.h"
#include "topo/nccl_xml.h"
#include "topo/pci_speeds.h"
#include "topo/quantities.h"

namespace rondo::topo {
namespace {

constexpr uint64_t kMostDev = 4095;  ///< As the reader takes them.
constexpr uint64_t kMegabyte = 1'000'000;

class Writer {
 public:
  Writer(const Graph& graph, int host) : graph_(graph), host_(host) { numberGpus(); }

  std::string write() {
    const std::vector<int> cpus = graph_.all(NodeKind::Cpu, host_);
    if (cpus.empty()) {
      throw Error(rondoInvalidArgument,
                  format("%s has no CPU, below which NCCL's format puts everything",
                         graph_.hosts()[static_cast<size_t>(host_)].c_str()));
    }
    done_.insert(cpus.begin(), cpus.end());
    out_ = "<system version=\"1\">\n";
    for (const int cpu : cpus) {
      const Node& node = graph_.node(cpu);
      out_ += format("  <cpu numaid=\"%d\" affinity=\"%s\" arch=\"x86_64\" vendor=\"%s\">\n",
                     std::max(node.numa, 0), affinity(node.cores).c_str(),
                     xmlEscape(node.model).c_str());
      children(cpu, cpu, 4);
      out_ += "  </cpu>\n";
    }
    return out_ + "</system>\n";
  }

  /// After write(), a sentence for each thing that the format has no place for.
  std::vector<std::string> left() const {
    std::vector<std::string> out;
    for (const NodeKind kind : {NodeKind::Pci, NodeKind::Gpu, NodeKind::Nic}) {
      for (const int node : graph_.all(kind, host_)) {
        if (done_.count(node) == 0) tell(graph_.fullName(node) + ", to which no PCIe leads", &out);
      }
    }
    for (const int gpu : graph_.all(NodeKind::Gpu, host_)) {
      for (const Arc arc : graph_.from(gpu)) {
        if (graph_.link(arc / 2).kind != LinkKind::C2c || c2c_.count(arc / 2) > 0) continue;
        tell("the C2C link between " + graph_.fullName(graph_.target(arc)) + " and " +
                 graph_.fullName(gpu) + ", whose PCIe is elsewhere",
             &out);
      }
    }
    return out;
  }

 private:
  static void tell(const std::string& what, std::vector<std::string>* out) {
    out->push_back("NCCL's format has no place for " + what + "; it is left out");
  }

  /// By their names, gpu5 and the like; if these do not say it, in their order.
  void numberGpus() {
    std::set<int> seen;
    for (const int gpu : graph_.all(NodeKind::Gpu, host_)) {
      const std::string& name = graph_.node(gpu).name;
      uint64_t number = 0;
      const bool says = name.starts_with("gpu") &&
                        parseWhole(name.substr(3), 0, kMostDev, &number) &&
                        name == "gpu" + std::to_string(number);
      named_ = named_ && says && seen.insert(static_cast<int>(number)).second;
      numbers_[gpu] = static_cast<int>(number);
    }
  }
  int devOf(int gpu) const { return named_ ? numbers_.at(gpu) : graph_.node(gpu).number; }

  static std::string affinity(int cores) {
    std::string out(static_cast<size_t>(cores / 4), 'f');
    if (cores % 4 != 0) out.insert(out.begin(), "0137"[cores % 4]);
    return out.empty() ? "0" : out;
  }

  void children(int cpu, int above, size_t indent) {
    for (const Arc arc : graph_.from(above)) {
      const Link& link = graph_.link(arc / 2);
      const int below = graph_.target(arc);
      if (link.kind != LinkKind::Pci || !done_.insert(below).second) continue;
      if (onCpuItself(above, below, link)) {
        nic(graph_.node(below), std::string(indent, ' '));
      } else {
        device(cpu, below, link, indent);
      }
    }
  }

  /// As a virtual machine's card, which NCCL puts there without a PCIe device.
  bool onCpuItself(int above, int below, const Link& link) const {
    const Node& node = graph_.node(below);
    return node.kind == NodeKind::Nic && node.busId.empty() &&
           graph_.node(above).kind == NodeKind::Cpu && link.bytesPerSecond == bytesOnCpu(node.rate);
  }

  /// Devices without one get a place of their own, far from real ones.
  std::string busIdOf(int node) const {
    const std::string& known = graph_.node(node).busId;
    return known.empty() ? format("ffff:%02x:%02x.0", (node >> 5) & 255, node & 31) : known;
  }

  void device(int cpu, int index, const Link& link, size_t indent) {
    const Node& node = graph_.node(index);
    const std::string pad(indent, ' ');
    const char* const classes = node.kind == NodeKind::Gpu   ? "0x030200"
                                : node.kind == NodeKind::Nic ? "0x020700"
                                                             : "0x060400";
    const PciSpeed pci = nearestPci(link.bytesPerSecond);
    out_ +=
        pad + format("<pci busid=\"%s\" class=\"%s\" link_speed=\"%s PCIe\" link_width=\"%d\">\n",
                     busIdOf(index).c_str(), classes, pci.speed, pci.width);
    if (node.kind == NodeKind::Gpu) gpu(cpu, index, pad + "  ");
    if (node.kind == NodeKind::Nic) nic(node, pad + "  ");
    children(cpu, index, indent + 2);
    out_ += pad + "</pci>\n";
  }

  void gpu(int cpu, int index, const std::string& pad) {
    const int sm = capabilityOf(graph_, index);
    out_ += pad + format("<gpu dev=\"%d\" sm=\"%d\" rank=\"%d\" gdr=\"1\">\n", devOf(index), sm,
                         graph_.node(index).number);
    for (const Arc arc : graph_.from(index)) {
      const Link& link = graph_.link(arc / 2);
      const int other = graph_.target(arc);
      if (link.kind == LinkKind::C2c && other == cpu) c2c(arc / 2, pad + "  ");
      if (link.kind != LinkKind::NvLink) continue;
      // The format counts links; where the graph does not, the generation says how many there are.
      const auto byBandwidth = static_cast<int>(link.bytesPerSecond / nvLinkBytes(sm));
      const bool isSwitch = graph_.node(other).kind == NodeKind::NvSwitch;
      out_ += pad + format("  <nvlink target=\"%s\" count=\"%d\" tclass=\"%s\"/>\n",
                           busIdOf(other).c_str(), std::max({byBandwidth, 1}),
                           isSwitch ? "0x068000" : "0x030200");
    }
    out_ += pad + "</gpu>\n";
  }

  /// The format has MB/s of each of its links.
  void c2c(int index, const std::string& pad) {
    const Link& link = graph_.link(index);
    const auto most = static_cast<uint64_t>(std::max(link.count, 1));
    const uint64_t count = link.bytesPerSecond % (most * kMegabyte) == 0 ? most : 1;
    const uint64_t each = link.bytesPerSecond / count / kMegabyte;
    out_ += pad + format("<c2c bw=\"%llu\" count=\"%llu\"/>\n",
                         static_cast<unsigned long long>(std::max<uint64_t>(each, 1)),
                         static_cast<unsigned long long>(count));
    c2c_.insert(index);
  }

  void nic(const Node& node, const std::string& pad) {
    const std::string name = node.model.empty() ? node.name : node.model;
    out_ += pad + "<nic>\n" + pad +
            format("  <net name=\"%s\" dev=\"%d\" speed=\"%llu\" port=\"1\" gdr=\"1\"/>\n",
                   xmlEscape(name).c_str(), node.number,
                   static_cast<unsigned long long>(node.rate / 125'000)) +
            pad + "</nic>\n";
  }

  const Graph& graph_;
  int host_;
  std::string out_;
  std::set<int> done_, c2c_;  // nodes, and links, that are written
  std::map<int, int> numbers_;
  bool named_ = true;
};

}  // namespace

std::string writeNcclXml(const Graph& graph, int host, std::vector<std::string>* left) {
  Writer writer(graph, host);
  std::string text = writer.write();
  if (left != nullptr) *left = writer.left();
  return text;
}

}  // namespace rondo::topo
