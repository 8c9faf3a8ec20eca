#include "topo/nvml.h"

#include <algorithm>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/shared_library.h"
#include "topo/pci_speeds.h"

namespace rondo::topo {
namespace {

constexpr unsigned kMostNvLinks = 18;  // NVML_NVLINK_MAX_LINKS
constexpr uint64_t kNvLinkLatency = 250'000, kPciLatency = 250'000;
constexpr uint64_t kPciBytes = 63'015'384'608;

// NVML's own, as its ABI has them.
using Device = void*;
struct PciInfo {
  char busIdLegacy[16];
  unsigned domain, bus, device, deviceId, subsystemId;
  char busId[32];
};
enum RemoteType : unsigned { kRemoteGpu = 0, kRemoteIbmNpu = 1, kRemoteSwitch = 2 };

/// The functions that are used; loaded() says whether all are there.
class Nvml {
 public:
  explicit Nvml(const char* library) : library_({library}) {
    library_.need("nvmlInit_v2", &init);
    library_.need("nvmlShutdown", &shutdown);
    library_.need("nvmlDeviceGetCount_v2", &count);
    library_.need("nvmlDeviceGetHandleByIndex_v2", &handleOf);
    library_.need("nvmlDeviceGetName", &name);
    library_.need("nvmlDeviceGetPciInfo_v3", &pciInfo);
    library_.need("nvmlDeviceGetCudaComputeCapability", &capability);
    library_.need("nvmlDeviceGetNvLinkState", &linkState);
    library_.need("nvmlDeviceGetNvLinkRemotePciInfo_v2", &remotePci);
    // Not in older drivers: a remote device that is no GPU is taken for a switch then.
    library_.find("nvmlDeviceGetNvLinkRemoteDeviceType", &remoteType);
    if (library_.complete()) started_ = init() == 0;
  }
  ~Nvml() {
    if (started_) shutdown();
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  bool loaded() const { return started_; }

  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handleOf)(unsigned, Device*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*pciInfo)(Device, PciInfo*) = nullptr;
  int (*capability)(Device, int*, int*) = nullptr;
  int (*linkState)(Device, unsigned, unsigned*) = nullptr;
  int (*remotePci)(Device, unsigned, PciInfo*) = nullptr;
  int (*remoteType)(Device, unsigned, unsigned*) = nullptr;

 private:
  SharedLibrary library_;
  bool started_ = false;
};

std::string busIdText(const PciInfo& pci) {
  return format("%04x:%02x:%02x.0", pci.domain, pci.bus, pci.device);
}

std::vector<NvLinkEnd> readLinks(const Nvml& nvml, Device device, int capability) {
  std::vector<NvLinkEnd> links;
  for (unsigned l = 0; l < kMostNvLinks; ++l) {
    unsigned active = 0;
    if (nvml.linkState(device, l, &active) != 0 || active == 0) continue;
    NvLinkEnd end{"", true, nvLinkBytes(capability)};
    PciInfo pci{};
    if (nvml.remotePci(device, l, &pci) == 0) end.busId = busIdText(pci);
    unsigned type = kRemoteSwitch;
    // A virtual machine sees links, and nothing at their other end: that is a switch.
    if (nvml.remoteType != nullptr && nvml.remoteType(device, l, &type) == 0) {
      end.isSwitch = type == kRemoteSwitch;
    }
    links.push_back(end);
  }
  return links;
}

}  // namespace

std::vector<NvmlGpu> readNvml(const char* library) {
  std::vector<NvmlGpu> gpus;
  const Nvml nvml(library);
  unsigned count = 0;
  if (!nvml.loaded() || nvml.count(&count) != 0) return gpus;
  for (unsigned g = 0; g < count; ++g) {
    Device device = nullptr;
    PciInfo pci{};
    if (nvml.handleOf(g, &device) != 0 || nvml.pciInfo(device, &pci) != 0) continue;
    char name[96] = {};
    int major = 0, minor = 0;
    if (nvml.name(device, name, sizeof name - 1) != 0) name[0] = '\0';
    if (nvml.capability(device, &major, &minor) != 0) major = minor = 0;
    const int capability = 10 * major + minor;
    gpus.push_back({busIdText(pci), name, capability, readLinks(nvml, device, capability)});
  }
  return gpus;
}

void addNvLinks(Graph& graph, int host, const std::vector<NvmlGpu>& gpus) {
  std::map<std::string, int> known;
  for (const int gpu : graph.all(NodeKind::Gpu, host)) known[graph.node(gpu).busId] = gpu;
  std::vector<int> nodes;
  for (const NvmlGpu& gpu : gpus) {
    auto [found, isNew] = known.try_emplace(gpu.busId, -1);
    if (isNew) {
      const std::string name = "gpu" + std::to_string(graph.count(NodeKind::Gpu, host));
      found->second =
          graph.addNode(Node{NodeKind::Gpu, host, 0, name, 0, -1, gpu.model, gpu.busId, 0});
      const std::vector<int> cpus = graph.all(NodeKind::Cpu, host);
      if (!cpus.empty()) {
        graph.addLink({LinkKind::Pci, cpus[0], found->second, kPciBytes, kPciLatency});
      }
    }
    nodes.push_back(found->second);
  }
  std::map<std::pair<int, int>, Link> links;
  int nvswitch = -1;
  for (size_t g = 0; g < gpus.size(); ++g) {
    for (const NvLinkEnd& end : gpus[g].links) {
      int other = -1;
      if (const auto peer = known.find(end.busId); peer != known.end()) {
        // Both ends tell of it.
        if (peer->second <= nodes[g]) continue;
        other = peer->second;
      } else if (end.isSwitch) {
        if (nvswitch < 0) {
          nvswitch = graph.addNode(Node{NodeKind::NvSwitch, host, 0, "nvs0", 0, -1, "", "", 0});
        }
        other = nvswitch;
      } else {
        continue;  // A GPU that this process does not see.
      }
      const uint64_t latency = other == nvswitch ? kNvLinkLatency : 2 * kNvLinkLatency;
      Link& link = links
                       .try_emplace({nodes[g], other},
                                    Link{LinkKind::NvLink, nodes[g], other, 0, latency, 0})
                       .first->second;
      link.bytesPerSecond += end.bytesPerSecond;
      ++link.count;
    }
  }
  for (const auto& [ends, link] : links) graph.addLink(link);
}

}  // namespace rondo::topo
