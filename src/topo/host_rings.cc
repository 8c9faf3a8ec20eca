#include "topo/host_rings.h"

#include <algorithm>

namespace rondo::topo {
namespace {

constexpr size_t kMostCycles = 16;
/// A try that has not found a cycle by then does not find one soon.
constexpr int kMostSteps = 20'000;
/// Rings narrower than this part of the first one are not worth their latency.
constexpr uint64_t kLeastPart = 8;

class Search {
 public:
  Search(const Graph& graph, const std::vector<int>& places, unsigned kinds)
      : n_(static_cast<int>(places.size())), left_(graph.arcs()) {
    PathFinder finder(graph);
    paths_.resize(places.size() * places.size());
    for (size_t arc = 0; arc < left_.size(); ++arc)
      left_[arc] = graph.links()[arc / 2].bytesPerSecond;
    for (int a = 0; a < n_; ++a) {
      for (int b = 0; b < n_; ++b) {
        if (a == b) continue;
        Path& path = paths_[at(a, b)];
        joined_ &= finder.find(places[static_cast<size_t>(a)], places[static_cast<size_t>(b)],
                               &path, 0, kinds);
        for (const Arc arc : path.arcs) widths_.push_back(left_[static_cast<size_t>(arc)]);
      }
    }
    std::sort(widths_.begin(), widths_.end());
    widths_.erase(std::unique(widths_.begin(), widths_.end()), widths_.end());
  }

  std::vector<std::vector<int>> run() {
    std::vector<std::vector<int>> cycles;
    uint64_t first = 0;
    while (cycles.size() < kMostCycles) {
      const uint64_t width = widest(first);
      if (width == 0) break;
      if (first == 0) first = width;
      cycles.push_back(order_);
    }
    if (cycles.empty() && joined_) {  // links are shared by more than the search tries
      order_.clear();
      for (int i = 0; i < n_; ++i) order_.push_back(i);
      cycles.push_back(order_);
    }
    return cycles;
  }

 private:
  size_t at(int a, int b) const {
    return static_cast<size_t>(a) * static_cast<size_t>(n_) + static_cast<size_t>(b);
  }

  /// Finds a cycle at the greatest bandwidth there is one for and takes it away; 0: none.
  uint64_t widest(uint64_t first) {
    for (auto width = widths_.rbegin(); width != widths_.rend(); ++width) {
      // A link that a cycle crosses several times gives each crossing a part.
      for (uint64_t part = 1; part <= 4; ++part) {
        const uint64_t speed = *width / part;
        if (speed == 0 || speed * kLeastPart < first) continue;
        tries_.push_back(speed);
      }
    }
    std::sort(tries_.rbegin(), tries_.rend());
    tries_.erase(std::unique(tries_.begin(), tries_.end()), tries_.end());
    uint64_t found = 0;
    for (const uint64_t speed : tries_) {
      order_.assign(1, 0);
      used_.assign(static_cast<size_t>(n_), false);
      used_[0] = true;
      steps_ = 0;
      if (extend(speed)) {
        found = speed;
        break;
      }
    }
    tries_.clear();
    return found;
  }

  bool take(int a, int b, uint64_t speed) {
    const Path& path = paths_[at(a, b)];
    if (path.arcs.empty()) return false;
    for (size_t i = 0; i < path.arcs.size(); ++i) {
      uint64_t& left = left_[static_cast<size_t>(path.arcs[i])];
      if (left >= speed) {
        left -= speed;
        continue;
      }
      while (i-- > 0) left_[static_cast<size_t>(path.arcs[i])] += speed;
      return false;
    }
    return true;
  }
  void giveBack(int a, int b, uint64_t speed) {
    for (const Arc arc : paths_[at(a, b)].arcs) left_[static_cast<size_t>(arc)] += speed;
  }

  /// Goes on from the last place to any that is left, the nearest number first; what it takes of
  /// the links stays taken where it comes to an end.
  bool extend(uint64_t speed) {
    const int last = order_.back();
    if (static_cast<int>(order_.size()) == n_) return n_ == 1 || take(last, 0, speed);
    if (++steps_ > kMostSteps) return false;
    for (int ahead = 1; ahead < n_; ++ahead) {
      const int next = (last + ahead) % n_;
      if (used_[static_cast<size_t>(next)] || !take(last, next, speed)) continue;
      used_[static_cast<size_t>(next)] = true;
      order_.push_back(next);
      if (extend(speed)) return true;
      order_.pop_back();
      used_[static_cast<size_t>(next)] = false;
      giveBack(last, next, speed);
    }
    return false;
  }

  int n_;
  bool joined_ = true;
  std::vector<uint64_t> left_;
  std::vector<Path> paths_;
  std::vector<uint64_t> widths_, tries_;
  std::vector<int> order_;
  std::vector<bool> used_;
  int steps_ = 0;
};

}  // namespace

std::vector<std::vector<int>> hostCycles(const Graph& graph, const std::vector<int>& places,
                                         unsigned kinds) {
  if (places.size() == 1) return {{0}};
  return Search(graph, places, kinds).run();
}

}  // namespace rondo::topo
