#include "coll/planner.h"

#include <algorithm>

#include "base/error.h"
#include "coll/forecast.h"

namespace rondo {
namespace {

/// Predictions that differ by less than this part are equal.
constexpr uint64_t kEqualPart = 128;

/// Shorter calls go through staging, wherever their buffers are.
constexpr uint64_t kLeastInPlace = 4096;

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

/// Between hosts of one rank each message costs both ends some 8 us of a core, and lanes share a
/// connection. Cutting what could be one message gains nothing there: with one lane instead of two
/// all-to-all, reduce-scatter and all-gather of 64 KiB and all-to-all of 256 KiB took 0.6, 0.6,
/// 0.77 and 0.73 of the time, and with chunks of 256 KiB instead of 128 broadcasts of 256 KiB and 1
/// MiB 0.67 and 0.75 (two hosts on a veth, 2026-11-22). With two ranks a host one lane took 0.9
/// to 1.2.
bool takesWholeMessages(const Request& request, const CommFacts& facts) {
  const Collective what = request.collective;
  const bool measured = what == Collective::AllReduce || what == Collective::AllGather ||
                        what == Collective::ReduceScatter || what == Collective::AllToAll ||
                        what == Collective::Broadcast;
  return measured && facts.links.acrossHosts && !facts.groups.layered() && !request.uneven;
}

bool fitsOneLane(const Request& request, const Algorithm& algorithm, const CommFacts& facts) {
  const auto blocks = static_cast<uint64_t>(blocksOf(algorithm, facts.ranks, facts.groups));
  return request.count * request.elementBytes <= blocks * facts.chunkBytes;
}

/// For predictions: where a short call leaves blocks empty, one rank's plan lacks the hops that the
/// others' blocks take, and a chain of them looks short.
algo::Geometry withoutEmptyBlocks(algo::Geometry geometry, const Algorithm& algorithm,
                                  const CommFacts& facts) {
  Count least = static_cast<Count>(geometry.lanes) * geometry.blocks * geometry.align;
  // A hierarchy's blocks are cut once more, for the groups.
  if (algorithm.hierarchy != nullptr && geometry.blocks > 1) {
    least *= 2 * static_cast<Count>(std::max(1, facts.groups.count()));
  }
  geometry.count = std::max(geometry.count, std::min(least, geometry.period()));
  return geometry;
}

/// Whether ranks of one host outnumber the processing units that they may use.
bool isCrowded(const CommFacts& facts) {
  const bool oneHost = facts.localRanks == 0 || facts.localRanks == facts.ranks;
  return oneHost && static_cast<uint32_t>(facts.ranks) > facts.cpus;
}

/// Whether all ranks wait for each other where only some have to, and that costs more than it
/// saves.
bool exchangesInVain(const Algorithm& algorithm, const CommFacts& facts) {
  switch (algorithm.collective) {
    case Collective::Reduce:
      // Of two ranks the one that is not the root would have to wait as long as the root, which
      // ends no sooner for it. Where ranks share cores every exchange takes turns of all of them,
      // and of two cores a root that reduces everything has one while the others copy by the other:
      // nobody else waits.
      if (isCrowded(facts) && facts.cpus <= 2 && !algorithm.reproducible) return true;
      return (facts.ranks == 2 || isCrowded(facts)) &&
             blocksOf(algorithm, facts.ranks, facts.groups) > 1;
    case Collective::Scan:
    case Collective::Exscan:
      // Only the ranks before one need have come.
      return isCrowded(facts) && algorithm.reproducible && !facts.reproducible;
    default:
      return false;
  }
}

/// The ranks that stand for all: the root and its neighbours; with groups, the ends of the root's
/// group and of the one that follows it.
std::vector<int> typicalRanks(int root, const CommFacts& facts) {
  const int n = facts.ranks;
  std::vector<int> ranks{root, (root + 1) % n, (root + n - 1) % n};
  const algo::Placement near = facts.groups.placement();
  for (int far = 0; far < std::min(near.count, 2); ++far) {
    const int group = (near.of[root] + far) % near.count;
    ranks.push_back(near.ranks[near.begin[group]]);
    ranks.push_back(near.ranks[near.begin[group + 1] - 1]);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

uint64_t timeOf(const Request& request, const Algorithm& algorithm, const algo::Geometry& geometry,
                const CommFacts& facts) {
  algo::Geometry typical = geometry;
  if (request.uneven) typical.count = request.count;
  typical = withoutEmptyBlocks(typical, algorithm, facts);
  std::vector<Plan> plans;
  for (const int rank : typicalRanks(request.root, facts)) {
    const algo::Group group{rank, facts.ranks, request.root, facts.groups.placement()};
    plans.push_back(recordPlan(algorithm, group, typical));
  }
  return forecast(plans, request.elementBytes, facts);
}

/// Whether it only puts, reduces and fetches: then what lies in rondoMemAlloc memory is read where
/// it is, while a chain's moves go through staging.
bool isWindow(const Candidate& candidate, const Request& request, const CommFacts& facts) {
  const algo::Group group{0, facts.ranks, request.root, facts.groups.placement()};
  const Plan plan = recordPlan(*candidate.algorithm, group, candidate.geometry);
  const auto moves = [](const std::vector<Step>& steps) {
    return std::any_of(steps.begin(), steps.end(), [](const Step& step) {
      return step.kind == StepKind::Move && (step.bits & (algo::kSend | algo::kRecv)) != 0;
    });
  };
  return std::none_of(plan.lanes.begin(), plan.lanes.end(), [&](const LaneProgram& lane) {
    return moves(lane.full) || moves(lane.last);
  });
}

/// The kind of memory is local and may not choose. So of candidates that are as good as the best
/// one on ordinary memory, the one is taken that is best on the other kind.
void preferWindows(std::vector<Candidate>* ranking, const Request& request,
                   const CommFacts& facts) {
  if (ranking->empty() || request.count * request.elementBytes < kLeastInPlace) return;
  const uint64_t best = ranking->front().picoseconds;
  const uint64_t limit = best + best / kEqualPart;
  const auto end = std::find_if(ranking->begin(), ranking->end(),
                                [limit](const Candidate& c) { return c.picoseconds > limit; });
  const auto window = std::find_if(ranking->begin(), end,
                                   [&](const Candidate& c) { return isWindow(c, request, facts); });
  if (window != end) std::rotate(ranking->begin(), window, window + 1);
}

/// Of one all-reduce in a piece that is as good on fewer lanes, these are taken: a further lane
/// hides next to nothing of long ones, and costs what no price here is of. One-shot of 64 MiB on
/// two ranks took 0.71 to 0.97 of its time on two lanes in 13 of 14 states that rondo-tune met, on
/// either kind of memory (two cores of an EPYC, 2026-11-23); two-shot, halving and ring, whose
/// blocks are exchanged, are as quick or quicker on two.
void preferFewerLanes(std::vector<Candidate>* ranking, const Request& request,
                      const CommFacts& facts) {
  if (ranking->empty() || request.collective != Collective::AllReduce) return;
  if (facts.links.acrossHosts) return;  // not measured there
  const Candidate best = ranking->front();
  if (blocksOf(*best.algorithm, facts.ranks, facts.groups) > 1) return;
  const uint64_t limit = best.picoseconds + best.picoseconds / kEqualPart;
  const auto fewer = std::find_if(ranking->begin(), ranking->end(), [&](const Candidate& c) {
    return c.algorithm == best.algorithm && c.geometry.chunk == best.geometry.chunk &&
           c.geometry.lanes < best.geometry.lanes && c.picoseconds <= limit;
  });
  if (fewer != ranking->end()) std::rotate(ranking->begin(), fewer, fewer + 1);
}

}  // namespace

const TuneRule* findRule(const Request& request, const std::vector<TuneRule>& rules) {
  const uint64_t bytes = request.count * request.elementBytes;
  for (const TuneRule& rule : rules) {
    if (rule.device || rule.collective != request.collective) continue;
    if (bytes < rule.from || bytes >= rule.to) continue;
    // One for the even form of a collective says nothing of slots of different lengths.
    return request.uneven && !rule.algorithm->uneven ? nullptr : &rule;
  }
  return nullptr;
}

algo::Geometry geometryOf(const Request& request, const Algorithm& algorithm,
                          const CommFacts& facts, int lanes, Count chunk) {
  algo::Geometry geometry{};
  geometry.count = request.count;
  geometry.lanes = lanes;
  geometry.blocks = blocksOf(algorithm, facts.ranks, facts.groups);
  geometry.align = std::max<Count>(1, 64 / request.elementBytes);
  geometry.chunk = chunk;
  if (geometry.align > geometry.chunk) geometry.align = 1;
  if (request.uneven) geometry.count = geometry.period();
  return geometry;
}

std::vector<Candidate> rankCandidates(const Request& exact, const CommFacts& facts,
                                      const std::vector<TuneRule>& rules) {
  std::vector<Candidate> ranking;
  const TuneRule* const rule = findRule(exact, rules);
  Request request = exact;
  request.count = typicalCount(exact.count);
  const bool whole = rule == nullptr && takesWholeMessages(request, facts);
  // Over more hosts shorter chunks may pass through chains sooner.
  const uint64_t only = whole && facts.ranks == 2 ? facts.chunkBytes : 0;
  const uint64_t wanted = rule != nullptr ? rule->chunkBytes : only;
  for (const Algorithm& algorithm : registry()) {
    if (algorithm.collective != request.collective) continue;
    if (rule != nullptr && rule->algorithm != &algorithm) continue;
    if (request.uneven && !algorithm.uneven) continue;
    if (facts.reproducible && isReduction(request.collective) && !algorithm.reproducible) continue;
    // A hierarchy of one level is one of the others; a rule may ask for it all the same.
    if (algorithm.hierarchy != nullptr && !facts.groups.layered() && rule == nullptr) continue;
    if (rule == nullptr && exchangesInVain(algorithm, facts)) continue;
    const bool oneLane = whole && fitsOneLane(request, algorithm, facts);
    for (int lanes = 1; lanes <= (oneLane ? 1 : facts.lanes); ++lanes) {
      if (rule != nullptr && rule->lanes != 0 && std::min(rule->lanes, facts.lanes) != lanes)
        continue;
      for (const uint64_t chunk : chunkSizes(facts, wanted)) {
        const Count elements = std::max<Count>(1, chunk / request.elementBytes);
        const auto geometry = geometryOf(request, algorithm, facts, lanes, elements);
        ranking.push_back({&algorithm, geometry, timeOf(request, algorithm, geometry, facts)});
      }
    }
  }
  std::stable_sort(ranking.begin(), ranking.end(), [](const Candidate& a, const Candidate& b) {
    return a.picoseconds < b.picoseconds;
  });
  preferWindows(&ranking, request, facts);
  preferFewerLanes(&ranking, request, facts);
  for (Candidate& each : ranking) {
    each.geometry =
        geometryOf(exact, *each.algorithm, facts, each.geometry.lanes, each.geometry.chunk);
  }
  return ranking;
}

std::string explainChoice(const Request& request, const std::vector<Candidate>& ranking) {
  std::string text =
      format("rondo: %s of %llu bytes on host memory\n", collectiveName(request.collective),
             static_cast<unsigned long long>(request.count * request.elementBytes));
  std::vector<const Algorithm*> shown;  // each at its best
  for (const Candidate& c : ranking) {
    if (shown.size() == 5) break;
    if (std::find(shown.begin(), shown.end(), c.algorithm) != shown.end()) continue;
    text += format("rondo:   %s %-8s %d lane%s, chunks of %llu bytes, predicted %.2f us\n",
                   shown.empty() ? "runs" : "  or", c.algorithm->name, c.geometry.lanes,
                   c.geometry.lanes == 1 ? " " : "s",
                   static_cast<unsigned long long>(c.geometry.chunk * request.elementBytes),
                   static_cast<double>(c.picoseconds) * 1e-6);
    shown.push_back(c.algorithm);
  }
  return text;
}

}  // namespace rondo
