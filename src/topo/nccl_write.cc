#include <algorithm>
#include <set>

#include "topo/capability.h"
#include "topo/nccl_xml.h"
#include "topo/pci_speeds.h"
#include "topo/quantities.h"

namespace rondo::topo {
namespace {

class Writer {
 public:
  Writer(const Graph& graph, int host) : graph_(graph), host_(host) {}

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
      children(cpu, 4);
      out_ += "  </cpu>\n";
    }
    return out_ + "</system>\n";
  }

 private:
  static std::string affinity(int cores) {
    std::string out(static_cast<size_t>(cores / 4), 'f');
    if (cores % 4 != 0) out.insert(out.begin(), "0137"[cores % 4]);
    return out.empty() ? "0" : out;
  }

  void children(int above, size_t indent) {
    for (const Arc arc : graph_.from(above)) {
      const Link& link = graph_.link(arc / 2);
      const int below = graph_.target(arc);
      if (link.kind != LinkKind::Pci || !done_.insert(below).second) continue;
      if (onCpuItself(above, below, link)) {
        nic(graph_.node(below), std::string(indent, ' '));
      } else {
        device(below, link, indent);
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

  void device(int index, const Link& link, size_t indent) {
    const Node& node = graph_.node(index);
    const std::string pad(indent, ' ');
    const char* const classes = node.kind == NodeKind::Gpu   ? "0x030200"
                                : node.kind == NodeKind::Nic ? "0x020700"
                                                             : "0x060400";
    const PciSpeed pci = nearestPci(link.bytesPerSecond);
    out_ +=
        pad + format("<pci busid=\"%s\" class=\"%s\" link_speed=\"%s PCIe\" link_width=\"%d\">\n",
                     busIdOf(index).c_str(), classes, pci.speed, pci.width);
    if (node.kind == NodeKind::Gpu) gpu(index, pad + "  ");
    if (node.kind == NodeKind::Nic) nic(node, pad + "  ");
    children(index, indent + 2);
    out_ += pad + "</pci>\n";
  }

  void gpu(int index, const std::string& pad) {
    const int sm = capabilityOf(graph_, index);
    out_ += pad + format("<gpu dev=\"%d\" sm=\"%d\" rank=\"%d\" gdr=\"1\">\n",
                         graph_.node(index).number, sm, graph_.node(index).number);
    for (const Arc arc : graph_.from(index)) {
      const Link& link = graph_.link(arc / 2);
      const int other = graph_.target(arc);
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
  std::set<int> done_;
};

}  // namespace

std::string writeNcclXml(const Graph& graph, int host) { return Writer(graph, host).write(); }

}  // namespace rondo::topo
