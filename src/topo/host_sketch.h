#pragma once
// What ranks of other hosts are told of a host, and the graph that the hosts of a communicator
// make.

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "topo/graph.h"
#include "topo/node_facts.h"

namespace rondo::topo {

/// A card that is joined to a network, and tells how fast.
struct NicSketch {
  uint64_t bytesPerSecond = 0;
  int32_t package = 0;  ///< That it hangs on.
  uint32_t rdma = 0;    ///< 1: it is asked through RDMA; 0: it is an Ethernet card.
  // What was measured between its package and it (topo/measured_links.h); 0: nothing.
  uint64_t pciBytes = 0, pciPicoseconds = 0;
};
constexpr int kMostNics = 32;

/// The link between two packages, where it was measured; 0: that was not.
struct SocketSketch {
  int32_t a = 0, b = 0;
  uint64_t bytesPerSecond = 0, picoseconds = 0;
};
constexpr int kMostSockets = 28;  ///< All of eight packages.

/// Plain numbers without gaps: hosts that are alike have equal bytes, whatever their names are.
struct HostSketch {
  NodeFacts node;
  uint32_t nics = 0;
  uint32_t sockets = 0;  ///< That were measured.
  NicSketch nic[kMostNics] = {};
  SocketSketch socket[kMostSockets] = {};

  bool hasRdma() const;
  uint64_t hash() const;
};
static_assert(std::has_unique_object_representations_v<HostSketch>);

/// This host as it describes itself, without I/O through hwloc: milliseconds the first time, then
/// its cards alone are looked at anew. To `cards` go its cards' bus ids, in their order. `sys` is
/// for tests.
HostSketch readHostSketch(std::vector<std::string>* cards, const std::string& sys = "/sys");
/// Its cards alone: active RDMA ports, and Ethernet interfaces that are up and of a card (virtual
/// ones name speeds that nobody measured). `places`: to tell packages by NUMA nodes.
void readNics(const std::string& sys, HostSketch* sketch, std::vector<std::string>* cards);

/// One host for each sketch, "host0" and so on, their packages joined, and their cards of one kind
/// (RDMA or Ethernet) joined by one network switch. What was measured holds; what nobody tells is
/// as in usual_links.h.
Graph joinHosts(std::span<const HostSketch* const> hosts, bool rdma);

}  // namespace rondo::topo
