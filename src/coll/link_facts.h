#pragma once
// What the machine's graph says of the ways between ranks that no cache joins: between the packages
// of a host, and between hosts. The planner's costs of these ways are made of it, unless rondo-tune
// has measured them.

#include <cstdint>
#include <string>
#include <vector>

#include "coll/costs.h"
#include "topo/graph.h"

namespace rondo {

/// Agreed by all ranks; integers, so that every rank computes the same.
struct LinkFacts {
  /// By rank: the package that its CPUs lie in, numbered over all hosts; -1: in several. Empty: all
  /// are in one, or nothing is known.
  std::vector<int> package;
  /// By rank; empty: they are on one, or nothing is known.
  std::vector<int> host;
  bool acrossHosts = false;  ///< The planner's groups are hosts.
  bool rdma = false;         ///< The cards between hosts move data without the CPUs.
  // Of the narrowest way between two of them; 0: not known. Measured: some link of such a way was
  // (topo/measured_links.h), and is not as the machine claims.
  bool packagesMeasured = false, hostsMeasured = false;
  uint64_t packageBytes = 0, packageLatency = 0;
  uint64_t hostBytes = 0, hostLatency = 0;
  // Bytes/s into a package (host) over all its links, and as many out of it; 0: not known.
  uint64_t intoPackage = 0, intoHost = 0;
  // What a message from another package of the host costs more, in place of what one from another
  // group does.
  uint64_t apartMessage = 0, apartPerKiB = 0;

  bool apart(int a, int b) const {
    if (package.empty()) return false;
    const int pa = package[static_cast<size_t>(a)], pb = package[static_cast<size_t>(b)];
    return pa >= 0 && pb >= 0 && pa != pb && sameHost(a, b);
  }
  bool sameHost(int a, int b) const {
    return host.empty() || host[static_cast<size_t>(a)] == host[static_cast<size_t>(b)];
  }
  /// For people; empty: there is nothing that choices could depend on.
  std::string text() const;
};

/// Where a rank is.
struct Seat {
  int host;            ///< Equal for ranks of one host.
  int cpu;             ///< A node of the graph: of the host, or of one that is like it.
  bool bound = false;  ///< To this CPU (package) alone.
};

/// The ways between these ranks, by paths through the graph; the worst of several. Apart costs are
/// left to setCosts().
LinkFacts linkFactsOf(const topo::Graph& graph, const std::vector<Seat>& seats);

/// By field of costFields(), a bit each: measured by rondo-tune.
using MeasuredCosts = uint64_t;
constexpr MeasuredCosts kAllMeasured = ~MeasuredCosts{0};

struct CommFacts;
/// Makes `costs` the communicator's: what nobody measured of the ways between packages and hosts
/// comes from the links.
void setCosts(HostCosts costs, MeasuredCosts measured, CommFacts* facts);

}  // namespace rondo
