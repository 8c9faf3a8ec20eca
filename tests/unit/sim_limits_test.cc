// What the simulator does not do: calls that would take too long, deadlocks, roots that there are
// not, times that would wrap.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "coll/sim/choices.h"
#include "coll/sim/rehearsal.h"
#include "support/topo_refusal.h"
#include "topo/synthetic.h"

namespace {

using namespace rondo;
using namespace rondo::sim;
using rondo::testing::expectPart;
using rondo::testing::refusalOf;
using topo::parseSynthetic;

TEST(SimLimits, WhatWouldTakeLongIsNotSimulatedUnasked) {
  const CallShape all{Collective::AllReduce, 4u << 20};
  const topo::Graph hosts = parseSynthetic("16 x (2 cpu cores=8, 1 nic)");
  const Rehearsal on(hosts, 0, {});
  const auto workOf = [&](const Rehearsal& machine, const char* name, const CallShape& call) {
    const Algorithm& algorithm = *findAlgorithm(call.collective, name);
    return machine.workOf(algorithm, machine.geometryOf(algorithm, call), 0);
  };
  // Minutes, hours and a fifth of a second were measured.
  EXPECT_GT(workOf(on, "oneshot", all), Settings{}.mostSteps);
  EXPECT_GT(workOf(on, "twoshot", all), Settings{}.mostSteps);
  EXPECT_GT(workOf(on, "direct", {Collective::AllToAll, 4u << 20}), Settings{}.mostSteps);
  EXPECT_LT(workOf(on, "stripes", all), 2e6);
  EXPECT_LT(workOf(on, "halving", all), 2e6);
  // Where little is simulated, all ranks' steps are recorded all the same.
  const topo::Graph flat = parseSynthetic("32768 x (1 cpu cores=1, 1 nic)");
  const Rehearsal many(flat, 0, {});
  EXPECT_GT(workOf(many, "ring", {Collective::AllReduce, 1024}), Settings{}.mostSteps);
  EXPECT_GT(workOf(many, "halving", {Collective::AllReduce, 1024}), Settings{}.mostSteps);
}

// What --flows may keep is counted in transfers.
TEST(SimLimits, MessagesToEveryoneCount) {
  const topo::Graph graph = parseSynthetic("2 x (2 cpu cores=8, 1 nic)");
  const Rehearsal on(graph, 0, {});
  for (const char* name : {"oneshot", "twoshot"}) {
    const Algorithm& algorithm = *findAlgorithm(Collective::AllReduce, name);
    const algo::Geometry geometry = on.geometryOf(algorithm, {Collective::AllReduce, 1u << 20});
    const Outcome outcome = on.simulate(algorithm, geometry, 0, true);
    ASSERT_FALSE(outcome.result.transfers.empty());
    EXPECT_GE(on.stepsOf(algorithm, geometry, 0, true),
              static_cast<double>(outcome.result.transfers.size()))
        << name;
  }
}

TEST(SimLimits, ALongCallOnHostMemoryTakesWhatThePlannerPredicts) {
  const topo::Graph graph = parseSynthetic("2 x (2 cpu cores=8, 1 nic)");
  Settings settings;
  settings.mostPlanned = 10;
  Rehearsal few(graph, 0, settings), usual(graph, 0, {});
  const CallShape call{Collective::AllToAll, 4u << 20};
  const Outcome& predicted = few.best(call);
  const Outcome& simulated = usual.best(call);
  EXPECT_TRUE(predicted.predicted);
  EXPECT_FALSE(simulated.predicted);
  EXPECT_EQ(predicted.algorithm, simulated.algorithm);
  const double ratio = static_cast<double>(predicted.result.picoseconds) /
                       static_cast<double>(simulated.result.picoseconds);
  EXPECT_NEAR(ratio, 1, 0.5);
  EXPECT_EQ(predicted.result.messages, 0u);
  EXPECT_EQ(predicted.result.arcBytes.size(), graph.arcs());
  expectPart(choiceLine(few, call), "  as the planner predicts: too long to be simulated");
}

// Where nothing is short enough on device memory of many hosts, a few of them show the line.
TEST(SimLimits, ALongCallOnDeviceMemoryIsDrawnOnFromFewerHosts) {
  const topo::Graph graph = parseSynthetic("32 x (2 cpu, 4 gpu nvlink=450 nvswitch, 1 nic=25)");
  Settings settings;
  for (const uint64_t bytes : {uint64_t{1} << 16, uint64_t{1} << 24}) {
    const CallShape call{Collective::AllToAll, bytes};
    const Rehearsal usual(graph, 0, {});
    double least = 1e9;
    for (const Algorithm* algorithm : usual.candidates(call.collective)) {
      least = std::min(least, usual.workOf(*algorithm, usual.geometryOf(*algorithm, call), 0));
    }
    settings.mostSteps = settings.mostPlanned = 0.9 * least;
    Rehearsal few(graph, 0, settings);
    const Outcome& drawn = few.best(call);
    ASSERT_TRUE(drawn.predicted);
    EXPECT_TRUE(drawn.fewerHosts == 8 || drawn.fewerHosts == 16) << drawn.fewerHosts;
    EXPECT_EQ(drawn.result.messages, 0u);
    EXPECT_EQ(drawn.result.arcBytes.size(), graph.arcs());
    const Outcome whole =
        Rehearsal(graph, 0, {}).simulate(*drawn.algorithm, drawn.geometry, 0, false);
    EXPECT_NEAR(static_cast<double>(drawn.result.picoseconds) /
                    static_cast<double>(whole.result.picoseconds),
                1, 0.02);
    expectPart(choiceLine(few, call), format("  drawn on from %d and %d hosts: too long to be "
                                             "simulated",
                                             drawn.fewerHosts / 2, drawn.fewerHosts));
  }
  // Of few hosts there is no line: then it is simulated, however long that takes.
  const topo::Graph eight = parseSynthetic("8 x (2 cpu, 4 gpu nvlink=450 nvswitch, 1 nic=25)");
  settings.mostPlanned = 10;
  Rehearsal all(eight, 0, settings);
  EXPECT_FALSE(all.best({Collective::AllToAll, 1u << 16}).predicted);
}

TEST(SimLimits, TimesThatWouldWrapAreRefused) {
  const std::string sentence = "the call takes longer than 53 days";
  const topo::Graph graph = parseSynthetic("1 cpu, 2 gpu nvlink=1B/s nvswitch");
  const CallShape call{Collective::AllReduce, uint64_t{1} << 34};
  Settings settings;
  settings.lanes = 1;  // not as the planner has it
  for (Rehearsal on : {Rehearsal(graph, 2, {}), Rehearsal(graph, 2, settings)}) {
    expectPart(refusalOf([&] { on.best(call); }), sentence);
  }
  FairLinks links({1});
  const std::vector<topo::Arc> arc{0};
  links.start(&arc, 4'000'000, 1, 0);  // 4e18 ps, and 2^62 are 4.6e18
  links.settle(0);
  links.start(&arc, 4'000'000, 2, 0);
  expectPart(refusalOf([&] { links.settle(0); }), sentence);
}

TEST(SimLimits, ADeadlockAndAForeignRootAreNoResults) {
  const topo::Graph graph = parseSynthetic("1 cpu cores=4");
  Settings settings;
  settings.depth = 0;
  Rehearsal blocked(graph, 4, settings);
  try {
    blocked.best({Collective::AllReduce, 1024});
    ADD_FAILURE() << "a deadlock is taken for a result";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), rondoInternalError);
    expectPart(error.sentence(), "deadlock: ");
    expectPart(error.sentence(), "rank 1, lane 0");
  }
  Rehearsal on(graph, 4, {});
  for (const int root : {-1, 4, 1000}) {
    const CallShape call{Collective::Reduce, 1024, root};
    const std::string sentence = format("--root is %d; allowed: 0 to 3", root);
    std::vector<LeftOut> leftOut;
    expectPart(refusalOf([&] { on.best(call); }), sentence);
    expectPart(refusalOf([&] { on.simulateAll(call, &leftOut, false); }), sentence);
    const Algorithm& ring = *findAlgorithm(Collective::Reduce, "ring");
    expectPart(refusalOf([&] { on.jobOf(ring, on.geometryOf(ring, call), root); }), sentence);
  }
  // A part's own ranks count.
  Rehearsal halves(graph, 4, {}, Parts({{0, 1}, {2, 3}}));
  expectPart(refusalOf([&] { halves.best({Collective::Reduce, 1024, 2}); }), "allowed: 0 to 1");
}

}  // namespace
