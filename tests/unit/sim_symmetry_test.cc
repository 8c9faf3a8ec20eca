// Rows of equal steps that are cut short: the same bytes, and nearly the same time.

#include <gtest/gtest.h>

#include <cmath>

#include "coll/sim/rehearsal.h"
#include "coll/sim/shorten.h"
#include "topo/synthetic.h"

namespace {

using namespace rondo;
using namespace rondo::sim;

Outcome simulateWith(const topo::Graph& graph, int ranks, Count repeats, const Algorithm& algorithm,
                     const CallShape& call) {
  Settings settings;
  settings.repeats = repeats;
  const Rehearsal on(graph, ranks, settings);
  return on.simulate(algorithm, on.geometryOf(algorithm, call), call.root, false);
}

TEST(SimSymmetry, CutsLongRowsOfMovesOnly) {
  const Step move{StepKind::Move, algo::kRecv | algo::kSend, Room::Pair, 1, 2, 0, 5};
  Step other = move;
  other.count = 6;
  Step wait = move;
  wait.kind = StepKind::Wait;
  std::vector<Step> steps(10, move);
  steps.insert(steps.end(), 8, other);
  steps.insert(steps.end(), 20, wait);
  const Shortened cut = shorten(steps, 4);
  EXPECT_EQ(cut.steps.size(), 4u + 8 + 20);
  ASSERT_EQ(cut.runs.size(), 1u) << "8 steps are not more than twice 4, and waits stay";
  EXPECT_EQ(cut.runs[0].half, 1u);
  EXPECT_EQ(cut.runs[0].end, 3u);
  EXPECT_EQ(cut.runs[0].left, 6u);
  EXPECT_EQ(cut.times[3], 7u);
  EXPECT_EQ(cut.shape.size(), 3u);
  EXPECT_EQ(shorten(steps, 0).steps.size(), steps.size());
}

TEST(SimSymmetry, RingsOverHostsTakeTheSameTimeAndBytes) {
  const topo::Graph graph =
      topo::parseSynthetic("12 x (2 cpu, 8 gpu nvlink=450 nvswitch, 8 nic=50) rail");
  for (const uint64_t bytes : {uint64_t{96} * 64, uint64_t{96} << 16}) {
    for (const Collective collective :
         {Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter}) {
      const Algorithm* ring = findAlgorithm(collective, "ring");
      ASSERT_NE(ring, nullptr);
      const CallShape call{collective, bytes};
      const Result whole = simulateWith(graph, 96, 0, *ring, call).result;
      const Result cut = simulateWith(graph, 96, 32, *ring, call).result;
      ASSERT_TRUE(cut.blocked.empty());
      EXPECT_EQ(cut.arcBytes, whole.arcBytes) << collectiveName(collective);
      EXPECT_EQ(cut.messages, whole.messages);
      EXPECT_LT(cut.events, whole.events / 2) << "it was not cut at all";
      const double error =
          static_cast<double>(cut.picoseconds) / static_cast<double>(whole.picoseconds) - 1;
      EXPECT_LT(std::abs(error), 0.03) << collectiveName(collective) << " of " << bytes;
    }
  }
}

TEST(SimSymmetry, WhatIsNotSymmetricIsSimulatedWhole) {
  const topo::Graph graph = topo::parseSynthetic("3 x (1 cpu, 4 gpu nvlink=400 nvswitch, 4 nic)");
  for (const Algorithm& row : registry()) {
    for (const uint64_t bytes : {uint64_t{1000}, uint64_t{1'000'003}}) {
      const CallShape call{row.collective, bytes};
      const Result whole = simulateWith(graph, 12, 0, row, call).result;
      const Result cut = simulateWith(graph, 12, 2, row, call).result;
      EXPECT_TRUE(cut.blocked.empty()) << row.name;
      EXPECT_EQ(cut.arcBytes, whole.arcBytes) << collectiveName(row.collective) << " " << row.name;
      EXPECT_EQ(cut.messages, whole.messages) << collectiveName(row.collective) << " " << row.name;
    }
  }
}

TEST(SimSymmetry, OfVeryManyStepsAFewSteadyPeriodsStandForAll) {
  const topo::Graph graph =
      topo::parseSynthetic("64 x (2 cpu, 8 gpu nvlink=450 nvswitch, 8 nic=50) rail");
  const Algorithm& stripes = *findAlgorithm(Collective::AllReduce, "stripes");
  const CallShape call{Collective::AllReduce, uint64_t{1} << 34};
  Result results[2];
  for (const Count periods : {5, 64}) {
    Settings settings;
    settings.periods = periods;
    settings.chunk = 64 << 10;
    const Rehearsal on(graph, 512, settings);
    const algo::Geometry geometry = on.geometryOf(stripes, call);
    ASSERT_GT(geometry.fullPeriods(), 64u);
    ASSERT_EQ(on.stepsOf(stripes, geometry, 0) > 4e6, periods == 64);
    results[periods == 5 ? 0 : 1] = on.simulate(stripes, geometry, 0, false).result;
  }
  EXPECT_EQ(results[0].simulatedPeriods, 5u);
  EXPECT_EQ(results[1].simulatedPeriods, 4u);
  EXPECT_EQ(results[1].arcBytes, results[0].arcBytes);
  const double error =
      static_cast<double>(results[1].picoseconds) / static_cast<double>(results[0].picoseconds) - 1;
  EXPECT_LT(std::abs(error), 0.02);
}

TEST(SimSymmetry, AFlatRingOfAThousandRanksIsShort) {
  const topo::Graph graph =
      topo::parseSynthetic("128 x (2 cpu, 8 gpu nvlink=450 nvswitch, 8 nic=50) rail");
  Rehearsal on(graph, 1024, {});
  const Algorithm& ring = *findAlgorithm(Collective::AllReduce, "ring");
  const CallShape call{Collective::AllReduce, uint64_t{1} << 30};
  const double steps = on.stepsOf(ring, on.geometryOf(ring, call), 0);
  EXPECT_LT(steps, 400'000);
  EXPECT_GT(steps, 200'000);
}

}  // namespace
