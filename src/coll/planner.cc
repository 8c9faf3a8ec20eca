#include "coll/planner.h"

#include <algorithm>

#include "base/error.h"

namespace rondo {
namespace {

constexpr uint64_t kLeastChunk =
    4096;  // smaller ones cost more steps than they hide; when staging is short only

std::vector<uint64_t> chunkSizes(const CommFacts& facts, uint64_t wanted) {
  if (wanted != 0) return {std::min(wanted, facts.chunkBytes)};
  std::vector<uint64_t> sizes;
  for (uint64_t bytes = facts.chunkBytes; bytes >= kLeastChunk && sizes.size() < 3; bytes /= 2) {
    sizes.push_back(bytes);
  }
  if (sizes.empty()) sizes.push_back(facts.chunkBytes);
  return sizes;
}

algo::Geometry cut(const Request& request, const Algorithm& algorithm, const CommFacts& facts,
                   int lanes, uint64_t chunkBytes) {
  algo::Geometry geometry{};
  geometry.count = request.count;
  geometry.lanes = lanes;
  geometry.blocks = algorithm.blocks(facts.ranks);
  geometry.align = std::max<Count>(1, 64 / request.elementBytes);
  geometry.chunk = std::max<Count>(1, chunkBytes / request.elementBytes);
  if (geometry.align > geometry.chunk) geometry.align = 1;
  if (request.uneven) geometry.count = geometry.period();
  return geometry;
}

/// For predictions: where a short call leaves blocks empty, one rank's plan lacks the hops that the
/// others' blocks take, and a chain of them looks short.
algo::Geometry withoutEmptyBlocks(algo::Geometry geometry) {
  const Count least = static_cast<Count>(geometry.lanes) * geometry.blocks * geometry.align;
  geometry.count = std::max(geometry.count, std::min(least, geometry.period()));
  return geometry;
}

/// The root and its neighbours stand for all ranks.
uint64_t slowestRank(const Request& request, const Algorithm& algorithm,
                     const algo::Geometry& geometry, const CommFacts& facts) {
  const int n = facts.ranks;
  algo::Geometry typical = geometry;
  if (request.uneven) typical.count = request.count;
  typical = withoutEmptyBlocks(typical);
  uint64_t slowest = 0;
  for (int k = 0; k < std::min(n, 3); ++k) {
    const int rank = (request.root + (k < 2 ? k : n - 1)) % n;
    const Plan plan = recordPlan(algorithm, algo::Group{rank, n, request.root}, typical);
    slowest = std::max(slowest, predict(plan, request.elementBytes, facts));
  }
  return slowest;
}

const TuneRule* findRule(const Request& request, const std::vector<TuneRule>& rules) {
  const uint64_t bytes = request.count * request.elementBytes;
  for (const TuneRule& rule : rules) {
    if (!rule.device && rule.collective == request.collective && bytes >= rule.from &&
        bytes < rule.to) {
      return &rule;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<Candidate> rankCandidates(const Request& request, const CommFacts& facts,
                                      const std::vector<TuneRule>& rules) {
  std::vector<Candidate> ranking;
  const TuneRule* rule = findRule(request, rules);
  // A rule for the even form of a collective says nothing of slots of different lengths.
  if (rule != nullptr && request.uneven && !rule->algorithm->uneven) rule = nullptr;
  for (const Algorithm& algorithm : registry()) {
    if (algorithm.collective != request.collective) continue;
    if (rule != nullptr && rule->algorithm != &algorithm) continue;
    if (request.uneven && !algorithm.uneven) continue;
    if (facts.reproducible && isReduction(request.collective) && !algorithm.reproducible) continue;
    for (int lanes = 1; lanes <= facts.lanes; ++lanes) {
      if (rule != nullptr && rule->lanes != 0 && std::min(rule->lanes, facts.lanes) != lanes)
        continue;
      for (const uint64_t chunk : chunkSizes(facts, rule != nullptr ? rule->chunkBytes : 0)) {
        const algo::Geometry geometry = cut(request, algorithm, facts, lanes, chunk);
        ranking.push_back({&algorithm, geometry, slowestRank(request, algorithm, geometry, facts)});
      }
    }
  }
  std::stable_sort(ranking.begin(), ranking.end(), [](const Candidate& a, const Candidate& b) {
    return a.picoseconds < b.picoseconds;
  });
  return ranking;
}

std::string explainChoice(const Request& request, const std::vector<Candidate>& ranking) {
  std::string text =
      format("rondo: %s of %llu bytes on host memory\n", collectiveName(request.collective),
             static_cast<unsigned long long>(request.count * request.elementBytes));
  for (size_t i = 0; i < ranking.size() && i < 5; ++i) {
    const Candidate& c = ranking[i];
    text += format("rondo:   %s %-8s %d lane%s, chunks of %llu bytes, predicted %.2f us\n",
                   i == 0 ? "runs" : "  or", c.algorithm->name, c.geometry.lanes,
                   c.geometry.lanes == 1 ? " " : "s",
                   static_cast<unsigned long long>(c.geometry.chunk * request.elementBytes),
                   static_cast<double>(c.picoseconds) * 1e-6);
  }
  return text;
}

}  // namespace rondo
