#include "topo/node_facts.h"

#include <hwloc.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/hash.h"

namespace rondo {
namespace {

struct TopologyDeleter {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

/// Who tells of the CPUs. The CPUs themselves are asked by moving the calling thread to each of
/// them in turn, also to those where other ranks run: 15 to 20 ms on 64 of them instead of 8 to 14
/// (2026-11-27).
enum class Asked { kKernel, kCpus };

Topology loadTopology(Asked asked) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw systemError("hwloc_topology_init", errno);
  Topology topology(raw);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_NONE);
#if HWLOC_API_VERSION >= 0x00020100
  if (asked == Asked::kKernel) {
    hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  }
#else
  static_cast<void>(asked);
#endif
  if (hwloc_topology_load(raw) != 0) throw systemError("hwloc_topology_load", errno);
  return topology;
}

// A type that this machine does not tell about counts as one.
uint32_t countOf(hwloc_topology_t topology, hwloc_obj_type_t type) {
  const int count = hwloc_get_nbobjs_by_type(topology, type);
  return count > 0 ? static_cast<uint32_t>(count) : 1;
}

uint64_t cacheBytes(hwloc_topology_t topology, hwloc_obj_type_t type) {
  const hwloc_obj_t cache = hwloc_get_obj_by_type(topology, type, 0);
  return cache != nullptr && cache->attr != nullptr ? cache->attr->cache.size : 0;
}

/// Numbers the objects of a type, and notes each in its processing units.
void placeCpus(hwloc_topology_t topology, hwloc_obj_type_t type, uint8_t* at) {
  std::fill_n(at, CpuPlaces::kMostCpus, CpuPlaces::kNowhere);
  uint8_t number = 0;
  for (hwloc_obj_t object = nullptr;
       (object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr; ++number) {
    if (number == CpuPlaces::kNowhere) return;  // the rest counts as unknown
    for (int cpu = -1; (cpu = hwloc_bitmap_next(object->cpuset, cpu)) >= 0;) {
      if (cpu < CpuPlaces::kMostCpus) at[cpu] = number;
    }
  }
}

void copyModel(hwloc_topology_t topology, NodeFacts* facts) {
  const hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
  const char* const model =
      package != nullptr ? hwloc_obj_get_info_by_name(package, "CPUModel") : nullptr;
  if (model != nullptr) std::string(model).copy(facts->cpuModel, sizeof facts->cpuModel - 1);
}

}  // namespace

NodeFacts readNodeFacts() {
  Topology topology = loadTopology(Asked::kKernel);
  // A kernel that knows of no caches may lack more.
  if (cacheBytes(topology.get(), HWLOC_OBJ_L2CACHE) == 0) topology = loadTopology(Asked::kCpus);
  NodeFacts facts;
  facts.packages = countOf(topology.get(), HWLOC_OBJ_PACKAGE);
  facts.numaNodes = countOf(topology.get(), HWLOC_OBJ_NUMANODE);
  facts.cores = countOf(topology.get(), HWLOC_OBJ_CORE);
  facts.hwThreads = countOf(topology.get(), HWLOC_OBJ_PU);
  facts.l2Bytes = cacheBytes(topology.get(), HWLOC_OBJ_L2CACHE);
  facts.l3Bytes = cacheBytes(topology.get(), HWLOC_OBJ_L3CACHE);
  copyModel(topology.get(), &facts);
  const hwloc_obj_type_t types[kNearLevels] = {HWLOC_OBJ_L3CACHE, HWLOC_OBJ_NUMANODE,
                                               HWLOC_OBJ_PACKAGE};
  for (int level = 0; level < kNearLevels; ++level) {
    placeCpus(topology.get(), types[level], facts.places.at[level]);
  }
  return facts;
}

const NodeFacts& ownNodeFacts() {
  static const NodeFacts facts = readNodeFacts();  // again next time, if it throws
  return facts;
}

uint64_t machineModel(const NodeFacts& facts) {
  std::string text = facts.cpuModel;
  for (const uint64_t number :
       {uint64_t{facts.packages}, uint64_t{facts.numaNodes}, uint64_t{facts.cores},
        uint64_t{facts.hwThreads}, facts.l2Bytes, facts.l3Bytes}) {
    text += " " + std::to_string(number);
  }
  // How many processing units lie together, whatever the kernel's numbers for them.
  for (const auto& level : facts.places.at) {
    std::map<int, int> sizes;
    for (const uint8_t place : level) {
      if (place != CpuPlaces::kNowhere) ++sizes[place];
    }
    std::vector<int> sorted;
    for (const auto& [place, size] : sizes) sorted.push_back(size);
    std::sort(sorted.begin(), sorted.end());
    text += "/";
    for (const int size : sorted) text += " " + std::to_string(size);
  }
  return mixBits(hashBytes(text));
}

uint32_t allowedCpus() {
  // The kernel refuses a set smaller than its own number of CPUs.
  for (int bits = 1024; bits <= 1 << 20; bits *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(bits),
                                                               [](cpu_set_t* s) { CPU_FREE(s); });
    const size_t bytes = CPU_ALLOC_SIZE(bits);
    if (set != nullptr && sched_getaffinity(0, bytes, set.get()) == 0) {
      const int count = CPU_COUNT_S(bytes, set.get());
      return count > 0 ? static_cast<uint32_t>(count) : 1;
    }
    if (errno != EINVAL) break;
  }
  const unsigned all = std::thread::hardware_concurrency();
  return all > 0 ? all : 1;
}

}  // namespace rondo
