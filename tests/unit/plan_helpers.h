#pragma once
// What the tests over the registry share.

#include <gtest/gtest.h>

#include <algorithm>
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

inline std::string describe(const algo::Geometry& g, int ranks, int root) {
  return format("%d ranks, root %d, count %llu, lanes %d, chunk %llu, align %llu", ranks, root,
                g.count, g.lanes, g.chunk, g.align);
}

/// Counts around every boundary of the geometry: a block, a lane's part, a period, and several.
inline std::vector<Count> awkwardCounts(const Algorithm& algorithm, int ranks, int lanes,
                                        Count chunk) {
  if (algorithm.collective == Collective::Barrier) return {0};
  const auto n = static_cast<Count>(ranks);
  const Count part = chunk * static_cast<Count>(algorithm.blocks(ranks));
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
