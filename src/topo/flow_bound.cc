#include "topo/flow_bound.h"

#include <algorithm>
#include <limits>

namespace rondo::topo {
namespace {

class Dinic {
 public:
  Dinic(const Graph& graph, unsigned kinds) : graph_(graph), left_(graph.arcs()) {
    for (size_t arc = 0; arc < left_.size(); ++arc) {
      const Link& link = graph.links()[arc / 2];
      left_[arc] = (linkBit(link.kind) & kinds) != 0 ? link.bytesPerSecond : 0;
    }
  }

  uint64_t run(int from, int to) {
    uint64_t flow = 0;
    while (levels(from, to)) {
      next_.assign(graph_.nodes().size(), 0);
      while (const uint64_t more = push(from, to)) flow += more;
    }
    return flow;
  }

 private:
  static size_t at(int i) { return static_cast<size_t>(i); }

  bool levels(int from, int to) {
    level_.assign(graph_.nodes().size(), -1);
    level_[at(from)] = 0;
    std::vector<int> queue{from};
    for (size_t i = 0; i < queue.size() && level_[at(to)] < 0; ++i) {
      for (const Arc arc : graph_.from(queue[i])) {
        const int node = graph_.target(arc);
        if (left_[at(arc)] == 0 || level_[at(node)] >= 0) continue;
        level_[at(node)] = level_[at(queue[i])] + 1;
        queue.push_back(node);
      }
    }
    return level_[at(to)] >= 0;
  }

  /// Sends along one path of rising levels; keeps the way in `path_`, because graphs are deep.
  uint64_t push(int from, int to) {
    path_.clear();
    for (int node = from; node != to;) {
      const auto& arcs = graph_.from(node);
      size_t& next = next_[at(node)];
      while (next < arcs.size() &&
             (left_[at(arcs[next])] == 0 ||
              level_[at(graph_.target(arcs[next]))] != level_[at(node)] + 1)) {
        ++next;
      }
      if (next < arcs.size()) {
        path_.push_back(arcs[next]);
        node = graph_.target(arcs[next]);
        continue;
      }
      if (path_.empty()) return 0;
      node = graph_.source(path_.back());
      path_.pop_back();
      ++next_[at(node)];
    }
    uint64_t least = std::numeric_limits<uint64_t>::max();
    for (const Arc arc : path_) least = std::min(least, left_[at(arc)]);
    for (const Arc arc : path_) {
      left_[at(arc)] -= least;
      left_[at(arc ^ 1)] += least;
    }
    return path_.empty() ? 0 : least;
  }

  const Graph& graph_;
  std::vector<uint64_t> left_;
  std::vector<int> level_;
  std::vector<size_t> next_;
  std::vector<Arc> path_;
};

}  // namespace

uint64_t maxFlow(const Graph& graph, int from, int to, unsigned kinds) {
  if (from == to) return 0;
  return Dinic(graph, kinds).run(from, to);
}

uint64_t flowBound(const Graph& graph, const std::vector<int>& places, unsigned kinds) {
  uint64_t least = 0;
  for (size_t i = 1; i < places.size(); ++i) {
    const uint64_t flow = maxFlow(graph, places[0], places[i], kinds);
    if (i == 1 || flow < least) least = flow;
  }
  return least;
}

}  // namespace rondo::topo
