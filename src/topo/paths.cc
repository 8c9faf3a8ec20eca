#include "topo/paths.h"

#include <algorithm>
#include <limits>

namespace rondo::topo {
namespace {

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

}  // namespace

PathFinder::PathFinder(const Graph& graph) : graph_(graph), marks_(graph.nodes().size()) {}

/// Goes back from `to` level by level until `from` has its mark.
bool PathFinder::reach(int from, int to, unsigned kinds) {
  const auto mark = [this](int node) -> Mark& { return marks_[static_cast<size_t>(node)]; };
  ++epoch_;
  level_.assign(1, to);
  mark(to) = {epoch_, 0, kUnlimited, 0};
  for (int hops = 1; !level_.empty() && mark(from).epoch != epoch_; ++hops) {
    next_.clear();
    for (const int node : level_) {
      if (node != to && !passes(graph_.node(node).kind)) continue;
      const Mark here = mark(node);
      for (const Arc arc : graph_.from(node)) {
        const Link& link = graph_.link(arc / 2);
        if ((linkBit(link.kind) & kinds) == 0) continue;
        const int other = graph_.target(arc);
        Mark& there = mark(other);
        const bool isNew = there.epoch != epoch_;
        if (!isNew && there.hops < hops) continue;
        const uint64_t width = std::min(here.width, link.bytesPerSecond);
        const uint64_t latency = here.latency + link.picoseconds;
        if (isNew) next_.push_back(other);
        if (isNew || width > there.width || (width == there.width && latency < there.latency)) {
          there = {epoch_, hops, width, latency};
        }
      }
    }
    level_.swap(next_);
  }
  return mark(from).epoch == epoch_;
}

/// The place, among a node's links, of the one that the path has come by: where every port takes a
/// way of its own, a whole leaf of a fat tree can send at once.
uint64_t PathFinder::port(int node, const Path& path) const {
  if (path.arcs.empty()) return 0;
  const auto& arcs = graph_.from(node);
  return static_cast<uint64_t>(std::find(arcs.begin(), arcs.end(), path.arcs.back() ^ 1) -
                               arcs.begin());
}

bool PathFinder::find(int from, int to, Path* path, uint64_t choice, unsigned kinds) {
  path->arcs.clear();
  if (!reach(from, to, kinds)) return false;
  const auto mark = [this](int node) -> const Mark& { return marks_[static_cast<size_t>(node)]; };
  path->bytesPerSecond = mark(from).width;
  path->picoseconds = mark(from).latency;
  std::vector<Arc> equals;
  for (int at = from; at != to;) {
    equals.clear();
    Mark best{};
    for (const Arc arc : graph_.from(at)) {
      const Link& link = graph_.link(arc / 2);
      const int node = graph_.target(arc);
      const Mark& there = mark(node);
      if ((linkBit(link.kind) & kinds) == 0 || there.epoch != epoch_ ||
          there.hops != mark(at).hops - 1) {
        continue;
      }
      if (node != to && !passes(graph_.node(node).kind)) continue;
      const Mark via{0, 0, std::min(there.width, link.bytesPerSecond),
                     there.latency + link.picoseconds};
      const bool better = equals.empty() || via.width > best.width ||
                          (via.width == best.width && via.latency < best.latency);
      if (better) {
        equals.clear();
        best = via;
      }
      if (via.width == best.width && via.latency == best.latency) equals.push_back(arc);
    }
    size_t pick = 0;
    if (equals.size() > 1) {
      const Node& next = graph_.node(graph_.target(equals[0]));
      // A GPU has a NIC of its own where there are enough.
      const uint64_t key =
          next.kind == NodeKind::Nic
              ? static_cast<uint64_t>(
                    graph_.node(next.host == graph_.node(from).host ? from : to).number)
              : port(at, *path);
      pick = (key + choice) % equals.size();
    }
    path->arcs.push_back(equals[pick]);
    at = graph_.target(equals[pick]);
  }
  return true;
}

std::string pathText(const Graph& graph, int from, const Path& path) {
  std::string out = graph.fullName(from);
  int host = graph.node(from).host;
  for (const Arc arc : path.arcs) {
    const Node& node = graph.node(graph.target(arc));
    out += " - " + (node.host == host ? node.name : graph.fullName(graph.target(arc)));
    host = node.host;
  }
  return out;
}

}  // namespace rondo::topo
