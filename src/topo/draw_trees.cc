#include "topo/draw_trees.h"

#include <algorithm>
#include <map>

#include "topo/draw_host.h"

namespace rondo::topo {
namespace {

constexpr double kMargin = 24, kRadius = 9, kWidestColumn = 60, kLeastColumn = 15;
/// Trees side by side have columns of so much at least.
constexpr double kLeastBeside = 24;
/// A tree is no higher than so much: chains of many places lie flat.
constexpr double kHighest = 300, kLevel = 26;

class TreeDrawing {
 public:
  TreeDrawing(const Graph& graph, const Channels& channels, SvgCanvas* canvas)
      : graph_(graph), channels_(channels), canvas_(*canvas) {}

  double run(double y, double width) {
    const bool one = graph_.hosts().size() < 2;
    if (channels_.places.size() < 2 || channels_.trees.size() < 2) return y;
    const auto columns = static_cast<double>(one ? channels_.places.size() : graph_.hosts().size());
    const double half = (width / 2 - 2 * kMargin - 20) / columns;
    const bool beside = half >= kLeastBeside;
    each_ = std::min(kWidestColumn, beside ? half : (width - 2 * kMargin - 20) / columns);
    if (each_ < kLeastColumn) return y;
    const bool gpus = graph_.node(channels_.places.front()).kind == NodeKind::Gpu;
    canvas_.text({kMargin, y + 10},
                 !one   ? "Trees over the hosts (the first channel's two; numbers of hosts)"
                 : gpus ? "Trees (the first two; GPUs in the machine's order)"
                        : "Trees (the first two; CPUs in the machine's order)",
                 13, "start", "#000");
    const double first = tree(0, {0, y + 34});
    if (!beside) return tree(1, {0, first + 34}) + 30;
    return std::max(first, tree(1, {width / 2, y + 34})) + 30;
  }

 private:
  int columnOf(int place) const {
    if (graph_.hosts().size() > 1) return graph_.node(place).host;
    const auto& all = channels_.places;
    return static_cast<int>(std::find(all.begin(), all.end(), place) - all.begin());
  }

  /// Its columns and their parents; -1: the root.
  std::map<int, int> parentsOf(const Tree& tree) const {
    std::map<int, int> parents;
    for (size_t i = 0; i < tree.places.size(); ++i) {
      const int column = columnOf(tree.places[i]);
      if (tree.parents[i] < 0) {
        parents[column] = -1;
      } else if (const int up = columnOf(tree.places[static_cast<size_t>(tree.parents[i])]);
                 up != column) {
        parents[column] = up;
      }
    }
    return parents;
  }

  /// Returns where its lowest column is.
  double tree(size_t index, Point corner) {
    const double radius = std::min(kRadius, each_ / 2 - 1);
    std::map<int, int> parents = parentsOf(channels_.trees[index]);
    std::map<int, int> levels;
    int deepest = 1;
    for (const auto& [column, parent] : parents) {
      int level = 0;
      const auto most = static_cast<int>(parents.size());
      for (int c = column; parents[c] >= 0 && level < most; c = parents[c]) ++level;
      levels[column] = level;
      deepest = std::max(deepest, level);
    }
    const double step = std::min(kLevel, kHighest / deepest);
    const auto at = [&](int column) {
      return Point{corner.x + kMargin + 20 + each_ * static_cast<double>(column),
                   corner.y + step * levels[column]};
    };
    double lowest = corner.y;
    for (const auto& [column, parent] : parents) {
      const Point here = at(column);
      lowest = std::max(lowest, here.y);
      if (parent >= 0) canvas_.line(here, at(parent), ringColour(index), 2);
      canvas_.disc(here, radius, ringColour(index), std::to_string(column));
    }
    return lowest;
  }

  const Graph& graph_;
  const Channels& channels_;
  SvgCanvas& canvas_;
  double each_ = 0;
};

}  // namespace

double drawTrees(const Graph& graph, const Channels& channels, double y, double width,
                 SvgCanvas* canvas) {
  return TreeDrawing(graph, channels, canvas).run(y, width);
}

}  // namespace rondo::topo
