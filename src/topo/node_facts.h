#pragma once
// What the ranks of one host know about it.

#include <cstdint>
#include <string>

namespace rondo {

/// Where processing units may lie together, the nearest first.
enum class Near { L3, Numa, Package };
constexpr int kNearLevels = 3;

/// In which L3, NUMA node and package each processing unit lies, by the kernel's number.
struct CpuPlaces {
  static constexpr int kMostCpus = 1024;  ///< As in a cpu_set_t.
  static constexpr uint8_t kNowhere = 255;
  uint8_t at[kNearLevels][kMostCpus];
};

/// Plain numbers, so that one rank can read them and hand the bytes to the others.
struct NodeFacts {
  uint32_t packages = 1;
  uint32_t numaNodes = 1;
  uint32_t cores = 1;      ///< Physical cores.
  uint32_t hwThreads = 1;  ///< Processing units.
  uint64_t l2Bytes = 0;    ///< Of one core's L2; 0: unknown.
  uint64_t l3Bytes = 0;    ///< Of one L3; 0: unknown.
  char cpuModel[64] = {};  ///< As its maker calls it; may be empty.
  CpuPlaces places = {};
};

/// Reads hwloc without I/O devices. Takes milliseconds, 20 where there are many CPUs: one rank a
/// host calls it and shares the result.
NodeFacts readNodeFacts();
/// What that told this process the first time: a machine stays what it is, and a process may make
/// many communicators. Any thread.
const NodeFacts& ownNodeFacts();

/// Equal for machines of one model: processors, caches and how they lie, without names, serial
/// numbers and devices. What rondo-tune's files are found by.
uint64_t machineModel(const NodeFacts& facts);

/// Processing units that this process may run on (sched_getaffinity).
uint32_t allowedCpus();

/// A host's identity as text and as 64 bits: host name, boot id, IPC and network name space;
/// `override` (RONDO_HOSTID or the configuration's hostId, `by`), if not empty, stands for all of
/// it.
struct HostId {
  uint64_t hash;
  std::string name;      ///< For sentences: the host name, and the override if there is one.
  uint64_t machine = 0;  ///< Equal for hosts that are name spaces of one kernel: they share CPUs.
};
HostId readHostId(const std::string& override, const char* by = "RONDO_HOSTID");

}  // namespace rondo
