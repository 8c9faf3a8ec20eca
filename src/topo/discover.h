#pragma once
// This host as a graph: hwloc's view, NVML's NVLinks, and the RDMA ports that the kernel tells of.

#include <string>
#include <vector>

#include "topo/graph.h"

namespace rondo::topo {

struct RdmaPort {
  std::string device;  ///< "mlx5_0"
  int port;
  std::string busId;  ///< Of its card; empty: unknown.
  std::string guid;
  bool active;
  uint64_t bytesPerSecond;
};

/// Ports in /sys/class/infiniband; `root` is for tests.
std::vector<RdmaPort> readRdmaPorts(const std::string& root = "/sys/class/infiniband");

/// A card's active ports give its NIC its rate and its name.
void addRdmaPorts(Graph& graph, int host, const std::vector<RdmaPort>& ports);

/// This host, whatever of it can be seen. Takes milliseconds to a second.
Graph discoverHost();

}  // namespace rondo::topo
