#pragma once
// What the ranks of a new communicator tell each other of their hosts.

#include <string>
#include <vector>

#include "coll/link_facts.h"
#include "p2p/bootstrap.h"
#include "topo/host_sketch.h"
#include "topo/near_groups.h"

namespace rondo {

struct Options;

/// This host as its first rank tells of it, with what was measured of its links (rondo-topo
/// --measure). To `links` goes where that comes from, for people. A file that is no good is told of
/// once a process, and is no reason to fail.
topo::HostSketch sketchThisHost(const Options& options, std::string* links);

/// The hosts of a communicator, those that are alike once.
struct KnownHosts {
  std::vector<topo::HostSketch> kinds;  ///< In the order of their first ranks.
  std::vector<int> kindOf;              ///< By rank: its host's.
};

/// Collective. `hostOf`: a number for every rank, equal on one host. `hashes`: by rank, that of the
/// sketch where it is its host's first. `own`: there this rank's, nullptr on the others. Hosts that
/// are alike send a part each, so that however many there are, a sketch crosses the network about
/// once for each rank of a host.
KnownHosts gatherHosts(Bootstrap& boot, const std::vector<int>& hostOf,
                       const std::vector<uint64_t>& hashes, const topo::HostSketch* own);

/// Where ranks with these bindings sit, and what lies between them. `networkRdma`: UCX may use
/// RDMA.
LinkFacts linksBetween(const KnownHosts& hosts, const std::vector<int>& hostOf,
                       const std::vector<cpu_set_t>& bindings, bool networkRdma);

/// Whether UCX_TLS's value lets UCX use RDMA.
bool mayUseRdma(const std::string& transports);

}  // namespace rondo
