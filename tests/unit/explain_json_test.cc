// rondo-explain --json says what the plans say.

#include "explain_json.h"

#include <nlohmann/json.hpp>

#include "plan_helpers.h"

namespace rondo {
namespace {

using nlohmann::json;

TEST(ExplainJson, HoldsTheStepsAndTotalsOfTheShownRanks) {
  const Algorithm& ring = *findAlgorithm(Collective::AllReduce, "ring");
  const auto plans = recordAllRanks(ring, 3, 0, {18, 1, 0, 6, 1});
  ExplainOptions options;
  options.ranks = {1};
  options.elementBytes = 4;
  const json out = json::parse(explainJson(plans, options));
  EXPECT_EQ(out["algorithm"], "ring");
  EXPECT_EQ(out["geometry"]["full_periods"], 1);
  EXPECT_EQ(out["hops"], 4);
  ASSERT_EQ(out["steps"].size(), 5u);
  const json expected = {{"rank", 1}, {"step", 2}, {"verb", "recvReduceSend"},
                         {"from", 0}, {"to", 2},   {"offset", 12},
                         {"count", 6}};
  EXPECT_EQ(out["steps"][1], expected);
  ASSERT_EQ(out["totals"].size(), 1u);
  EXPECT_EQ(out["totals"][0]["elements_sent"], 24);
  EXPECT_EQ(out["totals"][0]["bytes_sent"], 96);
  EXPECT_EQ(out["totals"][0]["elements_reduced"], 12);
}

TEST(ExplainJson, NamesEveryoneAndTheRoom) {
  const Algorithm& oneshot = *findAlgorithm(Collective::AllReduce, "oneshot");
  const json out = json::parse(explainJson(recordAllRanks(oneshot, 2, 0, {4, 1, 0, 4, 1})));
  EXPECT_EQ(out["steps"][0]["to"], "everyone");
  EXPECT_EQ(out["steps"][2]["verb"], "wait");
  EXPECT_EQ(out["steps"][2]["room"], "all");
  EXPECT_FALSE(out["steps"][2].contains("to"));
}

TEST(ExplainJson, TellsTheGroupsAndMessagesWithoutData) {
  const RankGroups groups({0, 1, 0});
  ExplainOptions options;
  options.last = true;
  options.groups = groups.text();
  const Algorithm& hierarchy = *findAlgorithm(Collective::Barrier, "hier");
  const auto plans = recordAllRanks(hierarchy, 3, 0, {0, 1, 0, 1, 1}, groups);
  const json out = json::parse(explainJson(plans, options));
  EXPECT_EQ(out["groups"], "0,1,0");
  const json heard = {{"rank", 0}, {"step", 1}, {"verb", "hear"}, {"from", 2}};
  const json told = {{"rank", 0}, {"step", 2}, {"verb", "notify"}, {"to", 1}};
  EXPECT_EQ(out["steps"][0], heard);
  EXPECT_EQ(out["steps"][1], told);
  EXPECT_EQ(out["totals"][0]["messages"], 2);
  EXPECT_EQ(out["totals"][0]["bytes_sent"], 0);
}

}  // namespace
}  // namespace rondo
