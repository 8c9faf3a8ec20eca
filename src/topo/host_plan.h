#pragma once
// Hosts as rings and trees pass through them.

#include <vector>

#include "topo/paths.h"

namespace rondo::topo {

constexpr unsigned kInsideHost = kAllLinks & ~linkBit(LinkKind::Network);

/// Where a channel comes in: a NIC, by its number in the host, and the index of the place near it.
struct Door {
  int nic;
  int place;
  int nicOut = 0;  ///< Where a ring that came in here goes out: each NIC is one door's.
};

struct HostPlan {
  std::vector<int> places;               ///< Its GPUs, or CPUs.
  std::vector<std::vector<int>> cycles;  ///< Of indices of places; at least one.
  std::vector<Door> doors;               ///< One for each NIC.
};

/// Every pair of places is looked at, and every pair of a place and a NIC.
constexpr size_t kMostHostPlaces = 256, kMostHostNics = 256;

/// All hosts that have places, in order; equal ones are searched once. `kinds` becomes the links
/// inside a host that are used: NVLinks alone where each host has a ring over them. Throws
/// Error(rondoInvalidArgument) for hosts that are not joined or too large.
std::vector<HostPlan> planHosts(const Graph& graph, unsigned* kinds);

}  // namespace rondo::topo
