#pragma once
// RDMA ports, as the kernel tells of them.

#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace rondo::topo
