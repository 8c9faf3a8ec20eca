#include "topo/nccl_xml.h"

#include <algorithm>
#include <map>

#include "topo/pci_speeds.h"
#include "topo/quantities.h"

namespace rondo::topo {
namespace {

constexpr uint64_t kPciLatency = 250'000, kSocketLatency = 100'000, kNvLinkLatency = 250'000;
// What the format does not say: UPI of a two-socket server, its memory.
constexpr uint64_t kSocketBytes = 60'000'000'000, kMemoryBytes = 200'000'000'000;
constexpr uint64_t kMemoryLatency = 50'000;
constexpr int kCores = 32;

class Reader {
 public:
  explicit Reader(XmlSource& source) : source_(source) {}

  Graph read(const XmlElement& root) {
    const std::string& version = source_.need(root, "version");
    if (version != "1") source_.refuse(root, "version is \"" + version + "\"; allowed: 1");
    for (const XmlElement& child : root.children) {
      if (child.name == "cpu")
        addCpu(child);
      else
        source_.unknown(child, root.name);
    }
    if (graph_.hosts().empty()) source_.refuse(root, "<system> has no <cpu>");
    joinCpus();
    joinGpus();
    return std::move(graph_);
  }

 private:
  struct NvLinks {
    int gpu;
    const XmlElement* element;
    int sm;
  };

  template <class Add>
  int checked(const XmlElement& at, Add add) {
    try {
      return add();
    } catch (const Error& error) {
      source_.refuse(at, error.sentence());
    }
  }
  int add(const XmlElement& at, const Node& node) {
    return checked(at, [&] { return graph_.addNode(node); });
  }
  void join(const XmlElement& at, const Link& link) {
    checked(at, [&] { return graph_.addLink(link); });
  }
  std::string name(int host, NodeKind kind) {
    return nodeKindName(kind) + std::to_string(graph_.count(kind, host));
  }

  void addCpu(const XmlElement& element) {
    const std::string* hash = element.find("host_hash");
    const auto [known, isNew] = hosts_.try_emplace(hash != nullptr ? *hash : "", 0);
    if (isNew) {
      known->second = checked(
          element, [&] { return graph_.addHost("host" + std::to_string(hosts_.size() - 1)); });
    }
    const int host = known->second;
    // Virtual machines say -1.
    const std::string* numaText = element.find("numaid");
    const bool unknown = numaText != nullptr && *numaText == "-1";
    const auto numa = unknown ? 0 : static_cast<int>(source_.whole(element, "numaid", 0, 65535, 0));
    const std::string* vendor = element.find("vendor");
    Node node{NodeKind::Cpu, host, 0, name(host, NodeKind::Cpu), coresOf(element), numa, "", "", 0};
    if (vendor != nullptr) node.model = *vendor;
    const int cpu = add(element, node);
    const int memory =
        add(element, Node{NodeKind::Numa, host, 0, name(host, NodeKind::Numa), 0, numa, "", "", 0});
    join(element, {LinkKind::Memory, cpu, memory, kMemoryBytes, kMemoryLatency});
    addChildren(element, host, cpu);
  }

  /// The bits of its affinity.
  static int coresOf(const XmlElement& element) {
    const std::string* affinity = element.find("affinity");
    int bits = 0;
    for (const char c : affinity != nullptr ? *affinity : "") {
      const int digit = c >= '0' && c <= '9'                 ? c - '0'
                        : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                             : 0;
      bits += __builtin_popcount(static_cast<unsigned>(digit));
    }
    return bits > 0 ? bits : kCores;
  }

  void addChildren(const XmlElement& element, int host, int above) {
    for (const XmlElement& child : element.children) {
      if (child.name == "pci")
        addPci(child, host, above);
      else if (child.name == "nic")
        addNic(child, host, above, {});
      else
        source_.unknown(child, element.name);
    }
  }

