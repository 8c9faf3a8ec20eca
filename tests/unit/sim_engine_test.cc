// The simulator: fair links, times that can be worked out by hand, bytes on every link, deadlocks.

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include "coll/sim/choices.h"
#include "coll/sim/job.h"
#include "coll/sim/rehearsal.h"
#include "coll/verifier.h"
#include "support/topo_refusal.h"
#include "topo/synthetic.h"

namespace {

using namespace rondo;
using namespace rondo::sim;
using rondo::testing::expectPart;
using rondo::testing::refusalOf;
using topo::parseSynthetic;

/// A call on a machine with steps that cost nothing, so that links alone take time.
struct Call {
  topo::Graph graph;
  const Algorithm* algorithm;
  int ranks;
  algo::Geometry geometry;
  int root = 0;
  RankGroups groups = {};

  Job job() const {
    Job out;
    out.graph = &graph;
    out.places = placeRanks(graph, ranks);
    const Call* self = this;
    out.plan = [self](int rank) {
      return recordPlan(*self->algorithm, {rank, self->ranks, self->root, self->groups.placement()},
                        self->geometry);
    };
    return out;
  }
};

Call makeCall(const char* machine, Collective collective, const char* name, int ranks, Count count,
              Count chunk, int lanes = 1) {
  Call call{parseSynthetic(machine), findAlgorithm(collective, name), ranks, {}};
  EXPECT_NE(call.algorithm, nullptr) << name;
  call.groups = RankGroups(hostsOf(call.graph, placeRanks(call.graph, ranks)));
  call.geometry = {count, lanes, blocksOf(*call.algorithm, ranks, call.groups), chunk, 1};
  return call;
}

TEST(SimLinks, ShareMaxMinFairly) {
  // Three links in a row of 10, 20 and 30 bytes/ps: one flow over all, one each over the second and
  // third alone. The first gets 10, the others what is left.
  constexpr uint64_t kUnit = 1'000'000'000'000;
  FairLinks links({10 * kUnit, 20 * kUnit, 30 * kUnit});
  const std::vector<topo::Arc> all{0, 1, 2}, second{1}, third{2};
  links.start(&all, 1000, 1, 0);
  links.start(&second, 1000, 2, 0);
  links.start(&third, 1000, 3, 0);
  links.settle(0);
  EXPECT_NEAR(links.rateOf(1) / kUnit, 10, 1e-9);
  EXPECT_NEAR(links.rateOf(2) / kUnit, 10, 1e-9);
  EXPECT_NEAR(links.rateOf(3) / kUnit, 20, 1e-9);
  EXPECT_EQ(links.nextEnd(), 50u);
  uint64_t tag = 0;
  ASSERT_TRUE(links.takeEnded(50, &tag));
  EXPECT_EQ(tag, 3u);
  EXPECT_FALSE(links.takeEnded(50, &tag));
  links.settle(50);
  EXPECT_NEAR(links.rateOf(1) / kUnit, 10, 1e-9);
  EXPECT_EQ(links.nextEnd(), 100u);
}

TEST(SimLinks, RatesNeverExceedALink) {
  std::vector<uint64_t> capacities;
  uint64_t seed = 1;
  const auto next = [&seed](uint64_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % below;
  };
  for (int i = 0; i < 20; ++i) capacities.push_back(1'000'000'000 * (1 + next(50)));
  FairLinks links(capacities);
  std::vector<std::vector<topo::Arc>> routes(200);
  for (size_t f = 0; f < routes.size(); ++f) {
    for (topo::Arc arc = 0; arc < 20; ++arc) {
      if (next(5) == 0) routes[f].push_back(arc);
    }
    if (routes[f].empty()) routes[f].push_back(0);
    links.start(&routes[f], 1'000'000, f, 0);
  }
  links.settle(0);
  std::vector<double> loads(20);
  for (size_t f = 0; f < routes.size(); ++f) {
    for (const topo::Arc arc : routes[f]) loads[static_cast<size_t>(arc)] += links.rateOf(f);
  }
  for (size_t f = 0; f < routes.size(); ++f) {
    bool full = false;  // every flow crosses a link that is full
    for (const topo::Arc arc : routes[f]) {
      const size_t at = static_cast<size_t>(arc);
      EXPECT_LE(loads[at], static_cast<double>(capacities[at]) * (1 + 1e-9));
      full = full || loads[at] >= static_cast<double>(capacities[at]) * (1 - 1e-9);
    }
    EXPECT_TRUE(full) << f;
  }
}

TEST(SimTime, OneMessageIsLatencyAndBytes) {
  // 1 MB over 100 GB/s is 10 us, and two NVLinks are 0.5 us.
  const Call call =
      makeCall("2 gpu nvlink=100 nvswitch", Collective::Broadcast, "ring", 2, 1'000'000, 1'000'000);
  const Result result = simulate(call.job());
  EXPECT_TRUE(result.blocked.empty());
  EXPECT_EQ(result.picoseconds, 10'500'000u);
  EXPECT_EQ(result.messages, 1u);
}

TEST(SimTime, RingIsAsLongAsItsHops) {
  // n x 1 MB, 2 (n - 1) hops of 1 MB: each 10 us and 0.5 us of latency.
  for (const int n : {2, 3, 8}) {
    const Call call = makeCall("8 gpu nvlink=100 nvswitch", Collective::AllReduce, "ring", n,
                               static_cast<Count>(n) * 1'000'000, 1'000'000);
    EXPECT_EQ(simulate(call.job()).picoseconds, 2u * (static_cast<uint64_t>(n) - 1) * 10'500'000)
        << n;
  }
}

TEST(SimTime, FlowsOfOneLinkShareIt) {
  // One sends to three at the same time: its NVLink carries all of it.
  const Call call = makeCall("4 gpu nvlink=100 nvswitch", Collective::Broadcast, "oneshot", 4,
                             1'000'000, 1'000'000);
  EXPECT_NEAR(static_cast<double>(simulate(call.job()).picoseconds), 30'500'000, 10);
}

TEST(SimTime, SameTwice) {
  const Call call = makeCall("4 x (2 cpu, 8 gpu nvlink=450 nvswitch, 8 nic=50) rail",
                             Collective::AllReduce, "stripes", 32, 3'000'001, 4096, 2);
  const Result a = simulate(call.job()), b = simulate(call.job());
  EXPECT_EQ(a.picoseconds, b.picoseconds);
  EXPECT_EQ(a.events, b.events);
  EXPECT_EQ(a.arcBytes, b.arcBytes);
}

/// Bytes that leave the GPUs, counted on the plans.
uint64_t plannedBytes(const Call& call) {
  uint64_t sum = 0;
  for (int rank = 0; rank < call.ranks; ++rank) {
    const Plan plan = call.job().plan(rank);
    for (const LaneProgram& lane : plan.lanes) {
      const auto add = [&](const std::vector<Step>& steps, Count times) {
        for (const Step& step : steps) {
          if ((step.bits & algo::kSend) == 0) continue;
          const Count peers = step.to < 0 ? static_cast<Count>(call.ranks - 1) : 1;
          sum += elementsOf(step) * peers * times;
        }
      };
      add(lane.full, plan.geometry.fullPeriods());
      add(lane.last, 1);
    }
  }
  return sum;
}

uint64_t leaving(const topo::Graph& graph, const Result& result, topo::NodeKind kind) {
  uint64_t sum = 0;
  for (size_t arc = 0; arc < result.arcBytes.size(); ++arc) {
    const topo::Node& from = graph.node(graph.source(static_cast<int>(arc)));
    if (from.kind == kind) sum += result.arcBytes[arc];
  }
  return sum;
}

TEST(SimBytes, AreThoseOfThePlans) {
  for (const Algorithm& algorithm : registry()) {
    for (const int ranks : {2, 5, 8}) {
      SCOPED_TRACE(std::string(collectiveName(algorithm.collective)) + " " + algorithm.name);
      const bool barrier = algorithm.collective == Collective::Barrier;
      const Call call =
          makeCall("4 x (1 cpu, 2 gpu nvlink=100 nvswitch, 2 nic=10)", algorithm.collective,
                   algorithm.name, ranks, barrier ? 0 : 10'007, 512, 2);
      const Result result = simulate(call.job());
      ASSERT_TRUE(result.blocked.empty()) << result.blocked[0];
      EXPECT_EQ(leaving(call.graph, result, topo::NodeKind::Gpu), plannedBytes(call));
      EXPECT_GT(result.picoseconds, 0u);
    }
  }
}

TEST(SimBytes, AreTheAnalyticCount) {
  struct Expected {
    Collective collective;
    const char* name;
    uint64_t leaving;  ///< All ranks' bytes, in parts of the message.
  };
  constexpr int n = 8;
  constexpr uint64_t kBytes = 8 * 4096;
  const Expected all[] = {
      {Collective::AllReduce, "ring", 2 * (n - 1)},
      {Collective::AllReduce, "twoshot", 2 * (n - 1)},
      {Collective::AllReduce, "halving", 2 * (n - 1)},
      {Collective::AllReduce, "oneshot", n * (n - 1)},
      {Collective::AllReduce, "doubling", n * 3},
      {Collective::AllReduce, "tree", 2 * (n - 1)},
      {Collective::Broadcast, "ring", n - 1},
      {Collective::Broadcast, "binomial", n - 1},
      {Collective::AllGather, "ring", n * (n - 1)},
      {Collective::AllGather, "bruck", n * (n - 1)},
      {Collective::ReduceScatter, "ring", n * (n - 1)},
      {Collective::AllToAll, "pairwise", n * (n - 1)},
  };
  for (const Expected& e : all) {
    const Call call = makeCall("8 gpu nvlink=100 nvswitch", e.collective, e.name, n, kBytes, 1024);
    const Result result = simulate(call.job());
    EXPECT_EQ(leaving(call.graph, result, topo::NodeKind::Gpu), e.leaving * kBytes) << e.name;
    EXPECT_EQ(leaving(call.graph, result, topo::NodeKind::NvSwitch), e.leaving * kBytes) << e.name;
  }
  // A ring over two hosts crosses the network twice.
  const Call two = makeCall("2 x (1 cpu, 4 gpu nvlink=100 nvswitch, 4 nic=10)",
                            Collective::AllReduce, "ring", n, kBytes, 1024);
  EXPECT_EQ(leaving(two.graph, simulate(two.job()), topo::NodeKind::Switch),
            2 * 2 * (n - 1) * kBytes / n);
}

TEST(SimDeadlock, WithoutSlotsNobodySends) {
  const Call call = makeCall("3 gpu nvlink=100 nvswitch", Collective::AllReduce, "ring", 3, 30, 10);
  Job job = call.job();
  job.depth = 0;
  const Result result = simulate(job);
  ASSERT_EQ(result.blocked.size(), 3u);
  expectPart(result.blocked[1], "period 0, rank 1, lane 0, full period, step 1 (send ");
  expectPart(result.blocked[1], "waits for a slot to rank 2 (0 of 0 in use)");
}

TEST(SimDeadlock, CrossedReceivesAndSends) {
  const Algorithm& ring = *findAlgorithm(Collective::AllReduce, "ring");
  const algo::Geometry geometry{20, 1, 2, 10, 1};
  const auto plan = [&](int rank, bool receivesFirst) {
    Plan out{&ring, {rank, 2, 0}, geometry, {}};
    const int peer = 1 - rank;
    const Step send{StepKind::Move, algo::kSrc | algo::kSend, algo::Room::Pair, -1, peer, 0, 10};
    const Step recv{StepKind::Move, algo::kRecv | algo::kDst, algo::Room::Pair, peer, -1, 0, 10};
    out.lanes.push_back({{send, send, send, recv, recv, recv}, {}});
    if (receivesFirst) out.lanes[0].full = {recv, send, recv, send, recv, send};
    return out;
  };
  const topo::Graph graph = parseSynthetic("2 gpu nvlink=100 nvswitch");
  Job job;
  job.graph = &graph;
  job.places = placeRanks(graph, 2);
  job.plan = [&](int rank) { return plan(rank, true); };
  Result result = simulate(job);
  ASSERT_EQ(result.blocked.size(), 2u);
  expectPart(result.blocked[0], "step 1 (recv 1> [0,10)): waits for a message of rank 1");
  expectPart(result.blocked[1], "waits for a message of rank 0");
  // Three sends each way before any receive need three slots.
  job.plan = [&](int rank) { return plan(rank, false); };
  result = simulate(job);
  ASSERT_EQ(result.blocked.size(), 2u);
  expectPart(result.blocked[0],
             "step 3 (send [0,10) >1): waits for a slot to rank 1 (2 of 2 in use)");
  job.depth = 3;
  EXPECT_TRUE(simulate(job).blocked.empty());
}

TEST(SimRun, EveryAlgorithmEndsOnHostsAndDevices) {
  const topo::Graph hosts = parseSynthetic("3 x (2 cpu cores=2, 1 nic=10)");
  for (const Algorithm& algorithm : registry()) {
    for (const int ranks : {1, 2, 3, 7, 12}) {
      Call call = makeCall("3 x (2 cpu cores=2, 1 nic=10)", algorithm.collective, algorithm.name,
                           ranks, algorithm.collective == Collective::Barrier ? 0 : 5'001, 256, 2);
      Job job = call.job();
      job.costs = hostCosts(HostCosts{});
      const Result result = simulate(job);
      EXPECT_TRUE(result.blocked.empty())
          << collectiveName(algorithm.collective) << " " << algorithm.name << " on " << ranks
          << " ranks: " << (result.blocked.empty() ? "" : result.blocked[0]);
    }
  }
}

TEST(SimRun, PeriodsThatAreNotSimulatedTakeAsLong) {
  for (const char* name : {"ring", "stripes", "hier", "treepipe", "twoshot"}) {
    const Call call = makeCall("2 x (1 cpu, 4 gpu nvlink=450 nvswitch, 4 nic=50) rail",
                               Collective::AllReduce, name, 8, 8'000'123, 4096, 2);
    Job job = call.job();
    job.costs = deviceCosts();
    const Result whole = simulate(job);
    job.periods = 12;
    const Result part = simulate(job);
    EXPECT_LT(part.messages, whole.messages);
    const double ratio =
        static_cast<double>(part.picoseconds) / static_cast<double>(whole.picoseconds);
    EXPECT_NEAR(ratio, 1.0, 0.02) << name;
    EXPECT_EQ(part.arcBytes, whole.arcBytes) << name;
  }
}

/// Ranks of pipelines that share memory and cards: those that are done leave them to the others.
TEST(SimRun, PeriodsOfLongPipelinesTakeAsLong) {
  const topo::Graph hosts = parseSynthetic("4 x (2 cpu cores=4, 1 nic=25)");
  Settings all;
  all.periods = 0;
  const Rehearsal usual(hosts, 0, {}), whole(hosts, 0, all);
  for (const Collective collective : {Collective::Broadcast, Collective::Reduce}) {
    const CallShape call{collective, 16u << 20};
    for (const Algorithm* algorithm : usual.candidates(collective)) {
      const algo::Geometry geometry = usual.geometryOf(*algorithm, call);
      const auto timeOn = [&](const Rehearsal& on) {
        return static_cast<double>(on.simulate(*algorithm, geometry, 0, false).result.picoseconds);
      };
      EXPECT_NEAR(timeOn(usual) / timeOn(whole), 1.0, 0.03)
          << collectiveName(collective) << " " << algorithm->name;
    }
  }
}

/// Pipelines of hundreds of ranks are longer than the periods that are simulated at first.
TEST(SimRun, PipelinesThatAreLongerThanAFewPeriodsAreSeenFull) {
  Settings all;
  all.periods = 0;
  for (const auto& [cpus, bytes] : {std::pair{16, 16u << 20}, {32, 8u << 20}, {64, 4u << 20}}) {
    const topo::Graph hosts = parseSynthetic("1 x (" + std::to_string(cpus) + " cpu)");
    const Rehearsal usual(hosts, 0, {}), whole(hosts, 0, all);
    for (const char* name : {"ring", "tree"}) {
      const Algorithm& algorithm = *findAlgorithm(Collective::Broadcast, name);
      const algo::Geometry geometry = usual.geometryOf(algorithm, {Collective::Broadcast, bytes});
      const auto timeOn = [&](const Rehearsal& on) {
        return static_cast<double>(on.simulate(algorithm, geometry, 0, false).result.picoseconds);
      };
      EXPECT_NEAR(timeOn(usual) / timeOn(whole), 1.0, 0.03) << name << " on " << cpus << " CPUs";
    }
  }
}

/// A broadcast round a ring of 64 ranks, in 1,024 periods.
class SimPeriods : public ::testing::Test {
 protected:
  Result run(Count periods, uint64_t stepsToFull) const {
    Job job = on_.jobOf(ring_, on_.geometryOf(ring_, {Collective::Broadcast, 64u << 20}), 0);
    job.periods = periods;
    job.stepsToFull = stepsToFull;
    return simulate(job);
  }
  const topo::Graph hosts_ = parseSynthetic("1 x (8 cpu cores=8)");
  const Rehearsal on_{hosts_, 64, {}};
  const Algorithm& ring_ = *findAlgorithm(Collective::Broadcast, "ring");
  static constexpr uint64_t kStepsOfPeriod = 2 * 64;
};

TEST_F(SimPeriods, AreDoubledUntilThePipelineIsFull) {
  const Result whole = run(0, 0), grown = run(8, 2'000'000);
  EXPECT_TRUE(whole.seenFull);
  EXPECT_TRUE(grown.seenFull);
  EXPECT_GT(grown.simulatedPeriods, 32u);
  EXPECT_LT(grown.simulatedPeriods, whole.periods);
  EXPECT_EQ(grown.arcBytes, whole.arcBytes);
  const auto ratio =
      static_cast<double>(grown.picoseconds) / static_cast<double>(whole.picoseconds);
  EXPECT_NEAR(ratio, 1.0, 0.03);
  EXPECT_EQ(run(8, 2'000'000).picoseconds, grown.picoseconds);
}

TEST_F(SimPeriods, AreAsManyAsIsSaidAndNoMoreThanTheStepsAllow) {
  const Result said = run(8, 0), few = run(8, 20 * kStepsOfPeriod);
  EXPECT_EQ(said.simulatedPeriods, 8u);
  EXPECT_FALSE(said.seenFull);
  EXPECT_EQ(few.simulatedPeriods, 20u);
  EXPECT_FALSE(few.seenFull);
}

/// The last one has no next one beside it, and says nothing of the others.
TEST(SimRun, TheLastPeriodIsNotMeasured) {
  const topo::Graph hosts = parseSynthetic("1 x (2 cpu cores=32)");
  const Rehearsal on(hosts, 64, {});
  const Algorithm& oneshot = *findAlgorithm(Collective::AllReduce, "oneshot");
  Job job = on.jobOf(oneshot, on.geometryOf(oneshot, {Collective::AllReduce, 4u << 20}), 0);
  job.periods = 0;
  const auto whole = static_cast<double>(simulate(job).picoseconds);
  job.periods = 16;
  EXPECT_NEAR(static_cast<double>(simulate(job).picoseconds) / whole, 1.0, 0.005);
}

TEST_F(SimPeriods, ThatAreTooFewAreToldOf) {
  Settings settings;
  settings.algorithm = "ring";
  settings.periods = 8;
  Rehearsal usual(hosts_, 64, settings);
  settings.wholeIfKept = false;
  Rehearsal asked(hosts_, 64, settings);
  const CallShape call{Collective::Broadcast, 64u << 20};
  EXPECT_EQ(choiceLine(usual, call).find("seen full"), std::string::npos);
  expectPart(choiceLine(asked, call), "  its pipeline was not seen full\n");
}

// Hours, of which many periods are simulated: picoseconds times periods do not fit in 64 bits.
TEST(SimRun, LongCallsTakeAsManyTimesAsLong) {
  const topo::Graph hosts = parseSynthetic("2 x (1 cpu, 1 nic=1)");
  Settings settings;
  settings.chunk = 256;
  settings.algorithm = "ring";
  const Rehearsal on(hosts, 2, settings);
  const Algorithm* const ring = on.candidates(Collective::Broadcast).front();
  const auto timeOf = [&](Count bytes) {
    const algo::Geometry geometry = on.geometryOf(*ring, {Collective::Broadcast, bytes});
    return static_cast<double>(on.simulate(*ring, geometry, 0, false).result.picoseconds);
  };
  EXPECT_NEAR(timeOf(Count{16384} << 30) / timeOf(Count{2048} << 30), 8.0, 0.1);
}

TEST(SimRun, RefusesMoreRanksThanPlaces) {
  const topo::Graph graph = parseSynthetic("2 gpu nvlink=100 nvswitch");
  expectPart(refusalOf([&] { placeRanks(graph, 3); }),
             "3 ranks; allowed on this machine: 1 to 2, one on each GPU");
}

/// Printed, for the performance page; asserted loosely.
TEST(SimRun, TimeOfAHierarchyOnManyRanks) {
  const auto start = std::chrono::steady_clock::now();
  const Call call = makeCall("32 x (2 cpu, 4 pci, 8 gpu nvlink=450 nvswitch, 8 nic=50) rail",
                             Collective::AllReduce, "stripes", 256, 1 << 28, 1 << 20, 1);
  Job job = call.job();
  job.costs = deviceCosts();
  job.periods = 4;
  const Result result = simulate(job);
  EXPECT_TRUE(result.blocked.empty());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("stripes, 256 ranks, 256 MiB: predicted %.3f ms, %llu events, simulated in %.2f s\n",
              static_cast<double>(result.picoseconds) * 1e-9,
              static_cast<unsigned long long>(result.events), took.count());
  EXPECT_LT(took.count(), 60.0);
}

}  // namespace
