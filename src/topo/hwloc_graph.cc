#include "topo/hwloc_graph.h"

#include <hwloc.h>
#include <cmath>

#include <cerrno>
#include <map>
#include <memory>

#include "base/error.h"
#include "topo/usual_links.h"

namespace rondo::topo {
namespace {

struct TopologyDeleter {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;
using Pci = hwloc_obj_attr_u::hwloc_pcidev_attr_s;

Topology open() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw systemError("hwloc_topology_init", errno);
  Topology topology(raw);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_NONE);
  return topology;
}

class Builder {
 public:
  Builder(hwloc_topology_t topology, const std::string& host) : topology_(topology) {
    host_ = graph_.addHost(host);
  }

  Graph build() {
    addPackages();
    addNumaNodes();
    for (hwloc_obj_t bridge = nullptr;
         (bridge = hwloc_get_next_bridge(topology_, bridge)) != nullptr;) {
      const bool isHost = bridge->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST;
      if (isHost) addBelow(bridge, cpuOf(bridge));
    }
    return std::move(graph_);
  }

 private:
  int add(NodeKind kind, Node node = {}) {
    node.kind = kind;
    node.host = host_;
    node.name = nodeKindName(kind) + std::to_string(graph_.count(kind, host_));
    return graph_.addNode(node);
  }

  void addPackages() {
    const int packages = hwloc_get_nbobjs_by_type(topology_, HWLOC_OBJ_PACKAGE);
    for (int p = 0; p < packages; ++p) {
      const hwloc_obj_t package =
          hwloc_get_obj_by_type(topology_, HWLOC_OBJ_PACKAGE, static_cast<unsigned>(p));
      addCpu(package->cpuset, hwloc_obj_get_info_by_name(package, "CPUModel"));
    }
    if (packages < 1) addCpu(hwloc_get_root_obj(topology_)->cpuset, nullptr);
    for (size_t a = 0; a < cpus_.size(); ++a) {
      for (size_t b = a + 1; b < cpus_.size(); ++b) {
        graph_.addLink(
            {LinkKind::Socket, cpus_[a].node, cpus_[b].node, kSocketBytes, kSocketLatency});
      }
    }
  }
  void addCpu(hwloc_const_cpuset_t cpuset, const char* model) {
    Node node{};
    node.cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology_, cpuset, HWLOC_OBJ_CORE);
    if (node.cores < 1) node.cores = hwloc_bitmap_weight(cpuset);
    if (node.cores < 1) node.cores = 1;
    node.numa = -1;
    if (model != nullptr) node.model = model;
    cpus_.push_back({add(NodeKind::Cpu, node), cpuset});
  }

  void addNumaNodes() {
    const int count = hwloc_get_nbobjs_by_type(topology_, HWLOC_OBJ_NUMANODE);
    for (int i = 0; i < count; ++i) {
      const hwloc_obj_t numa =
          hwloc_get_obj_by_type(topology_, HWLOC_OBJ_NUMANODE, static_cast<unsigned>(i));
      Node node{};
      node.numa = static_cast<int>(numa->os_index);
      const int memory = add(NodeKind::Numa, node);
      graph_.addLink({LinkKind::Memory, cpuOf(numa), memory, kMemoryBytes, kMemoryLatency});
    }
  }

  /// The package that an object's CPUs lie in; the first one where there are several.
  int cpuOf(hwloc_obj_t object) const {
    while (object != nullptr && object->cpuset == nullptr) object = object->parent;
    for (const Cpu& cpu : cpus_) {
      if (object != nullptr && hwloc_bitmap_intersects(object->cpuset, cpu.cpuset)) return cpu.node;
    }
    return cpus_.front().node;
  }

