#pragma once
// What was measured of a machine's links: how it is taken from copies, and the file in which later
// jobs on machines of that model find it. The file is a <rondo-topology> of one host; a link's
// bandwidth and latency are what the machine claimed, measured_bandwidth and measured_latency what
// holds (docs/topology.md).

#include <cstdint>
#include <string>
#include <vector>

#include "topo/graph.h"
#include "topo/host_sketch.h"

namespace rondo::topo {

/// Makes links of what went over ways between two nodes.
class WayTimes {
 public:
  explicit WayTimes(Graph& graph) : graph_(graph), set_(graph.links().size()) {}

  /// So many bytes a second went from `a` to `b` alone, over the way that the graph has for
  /// `kinds`. Links that end at a GPU have what the first way over them found. Of the others, and
  /// of all that is found later, only that much is known: they have it if they claimed less. False:
  /// there is no such way.
  bool add(int a, int b, uint64_t bytesPerSecond, unsigned kinds);

 private:
  Graph& graph_;
  std::vector<bool> set_;  // by link
};

/// "links-0123456789abcdef.xml", by machineModel().
std::string linksFileName(uint64_t machine);

/// Gives `host` of `graph` what was measured of `measured`, which has one host. Nodes are known by
/// their names, and by their bus ids where both have one. Returns how many measured links `host`
/// does not have, and the first of them ("pci cpu0 gpu7").
struct Missing {
  size_t links = 0;
  std::string first;
};
Missing mergeMeasured(const Graph& measured, Graph& graph, int host);

/// Looks for the file in `dirs`, and merges the first one that is there. A file that is no good is
/// not used. Throws nothing but for want of memory; what is to be said about it is returned, a
/// sentence each.
std::vector<std::string> applyMeasured(uint64_t machine, const std::vector<std::string>& dirs,
                                       Graph& graph, int host);

/// What a job knows of measured links, for people.
struct LinksFound {
  /// "/etc/rondo/links-..xml: 5 measured links, 1 of them between packages or to a network card".
  std::string text;
  std::string warning = {};  ///< A file is there and was not used: why; else empty.
};

/// As applyMeasured(), to what a communicator's graph has of a host: the links between its packages
/// and the ways to its cards. Packages are known by their numbers ("cpu1"), cards by their bus ids,
/// `cards`. Of a way that was measured in part what was measured counts. Builds without libxml2's
/// headers use no file, and say so.
LinksFound sketchMeasured(uint64_t machine, const std::vector<std::string>& dirs,
                          const std::vector<std::string>& cards, HostSketch* sketch);

}  // namespace rondo::topo
