// What costs change: the planner's choices.

#include <gtest/gtest.h>

#include <string>

#include "coll/planner.h"

namespace rondo {
namespace {

CommFacts fourRanks() {
  CommFacts facts;
  facts.ranks = 4;
  facts.cpus = 4;
  facts.lanes = 2;
  facts.chunkBytes = 32u << 10;
  return facts;
}

TEST(Costs, ChangeTheChoice) {
  const Request sum{Collective::AllReduce, 4u << 10, 4, 0};
  CommFacts facts = fourRanks();
  facts.costs.reducePerKiB = 1;
  facts.costs.copyPerKiB = 1;
  facts.costs.hop = facts.costs.message = 9'000'000;
  EXPECT_STREQ(rankCandidates(sum, facts, {}).front().algorithm->name, "oneshot")
      << "bytes cost nothing, messages much";
  facts = fourRanks();
  facts.costs.reducePerKiB = 1'000'000;
  facts.costs.hop = facts.costs.message = facts.costs.step = 1;
  EXPECT_STRNE(rankCandidates(sum, facts, {}).front().algorithm->name, "oneshot")
      << "one-shot reduces all of it on every rank";
}

TEST(Costs, ColdBuffersCostEveryAlgorithmTheSame) {
  const Request sum{Collective::AllReduce, 4u << 20, 4, 0};
  const auto before = rankCandidates(sum, fourRanks(), {});
  CommFacts facts = fourRanks();
  facts.costs.cold8M += 11'000;
  facts.costs.cold64M += 11'000;
  const auto after = rankCandidates(sum, facts, {});
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i].algorithm, after[i].algorithm);
    // And a 256th for the mean of the ranks, see forecast().
    EXPECT_EQ((after[i].picoseconds - before[i].picoseconds) * 256 / 257,
              (32u << 10) * uint64_t{11'000});
  }
}

TEST(Costs, ResultsThatAreSentOnCostMorePastTheCaches) {
  const auto timeOf = [](const char* name, uint64_t bytes, uint64_t past) {
    CommFacts facts = fourRanks();
    facts.l3Bytes = 32u << 20;  // calls from 4 MiB
    facts.costs.pastPerKiB = past;
    const std::string rule = std::string("allreduce:host:0-:") + name + "/1/32K";
    return rankCandidates({Collective::AllReduce, bytes / 4, 4, 0}, facts, parseTune(rule))
        .front()
        .picoseconds;
  };
  for (const char* name : {"ring", "twoshot", "halving"}) {
    EXPECT_EQ(timeOf(name, 2u << 20, 9'000), timeOf(name, 2u << 20, 0)) << name;
    EXPECT_GT(timeOf(name, 4u << 20, 9'000), timeOf(name, 4u << 20, 0)) << name;
  }
  EXPECT_EQ(timeOf("oneshot", 4u << 20, 9'000), timeOf("oneshot", 4u << 20, 0)) << "sends none";
}

TEST(Costs, ThatAreAbsurdStillRankTheSameEveryTime) {
  CommFacts facts = fourRanks();
  for (const CostField& field : costFields()) facts.costs.*field.at = field.most();
  for (const Collective c : {Collective::AllReduce, Collective::Broadcast, Collective::AllToAll}) {
    const Request request{c, uint64_t{1} << 40, 4, 0};
    const auto one = rankCandidates(request, facts, {}), two = rankCandidates(request, facts, {});
    ASSERT_FALSE(one.empty());
    EXPECT_EQ(one.front().picoseconds, two.front().picoseconds);
  }
  for (const CostField& field : costFields()) facts.costs.*field.at = 0;
  EXPECT_FALSE(rankCandidates({Collective::AllReduce, 1000, 4, 0}, facts, {}).empty());
}

}  // namespace
}  // namespace rondo
