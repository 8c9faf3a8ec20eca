#include "coll/sim/heat_rows.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "coll/sim/output.h"

namespace rondo::sim {
namespace {

constexpr size_t kMostRows = 40;
constexpr size_t kWidestGap = kHeatColumns / 6;

/// The first edges up to column `to` of so much time from `begin` on, which column `from` begins.
void divide(Time begin, Time time, size_t from, size_t to, Heat* heat) {
  for (size_t column = from; column <= to; ++column) {
    heat->edges[column] =
        begin + static_cast<Time>(static_cast<unsigned __int128>(time) * (column - from) /
                                  std::max<size_t>(to - from, 1));
  }
}

/// How many of `columns` a part of the time gets; none only if it is none.
size_t partOf(size_t columns, Time part, Time all) {
  if (part == 0 || all == 0) return 0;
  const double wanted =
      static_cast<double>(columns) * static_cast<double>(part) / static_cast<double>(all);
  return std::clamp<size_t>(static_cast<size_t>(std::llround(wanted)), 1, columns);
}

void makeEdges(const Result& result, Heat* heat) {
  const Time end = std::max<Time>(result.picoseconds, 1);
  const Time gap = std::min(result.leftOutTime, end), simulated = end - gap;
  if (gap == 0) return divide(0, end, 0, kHeatColumns, heat);
  const Time before = std::min(result.leftOutAt, simulated), after = simulated - before;
  size_t wide = std::min(partOf(kHeatColumns, gap, end), kWidestGap);
  if (simulated == 0) wide = kHeatColumns;
  const size_t rest = kHeatColumns - wide;
  heat->gapFrom = partOf(rest, before, simulated);
  if (after > 0 && heat->gapFrom == rest) --heat->gapFrom;
  heat->gapTo = heat->gapFrom + wide;
  divide(0, before, 0, heat->gapFrom, heat);
  divide(before + gap, after, heat->gapTo, kHeatColumns, heat);
  divide(before, gap, heat->gapFrom, heat->gapTo, heat);
}

/// What one link carries in each column, over what it could.
std::array<double, kHeatColumns> useOf(const Result& result, const Heat& heat, topo::Arc arc,
                                       uint64_t capacity) {
  const LinkCourse& course = result.courses[static_cast<size_t>(arc)];
  std::array<double, kHeatColumns> use{};
  const bool gap = heat.gapTo > heat.gapFrom;
  double unseen = 0;
  if (gap) unseen = static_cast<double>(result.arcBytes[static_cast<size_t>(arc)]) - course.bytes();
  const double whole =
      gap ? static_cast<double>(heat.edges[heat.gapTo] - heat.edges[heat.gapFrom]) : 1;
  for (size_t c = 0; c < kHeatColumns; ++c) {
    Time from = heat.edges[c], to = heat.edges[c + 1];
    const auto time = static_cast<double>(to - from);
    if (time == 0) continue;
    double bytes = 0;
    if (c >= heat.gapFrom && c < heat.gapTo) {
      bytes = std::max(unseen, 0.0) * time / whole;
    } else {
      const Time later = c >= heat.gapTo && gap ? result.leftOutTime : 0;
      bytes = course.until(to - later) - course.until(from - later);
    }
    use[c] = bytes / (static_cast<double>(capacity) * 1e-12 * time);
  }
  return use;
}

}  // namespace

Heat heatOf(const Job& job, const Result& result) {
  Heat heat;
  makeEdges(result, &heat);
  const topo::Graph& graph = *job.graph;
  std::vector<topo::Arc> busy;
  for (size_t arc = 0; arc < result.courses.size(); ++arc) {
    if (result.courses[arc].bytes() > 0) busy.push_back(static_cast<topo::Arc>(arc));
  }
  // One row a link, or one for all that have the same name but for numbers.
  const bool each = busy.size() <= kMostRows;
  std::map<std::string, HeatRow> groups;
  const auto whole = static_cast<double>(heat.edges.back());
  for (const topo::Arc arc : busy) {
    const uint64_t capacity = graph.link(arc / 2).bytesPerSecond;
    const std::string name =
        graph.fullName(graph.source(arc)) + " to " + graph.fullName(graph.target(arc));
    const std::string label = each ? name : namePattern(name);
    HeatRow& row = groups[label + " " + std::to_string(capacity)];
    ++row.links;
    row.label = label;
    row.capacity = capacity;
    const auto use = useOf(result, heat, arc, capacity);
    double mean = 0;
    for (size_t c = 0; c < kHeatColumns; ++c) {
      row.use[c] += use[c];
      mean += use[c] * static_cast<double>(heat.edges[c + 1] - heat.edges[c]) / whole;
    }
    row.mean += mean;
    row.most = std::max(row.most, mean);
  }
  for (auto& [name, row] : groups) {
    for (double& use : row.use) use /= static_cast<double>(row.links);
    row.mean /= static_cast<double>(row.links);
    heat.rows.push_back(std::move(row));
  }
  std::stable_sort(heat.rows.begin(), heat.rows.end(), [](const HeatRow& a, const HeatRow& b) {
    return std::llround(a.mean * 1000) > std::llround(b.mean * 1000);
  });
  for (size_t i = kMostRows; i < heat.rows.size(); ++i) heat.left += heat.rows[i].links;
  if (heat.rows.size() > kMostRows) heat.rows.resize(kMostRows);
  return heat;
}

}  // namespace rondo::sim
