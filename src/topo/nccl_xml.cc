#include "topo/nccl_xml.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

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
    for (const XmlElement& child : element.children) addChild(child, element, host, above);
  }
  void addChild(const XmlElement& child, const XmlElement& parent, int host, int above) {
    if (child.name == "pci")
      addPci(child, host, above);
    else if (child.name == "nic")
      addNic(child, host, above, {});
    else
      source_.unknown(child, parent.name);
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
    if (inner != nullptr && inner->name == "gpu") return addGpu(element, host, above);
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
        const std::string id = gpu ? gpuName(element, host) : name(host, kind);
        const int leaf = add(element, Node{kind, host, 0, id, 0, -1, "", busId, 0});
        return join(element, pciLink(element, above, leaf));
      }
    }
    const int node =
        add(element, Node{NodeKind::Pci, host, 0, name(host, NodeKind::Pci), 0, -1, "", busId, 0});
    join(element, pciLink(element, above, node));
    addBelowSwitch(element, host, node);
  }

  /// A large Broadcom switch shows itself as one above others; what lies between these is no link.
  void addBelowSwitch(const XmlElement& element, int host, int node) {
    for (const XmlElement& child : element.children) {
      if (child.name == "pci" && !child.children.empty() && isPartOfSwitch(element, child)) {
        addChildren(child, host, node);
      } else {
        addChild(child, element, host, node);
      }
    }
  }

  /// Its ids as numbers: device, subsystem's device; 0: none of a Broadcom switch.
  struct SwitchId {
    uint64_t device = 0, part = 0;
  };
  static SwitchId switchId(const XmlElement& element) {
    const auto of = [&](std::string_view attribute) -> uint64_t {
      const std::string* const text = element.find(attribute);
      return text != nullptr ? std::strtoull(text->c_str(), nullptr, 16) : 0;
    };
    if (of("vendor") != 0x1000 || of("subsystem_vendor") != 0x1000) return {};
    return {of("device"), of("subsystem_device") >> 12};
  }
  static bool isPartOfSwitch(const XmlElement& above, const XmlElement& below) {
    const SwitchId a = switchId(above), b = switchId(below);
    if (a.device != b.device) return false;
    // PCIe 4: all parts alike; PCIe 5: the upper one is told from those below it.
    return (a.device == 0xc010 && a.part == 0xa && b.part == 0xa) ||
           (a.device == 0xc030 && a.part == 0 && b.part == 1);
  }

  /// By its dev, or by the next number that is free.
  std::string gpuName(const XmlElement& element, int host) {
    const int next = graph_.count(NodeKind::Gpu, host);
    auto number =
        static_cast<int>(source_.whole(element, "dev", 0, 4095, static_cast<uint64_t>(next)));
    if (!numbers_.insert({host, number}).second) {
      number = next;
      while (!numbers_.insert({host, number}).second) ++number;
      // As where each GPU is in a container of its own.
      source_.note(element, "several GPUs of one host have the same dev; they are numbered anew");
    }
    return "gpu" + std::to_string(number);
  }

  void addGpu(const XmlElement& element, int host, int above) {
    const XmlElement& inner = element.children.front();
    const auto sm = static_cast<int>(source_.whole(inner, "sm", 10, 999, 90));
    const int gpu = add(inner, Node{NodeKind::Gpu, host, 0, gpuName(inner, host), 0, -1,
                                    "sm" + std::to_string(sm), *element.find("busid"), 0});
    join(element, pciLink(element, above, gpu));
    for (const XmlElement& link : inner.children) {
      if (link.name == "nvlink")
        nvLinks_.push_back({gpu, &link, sm});
      else if (link.name == "c2c")
        addC2c(link, host, gpu);
      else
        source_.unknown(link, inner.name);
    }
    if (element.children.size() > 1) {
      source_.note(element.children[1],
                   "a <pci> has several elements: its first, a <gpu>, is the device, and the "
                   "others (a GPU's partitions, as an example) are left out");
    }
  }

  struct Place {
    const XmlElement* pci = nullptr;
    std::string busId = {};
  };
  /// A card's ports are one NIC here: they share its PCIe link.
  void addNic(const XmlElement& element, int host, int above, const Place& place) {
    if (element.name != "nic") return source_.unknown(element, "pci");
    uint64_t megabits = 0;
    std::string model, dev;
    for (const XmlElement& net : element.children) {
      if (net.name != "net") {
        source_.unknown(net, element.name);
        continue;
      }
      if (const std::string* id = net.find("name"); id != nullptr && model.empty()) model = *id;
      if (const std::string* id = net.find("dev"); id != nullptr && dev.empty()) dev = *id;
      megabits += source_.whole(net, "speed", 0, 100'000'000, 10'000);
    }
    if (element.children.empty()) return;
    // One without a PCIe device hangs on the first CPU that a rank found: each rank on its own.
    if (place.pci == nullptr && !model.empty() && !onCpus_.insert({host, {model, dev}}).second) {
      return source_.note(element, "a <nic> of one name hangs on several CPUs; it counts once");
    }
    const int nic = add(element, Node{NodeKind::Nic, host, 0, name(host, NodeKind::Nic), 0, -1,
                                      model, place.busId, megabits * 125'000});
    if (place.pci != nullptr) return join(*place.pci, pciLink(*place.pci, above, nic));
    // On the CPU itself: as fast as its port.
    join(element, {LinkKind::Pci, above, nic, bytesOnCpu(megabits * 125'000), kPciLatency});
  }

  void addC2c(const XmlElement& element, int host, int gpu) {
    const uint64_t bytes =
        source_.whole(element, "bw", 1, Graph::kMostBandwidth / 1'000'000, 0) * 1'000'000;
    const uint64_t count = source_.whole(element, "count", 1, Graph::kMostCount, 1);
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
      } else if (graph_.node(nv.gpu).busId == busId) {
        source_.note(*nv.element, "an <nvlink> ends at its own GPU; such links are left out");
        continue;
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
    joinNvSwitches(links);
  }

  /// NCCL writes several hosts into one file if their NVLinks are one fabric.
  void joinNvSwitches(const std::map<std::pair<int, int>, Link>& links) {
    if (nvSwitches_.size() < 2) return;
    std::map<int, Link> into;
    const int fabric = graph_.addNode(Node{NodeKind::Switch, -1, 0, "nvlinks", 0, -1, "", "", 0});
    for (const auto& [ends, link] : links) {
      for (const int end : {ends.first, ends.second}) {
        if (graph_.node(end).kind != NodeKind::NvSwitch) continue;
        Link& sum =
            into.try_emplace(end, Link{LinkKind::NvLink, end, fabric, 0, 0, 0}).first->second;
        sum.bytesPerSecond += link.bytesPerSecond;
        sum.count += link.count;
      }
    }
    for (auto& [nvSwitch, link] : into) {
      link.count = std::min(link.count, Graph::kMostCount);
      link.bytesPerSecond = std::min(link.bytesPerSecond, Graph::kMostBandwidth);
      graph_.addLink(link);
    }
  }

  XmlSource& source_;
  Graph graph_;
  std::map<std::string, int> hosts_;
  std::map<int, int> nvSwitches_;
  std::vector<NvLinks> nvLinks_;
  std::set<std::pair<int, int>> numbers_;  // of GPUs: host, number
  /// NICs without a PCIe device: host, name and dev.
  std::set<std::pair<int, std::pair<std::string, std::string>>> onCpus_;
};

}  // namespace

Graph readNcclXml(const XmlElement& root, XmlSource& source) { return Reader(source).read(root); }

}  // namespace rondo::topo
