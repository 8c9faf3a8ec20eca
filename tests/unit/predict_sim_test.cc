// The planner adds a plan up; the simulator runs it. On links that take no time both must say much
// the same, and agree on what is quicker by far.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "coll/planner.h"
#include "coll/sim/job.h"
#include "topo/synthetic.h"

namespace rondo {
namespace {

/// A host with a core for each rank and memory that is no limit.
double simulated(const Candidate& candidate, const CommFacts& facts, size_t elementBytes) {
  const topo::Graph graph = topo::parseSynthetic("1 cpu=100000 cores=16 memory=100000");
  sim::Job job;
  job.graph = &graph;
  job.places = sim::placeRanks(graph, facts.ranks);
  job.plan = [&](int rank) {
    return recordPlan(*candidate.algorithm, {rank, facts.ranks, 0, facts.groups.placement()},
                      candidate.geometry);
  };
  job.elementBytes = elementBytes;
  job.costs = sim::hostCosts(facts.costs);
  const sim::Result result = sim::simulate(job);
  EXPECT_TRUE(result.blocked.empty());
  return static_cast<double>(result.picoseconds);
}

CommFacts factsOf(int ranks) {
  CommFacts facts;
  facts.ranks = ranks;
  facts.cpus = static_cast<uint32_t>(ranks);
  facts.lanes = 2;
  facts.chunkBytes = 32u << 10;
  // The simulator knows no caches.
  facts.costs.cold128K = facts.costs.cold1M = facts.costs.cold8M = 0;
  facts.costs.cold64M = facts.costs.cold512M = 0;
  return facts;
}

/// The best of each algorithm.
std::map<std::string, Candidate> bestOfEach(const Request& request, const CommFacts& facts) {
  std::map<std::string, Candidate> best;
  for (const Candidate& c : rankCandidates(request, facts, {})) {
    best.emplace(c.algorithm->name, c);
  }
  return best;
}

TEST(PredictSim, RingAndTwoShotAgree) {
  for (const int ranks : {2, 4, 8}) {
    const CommFacts facts = factsOf(ranks);
    for (const uint64_t bytes : {64u << 10, 1u << 20, 16u << 20}) {
      const auto best = bestOfEach({Collective::AllReduce, bytes / 4, 4, 0}, facts);
      for (const char* name : {"ring", "twoshot"}) {
        const Candidate& c = best.at(name);
        const double ratio = static_cast<double>(c.picoseconds) / simulated(c, facts, 4);
        EXPECT_GT(ratio, 0.65) << name << ", " << ranks << " ranks, " << bytes;
        EXPECT_LT(ratio, 1.35) << name << ", " << ranks << " ranks, " << bytes;
      }
    }
  }
}

TEST(PredictSim, TheChoiceIsGoodInTheSimulatorToo) {
  for (const Collective collective :
       {Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter}) {
    for (const int ranks : {2, 4, 8}) {
      const CommFacts facts = factsOf(ranks);
      for (const uint64_t bytes : {1u << 10, 64u << 10, 4u << 20}) {
        const Request request{collective, bytes / 4, 4, 0};
        const Candidate chosen = rankCandidates(request, facts, {}).front();
        double least = 1e30;
        for (const auto& [name, candidate] : bestOfEach(request, facts)) {
          least = std::min(least, simulated(candidate, facts, 4));
        }
        EXPECT_LT(simulated(chosen, facts, 4), 1.35 * least)
            << collectiveName(collective) << " " << chosen.algorithm->name << ", " << ranks
            << " ranks, " << bytes;
      }
    }
  }
}

}  // namespace
}  // namespace rondo