  static bool has(hwloc_obj_t pci, hwloc_obj_osdev_type_t type) {
    for (hwloc_obj_t child = pci->io_first_child; child != nullptr; child = child->next_sibling) {
      if (child->type == HWLOC_OBJ_OS_DEVICE && child->attr->osdev.type == type) return true;
    }
    return false;
  }
  static std::string busId(const Pci& pci) {
    return format("%04x:%02x:%02x.%x", static_cast<unsigned>(pci.domain),
                  static_cast<unsigned>(pci.bus), static_cast<unsigned>(pci.dev),
                  static_cast<unsigned>(pci.func));
  }
  void join(int above, int below, float gigabytes) {
    uint64_t bytes = kPciBytes;
    if (gigabytes > 0)
      bytes =
          static_cast<uint64_t>(std::llround(static_cast<double>(gigabytes) * 1000)) * 1'000'000;
    if (bytes == 0 || bytes > Graph::kMostBandwidth) bytes = kPciBytes;
    graph_.addLink({LinkKind::Pci, above, below, bytes, kPciLatency});
  }

  void addBelow(hwloc_obj_t bridge, int above) {
    for (hwloc_obj_t child = bridge->io_first_child; child != nullptr;
         child = child->next_sibling) {
      if (child->type == HWLOC_OBJ_BRIDGE)
        addBridge(child, above);
      else if (child->type == HWLOC_OBJ_PCI_DEVICE)
        addDevice(child, above);
    }
  }
  void addBridge(hwloc_obj_t bridge, int above) {
    if (bridge->attr->bridge.upstream_type != HWLOC_OBJ_BRIDGE_PCI) return addBelow(bridge, above);
    const Pci& pci = bridge->attr->bridge.upstream.pci;
    Node node{};
    node.numa = -1;
    node.busId = busId(pci);
    const int here = add(NodeKind::Pci, node);
    join(above, here, pci.linkspeed);
    addBelow(bridge, here);
  }
  void addDevice(hwloc_obj_t device, int above) {
    const Pci& pci = device->attr->pcidev;
    const unsigned base = pci.class_id >> 8;
    // Display controllers of other makers are consoles.
    const bool gpu = base == 0x03 && pci.vendor_id == 0x10de;
    const bool nic =
        has(device, HWLOC_OBJ_OSDEV_OPENFABRICS) || has(device, HWLOC_OBJ_OSDEV_NETWORK);
    if (!gpu && !nic) return;
    Node node{};
    node.numa = -1;
    node.busId = busId(pci);
    for (hwloc_obj_t os = device->io_first_child; os != nullptr; os = os->next_sibling) {
      const bool rdma = os->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS;
      if (nic && os->name != nullptr && (node.model.empty() || rdma)) node.model = os->name;
    }
    if (const char* model = hwloc_obj_get_info_by_name(device, "PCIDevice");
        gpu && model != nullptr) {
      node.model = model;
    }
    join(above, add(gpu ? NodeKind::Gpu : NodeKind::Nic, node), pci.linkspeed);
  }

  struct Cpu {
    int node;
    hwloc_const_cpuset_t cpuset;
  };
  hwloc_topology_t topology_;
  Graph graph_;
  int host_;
  std::vector<Cpu> cpus_;
};

}  // namespace

Graph readThisHost(const std::string& hostName) {
  const Topology topology = open();
  if (hwloc_topology_load(topology.get()) != 0) throw systemError("hwloc_topology_load", errno);
  return Builder(topology.get(), hostName).build();
}

Graph readHwlocXml(const std::string& xml, const std::string& name) {
  const Topology topology = open();
  const bool taken = hwloc_topology_set_xmlbuffer(topology.get(), xml.c_str(),
                                                  static_cast<int>(xml.size()) + 1) == 0;
  if (!taken || hwloc_topology_load(topology.get()) != 0) {
    throw Error(rondoInvalidArgument,
                format("%s:1: hwloc does not take it for a machine of hwloc's XML", name.c_str()));
  }
  return Builder(topology.get(), "host0").build();
}

}  // namespace rondo::topo
