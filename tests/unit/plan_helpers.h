#pragma once
// What the tests over the registry share.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "coll/verifier.h"

namespace rondo::test {

inline std::string nameOf(const Algorithm& algorithm) {
  return std::string(collectiveName(algorithm.collective)) + " " + algorithm.name;
}

/// The roots worth trying: all of them where there is a root at all.
inline int rootsOf(const Algorithm& algorithm, int ranks) {
  return isRooted(algorithm.collective) ? ranks : 1;
}

inline std::string describe(const algo::Geometry& g, int ranks, int root,
                            const RankGroups& groups = {}) {
  return format("%d ranks, root %d, count %llu, lanes %d, chunk %llu, align %llu%s%s", ranks, root,
                g.count, g.lanes, g.chunk, g.align, groups.count() > 0 ? ", groups " : "",
                groups.text().c_str());
}

/// Groups of ranks that a hierarchy must be right for: none, halves, one that is larger, every
/// other rank, everyone alone, and some at random. Others do not look at them.
inline std::vector<RankGroups> groupingsOf(const Algorithm& algorithm, int ranks) {
  std::vector<RankGroups> out(1);
  if (algorithm.hierarchy == nullptr) return out;
  const auto add = [&](const std::function<int(int)>& groupOf) {
    std::vector<int> of;
    for (int r = 0; r < ranks; ++r) of.push_back(groupOf(r));
    out.emplace_back(of);
  };
  add([&](int r) { return 2 * r / ranks; });
  add([](int r) { return r == 1 ? 1 : 0; });
  add([](int r) { return r % 2; });
  add([](int r) { return r; });
  std::mt19937 random(static_cast<unsigned>(ranks));
  for (const unsigned most : {3u, 4u, 17u}) {
    add([&](int) { return static_cast<int>(random() % most); });
  }
  return out;
}

/// Counts around every boundary of the geometry: a block, a lane's part, a period, and several.
inline std::vector<Count> awkwardCounts(const Algorithm& algorithm, int ranks, int lanes,
                                        Count chunk, const RankGroups& groups = {}) {
  if (algorithm.collective == Collective::Barrier) return {0};
  const auto n = static_cast<Count>(ranks);
  const Count part = chunk * static_cast<Count>(blocksOf(algorithm, ranks, groups));
  const Count period = part * static_cast<Count>(lanes);
  std::vector<Count> counts = {
      1,    n - 1,    n,          n + 1,  chunk - 1,  chunk,          chunk + 1,        part - 1,
      part, part + 1, period - 1, period, period + 1, 3 * period + 7, 6 * period + part};
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  counts.erase(std::remove(counts.begin(), counts.end(), 0), counts.end());
  return counts;
}

/// The first findings, for a message.
inline std::string text(const Findings& findings) {
  std::string out = format("%zu findings", findings.size());
  for (size_t i = 0; i < findings.size() && i < 5; ++i) out += "\n  " + findings[i];
  return out;
}

}  // namespace rondo::test