  Link pciLink(const XmlElement& element, int above, int below) {
    const std::string* speed = element.find("link_speed");
    uint64_t lane = pciLaneBytes(kUnknownPciSpeed);
    if (speed != nullptr && !speed->empty() && speed->find("nknown") == std::string::npos) {
      lane = pciLaneBytes(*speed);
      if (lane == 0) {
        source_.refuse(element,
                       format("link_speed is \"%.40s\"; allowed: 2.5, 5.0, 8.0, 16.0, 32.0 or "
                              "64.0 GT/s PCIe, Unknown, or nothing",
                              speed->c_str()));
      }
    }
    uint64_t width = source_.whole(element, "link_width", 0, 64, 0);
    if (width == 0) width = kUnknownPciWidth;
    return {LinkKind::Pci, above, below, lane * width, kPciLatency};
  }

  void addPci(const XmlElement& element, int host, int above) {
    const std::string& busId = source_.need(element, "busid");
    const XmlElement* inner = element.children.empty() ? nullptr : &element.children.front();
    if (inner != nullptr && inner->name == "gpu") {
      const auto sm = static_cast<int>(source_.whole(*inner, "sm", 10, 999, 90));
      const std::string id =
          "gpu" +
          std::to_string(source_.whole(*inner, "dev", 0, 4095, graph_.count(NodeKind::Gpu, host)));
      const int gpu =
          add(*inner, Node{NodeKind::Gpu, host, 0, id, 0, -1, "sm" + std::to_string(sm), busId, 0});
      join(element, pciLink(element, above, gpu));
      for (const XmlElement& link : inner->children) {
        if (link.name == "nvlink")
          nvLinks_.push_back({gpu, &link, sm});
        else if (link.name == "c2c")
          addC2c(link, host, gpu);
        else
          source_.unknown(link, inner->name);
      }
      return;
    }
    if (inner != nullptr && inner->name == "nic") {
      for (const XmlElement& nic : element.children) addNic(nic, host, above, {&element, busId});
      return;
    }
    // Files that people write name devices by their class alone; NCCL itself fills in the rest.
    const std::string* pciClass = element.find("class");
    if (inner == nullptr && pciClass != nullptr) {
      const bool gpu = pciClass->starts_with("0x0302") || pciClass->starts_with("0x0300");
      const NodeKind kind = gpu ? NodeKind::Gpu : NodeKind::Nic;
      if (gpu || pciClass->starts_with("0x02")) {
        const int leaf = add(element, Node{kind, host, 0, name(host, kind), 0, -1, "", busId, 0});
        return join(element, pciLink(element, above, leaf));
      }
    }
    const int node =
        add(element, Node{NodeKind::Pci, host, 0, name(host, NodeKind::Pci), 0, -1, "", busId, 0});
    join(element, pciLink(element, above, node));
    addChildren(element, host, node);
  }

