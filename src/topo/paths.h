#pragma once
// Ways through the graph: the fewest links, and among those the widest, and among those the
// quickest.

#include <cstdint>
#include <vector>

#include "topo/graph.h"

namespace rondo::topo {

struct Path {
  std::vector<Arc> arcs;        ///< In order; empty where both ends are the same node.
  uint64_t bytesPerSecond = 0;  ///< Of the narrowest link.
  uint64_t picoseconds = 0;     ///< All links' latencies.
};

/// The kinds of link that a path may use, a bit each.
constexpr unsigned linkBit(LinkKind kind) { return 1u << static_cast<unsigned>(kind); }
constexpr unsigned kAllLinks = (1u << kLinkKinds) - 1;

/// Looks for paths; keeps its memory between calls, so that a search costs what it looks at.
class PathFinder {
 public:
  explicit PathFinder(const Graph& graph);

  /// False: there is none. Where several ways are equally good, the link by which the path came in
  /// picks one, `choice` further, as a fat tree's static routing does; among NICs the number of the
  /// GPU they serve.
  bool find(int from, int to, Path* path, uint64_t choice = 0, unsigned kinds = kAllLinks);

 private:
  struct Mark {
    uint32_t epoch = 0;
    int hops = 0;
    uint64_t width = 0, latency = 0;
  };
  bool reach(int from, int to, unsigned kinds);
  uint64_t port(int node, const Path& path) const;

  const Graph& graph_;
  std::vector<Mark> marks_;  // by node: how `to` is reached from it
  std::vector<int> level_, next_;
  uint32_t epoch_ = 0;
};

/// "host0/gpu0 - pci0 - cpu0".
std::string pathText(const Graph& graph, int from, const Path& path);

}  // namespace rondo::topo
