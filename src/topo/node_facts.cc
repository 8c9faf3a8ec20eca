#include "topo/node_facts.h"

#include <hwloc.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <thread>

#include "base/error.h"

namespace rondo {
namespace {

struct TopologyDeleter {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

Topology loadTopology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw systemError("hwloc_topology_init", errno);
  Topology topology(raw);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_NONE);
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

}  // namespace

NodeFacts readNodeFacts() {
  const Topology topology = loadTopology();
  NodeFacts facts;
  facts.packages = countOf(topology.get(), HWLOC_OBJ_PACKAGE);
  facts.numaNodes = countOf(topology.get(), HWLOC_OBJ_NUMANODE);
  facts.cores = countOf(topology.get(), HWLOC_OBJ_CORE);
  facts.hwThreads = countOf(topology.get(), HWLOC_OBJ_PU);
  facts.l2Bytes = cacheBytes(topology.get(), HWLOC_OBJ_L2CACHE);
  facts.l3Bytes = cacheBytes(topology.get(), HWLOC_OBJ_L3CACHE);
  const hwloc_obj_type_t types[kNearLevels] = {HWLOC_OBJ_L3CACHE, HWLOC_OBJ_NUMANODE,
                                               HWLOC_OBJ_PACKAGE};
  for (int level = 0; level < kNearLevels; ++level) {
    placeCpus(topology.get(), types[level], facts.places.at[level]);
  }
  return facts;
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