  struct Place {
    const XmlElement* pci = nullptr;
    std::string busId = {};
  };
  /// A card's ports are one NIC here: they share its PCIe link.
  void addNic(const XmlElement& element, int host, int above, const Place& place) {
    if (element.name != "nic") return source_.unknown(element, "pci");
    uint64_t megabits = 0;
    std::string model;
    for (const XmlElement& net : element.children) {
      if (net.name != "net") {
        source_.unknown(net, element.name);
        continue;
      }
      if (const std::string* id = net.find("name"); id != nullptr && model.empty()) model = *id;
      megabits += source_.whole(net, "speed", 0, 100'000'000, 10'000);
    }
    if (element.children.empty()) return;
    const int nic = add(element, Node{NodeKind::Nic, host, 0, name(host, NodeKind::Nic), 0, -1,
                                      model, place.busId, megabits * 125'000});
    if (place.pci != nullptr) return join(*place.pci, pciLink(*place.pci, above, nic));
    // On the CPU itself: as fast as its port.
    join(element, {LinkKind::Pci, above, nic, bytesOnCpu(megabits * 125'000), kPciLatency});
  }

  void addC2c(const XmlElement& element, int host, int gpu) {
    const uint64_t bytes = source_.whole(element, "bw", 1, 10'000'000, 0) * 1'000'000;
    const uint64_t count = source_.whole(element, "count", 1, 64, 1);
    const std::vector<int> cpus = graph_.all(NodeKind::Cpu, host);
    if (bytes == 0) source_.refuse(element, "<c2c> needs bw, in MB/s of one of its links");
    join(element,
         {LinkKind::C2c, cpus.back(), gpu, bytes * count, kPciLatency, static_cast<int>(count)});
  }

  void joinCpus() {
    for (size_t h = 0; h < graph_.hosts().size(); ++h) {
      const std::vector<int> cpus = graph_.all(NodeKind::Cpu, static_cast<int>(h));
      for (size_t a = 0; a < cpus.size(); ++a) {
        for (size_t b = a + 1; b < cpus.size(); ++b) {
          graph_.addLink({LinkKind::Socket, cpus[a], cpus[b], kSocketBytes, kSocketLatency});
        }
      }
    }
  }

  int nvSwitch(const XmlElement& at, int host) {
    const auto [known, isNew] = nvSwitches_.try_emplace(host, 0);
    if (isNew) known->second = add(at, Node{NodeKind::NvSwitch, host, 0, "nvs0", 0, -1, "", "", 0});
    return known->second;
  }

  void joinGpus() {
    std::map<std::pair<int, std::string>, int> gpus;
    for (const int gpu : graph_.all(NodeKind::Gpu)) {
      gpus[{graph_.node(gpu).host, graph_.node(gpu).busId}] = gpu;
    }
    // NVLinks to several switches count as links to one: any switch reaches every GPU.
    std::map<std::pair<int, int>, Link> links;
    std::map<std::pair<int, int>, const XmlElement*> places;
    for (const NvLinks& nv : nvLinks_) {
      const std::string& busId = source_.need(*nv.element, "target");
      const std::string* tclass = nv.element->find("tclass");
      const auto count =
          static_cast<int>(source_.whole(*nv.element, "count", 1, Graph::kMostCount, 1));
      const int host = graph_.node(nv.gpu).host;
      int other = -1;
      if (tclass != nullptr && tclass->starts_with("0x0680")) {
        other = nvSwitch(*nv.element, host);
      } else if (const auto found = gpus.find({host, busId}); found != gpus.end()) {
        other = found->second;
      } else if (tclass != nullptr && tclass->starts_with("0x03")) {
        continue;  // A GPU that this job does not see.
      } else {
        source_.refuse(*nv.element,
                       format("target is \"%.40s\", which is no GPU here, and tclass is "
                              "not an NVSwitch's, 0x068000",
                              busId.c_str()));
      }
      // A pair of GPUs tells of its links twice.
      const std::pair<int, int> ends = std::minmax(nv.gpu, other);
      const bool isSwitch = graph_.node(other).kind == NodeKind::NvSwitch;
      Link& link = links
                       .try_emplace(ends, Link{LinkKind::NvLink, ends.first, ends.second, 0,
                                               isSwitch ? kNvLinkLatency : 2 * kNvLinkLatency, 0})
                       .first->second;
      if (!isSwitch && link.count > 0 && nv.gpu == ends.second) continue;
      link.count += count;
      link.bytesPerSecond += nvLinkBytes(nv.sm) * static_cast<uint64_t>(count);
      places[ends] = nv.element;
    }
    for (const auto& [ends, link] : links) join(*places[ends], link);
  }

  XmlSource& source_;
  Graph graph_;
  std::map<std::string, int> hosts_;
  std::map<int, int> nvSwitches_;
  std::vector<NvLinks> nvLinks_;
};

}  // namespace

Graph readNcclXml(const XmlElement& root, XmlSource& source) { return Reader(source).read(root); }

}  // namespace rondo::topo
