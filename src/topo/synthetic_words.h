#pragma once
// A synthetic description, taken apart: what it says, before it becomes a graph.

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::topo {

/// 0: not said.
struct MachineWords {
  int hosts = 1;
  int cpus = 0, cores = 0;
  uint64_t socket = 0, memory = 0;
  int pcis = 0;
  uint64_t pciUp = 0;
  int gpus = 0, nvlinks = 0;
  uint64_t nvlink = 0, gpuPcie = 0, c2c = 0;
  bool nvswitch = false, mesh = false, ring = false;  ///< How NVLinks join the GPUs.
  std::string model;
  int nics = 0;
  uint64_t nic = 0, nicPcie = 0;
  enum class Fabric { Switch, Rail, FatTree } fabric = Fabric::Switch;
  int ports = 0, spines = 0;
  uint64_t latency = 0;  ///< Picoseconds.
};

MachineWords parseMachine(const std::string& text);

}  // namespace rondo::topo
