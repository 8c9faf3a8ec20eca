// rondo-tune's fit: finds again the costs that made up the times.

#include "tune_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tune_plans.h"

namespace rondo::tune {
namespace {

Measured twoRanks() {
  Measured by;
  by.facts.ranks = 2;
  by.facts.cpus = 2;
  by.facts.lanes = 2;
  by.facts.chunkBytes = 32u << 10;
  return by;
}

/// Another machine's.
HostCosts truth() {
  HostCosts costs;
  costs.hop = 350'000;
  costs.message = 140'000;
  costs.lane = 300'000;
  costs.copyPerKiB = 62'000;
  costs.reducePerKiB = 95'000;
  costs.handOnPerKiB = 70'000;
  costs.againPerKiB = 50'000;
  costs.cold1M = 11'000;
  costs.cold8M = 28'000;
  costs.cold64M = 15'000;
  costs.cold512M = 18'000;
  return costs;
}

/// What `costs` would take, with `noise`, of calls as rondo-tune makes them.
std::vector<Observation> timesOf(const HostCosts& costs, const Measured& by, double noise) {
  std::vector<Observation> out;
  std::mt19937_64 random(1);
  std::normal_distribution<double> spread(0, noise);
  const struct {
    Collective collective;
    const char* rule;
    bool heldOut;
  } calls[] = {{Collective::AllReduce, "allreduce:host:0-:oneshot/1", false},
               {Collective::AllReduce, "allreduce:host:0-:twoshot/1", false},
               {Collective::AllReduce, "allreduce:host:0-:twoshot/2", false},
               {Collective::AllReduce, "allreduce:host:0-:ring/2/16K", false},
               {Collective::AllReduce, "allreduce:host:0-:ring/1", true},
               {Collective::Broadcast, "broadcast:host:0-:oneshot/1", false},
               {Collective::AllGather, "allgather:host:0-:direct/1", false}};
  for (const auto& call : calls) {
    for (uint64_t count = 256; count <= 64u << 20; count *= 8) {
      Observation o{{call.collective, count, 4, 0}, parseTune(call.rule), 0, call.heldOut};
      o.picoseconds = static_cast<double>(predictionOf(o, by, costs)) * std::exp(spread(random));
      out.push_back(o);
    }
  }
  return out;
}

std::vector<double> errors(const std::vector<Observation>& calls, const Measured& by,
                           const HostCosts& costs, bool heldOut) {
  std::vector<double> out;
  for (const Observation& o : calls) {
    if (o.heldOut != heldOut) continue;
    out.push_back(static_cast<double>(predictionOf(o, by, costs)) / o.picoseconds - 1);
  }
  return out;
}

TEST(TuneFit, PredictsWhatItHasSeenAndWhatItHasNot) {
  const Measured by = twoRanks();
  const auto calls = timesOf(truth(), by, 0.03);
  EXPECT_GT(errorsOf(errors(calls, by, HostCosts{}, false)).median, 0.2) << "something to find";
  const HostCosts found = fitCosts(calls, by, HostCosts{}, measurable(by));
  EXPECT_LT(errorsOf(errors(calls, by, found, false)).median, 0.04);
  EXPECT_LT(errorsOf(errors(calls, by, found, true)).median, 0.04);
  EXPECT_LT(errorsOf(errors(calls, by, found, true)).worst, 0.15);
  EXPECT_NEAR(static_cast<double>(found.reducePerKiB), 95'000, 15'000);
  EXPECT_NEAR(static_cast<double>(found.copyPerKiB), 62'000, 10'000);
}

TEST(TuneFit, OutliersCountLess) {
  const Measured by = twoRanks();
  auto calls = timesOf(truth(), by, 0.01);
  for (size_t i = 3; i < calls.size(); i += 11) calls[i].picoseconds *= 8;
  const HostCosts found = fitCosts(calls, by, HostCosts{}, measurable(by));
  EXPECT_LT(errorsOf(errors(timesOf(truth(), by, 0), by, found, true)).median, 0.1);
}

TEST(TuneFit, KeepsWhatTheRanksCannotSee) {
  Measured by = twoRanks();
  HostCosts prior;
  prior.yield = 111;
  prior.farMessage = 222;
  prior.hostsHop = 333;
  const HostCosts found = fitCosts(timesOf(truth(), by, 0), by, prior, measurable(by));
  EXPECT_EQ(found.yield, 111u);
  EXPECT_EQ(found.farMessage, 222u);
  EXPECT_EQ(found.hostsHop, 333u);
  const auto at = [](const std::vector<bool>& free, const std::string& name) {
    for (size_t i = 0; i < free.size(); ++i) {
      if (costFields()[i].name == name) return bool{free[i]};
    }
    ADD_FAILURE() << name;
    return false;
  };
  EXPECT_TRUE(at(measurable(by), "hop"));
  EXPECT_FALSE(at(measurable(by), "yield"));
  by.facts.cpus = 1;
  EXPECT_TRUE(at(measurable(by), "yield"));
  by.facts.groups = RankGroups({0, 1});
  EXPECT_TRUE(at(measurable(by), "far_per_kib"));
  EXPECT_FALSE(at(measurable(by), "hosts_per_kib"));
  by.acrossHosts = true;
  EXPECT_FALSE(at(measurable(by), "far_per_kib"));
  EXPECT_TRUE(at(measurable(by), "hosts_per_kib"));
  EXPECT_FALSE(at(measurable(by), "hop")) << "its own run tells what lies inside a host";
}

TEST(TuneFit, FindsWhatLiesBetweenHosts) {
  Measured by = twoRanks();
  by.facts.groups = RankGroups({0, 1});
  by.acrossHosts = true;
  const HostCosts near = truth();  // of an earlier run
  HostCosts far = near;
  far.hostsHop = 20'000'000;
  far.hostsPerKiB = 400'000;
  far.hostsSendPerKiB = 400'000;
  const auto calls = timesOf(far, by, 0);
  const HostCosts found = fitCosts(calls, by, near, measurable(by));
  EXPECT_LT(errorsOf(errors(calls, by, found, true)).median, 0.05);
  EXPECT_EQ(found.farHop, near.farHop);
  EXPECT_EQ(found.hop, near.hop);
}

TEST(TuneFit, NothingToFitChangesNothing) {
  const Measured by = twoRanks();
  EXPECT_EQ(fitCosts({}, by, truth(), measurable(by)), truth());
  EXPECT_EQ(fitCosts(timesOf(truth(), by, 0), by, HostCosts{},
                     std::vector<bool>(costFields().size(), false)),
            HostCosts{});
}

TEST(TuneStates, AreCutWhereFlagsAreFarApart) {
  const auto states = splitStates({337, 81, 31, 83, 79, 96, 30, 330, 353});
  ASSERT_EQ(states.size(), 3u);
  EXPECT_EQ(states[0], (std::vector<uint64_t>{30, 31}));
  EXPECT_EQ(states[1], (std::vector<uint64_t>{79, 81, 83, 96}));
  EXPECT_EQ(states[2], (std::vector<uint64_t>{330, 337, 353}));
  EXPECT_EQ(splitStates({0, 0, 0}).size(), 1u) << "nobody looked";
  EXPECT_TRUE(splitStates({}).empty());
}

TEST(TuneStates, OfEarlierRunsAreKeptWhereThisOneWasNot) {
  const size_t fields = costFields().size();
  const auto state = [&](uint64_t flag, uint64_t hop) {
    CostsState out;
    out.flag = flag;
    out.costs.hop = hop;
    out.measured.assign(fields, false);
    return out;
  };
  CostsFile before;
  static_cast<CostsState&>(before) = state(80'000, 1);
  before.others = {state(30'000, 2), state(330'000, 3)};
  std::vector<bool> free(fields, false);
  free[0] = true;  // hop
  std::vector<CostsState> run{state(85'000, 10)};
  run[0].measured[0] = true;
  std::vector<CostsState> merged = mergedStates(run, before, free);
  ASSERT_EQ(merged.size(), 3u);
  EXPECT_EQ(merged[0].costs.hop, 10u);
  EXPECT_EQ(merged[1].flag, 30'000u);
  EXPECT_EQ(merged[1].costs.hop, 10u) << "nobody had measured it: this run's is nearer the truth";
  EXPECT_TRUE(merged[1].measured[0]);
  before.others[0].measured[0] = true;
  EXPECT_EQ(mergedStates(run, before, free)[1].costs.hop, 2u);
  // What was measured when nobody looked is replaced; never more states than a file holds.
  before.flag = 0;
  EXPECT_EQ(mergedStates(run, before, free).size(), 3u);
  for (const uint64_t flag : {1u, 10u, 100u, 1000u}) before.others.push_back(state(flag, 0));
  EXPECT_EQ(mergedStates(run, before, free).size(), kMostStates);
}

TEST(TuneStates, ANetworkIsTheSameInAll) {
  std::vector<CostsState> states(2);
  std::vector<bool> free;
  for (const CostField& field : costFields()) {
    free.push_back(std::string(field.name).starts_with("hosts_"));
  }
  for (CostsState& state : states) state.measured.assign(free.size(), false);
  states[0].costs.hostsHop = 1;
  states[0].costs.hop = 2;
  states[1].costs.hop = 3;
  giveToAll(free, &states);
  EXPECT_EQ(states[1].costs.hostsHop, 1u);
  EXPECT_EQ(states[1].costs.hop, 3u);
  EXPECT_NE(states[1].measured, std::vector<bool>(free.size(), false));
}

TEST(TunePlans, TheNetworksShareCommunicatorsByCollective) {
  for (const bool layered : {false, true}) {
    const Program program = networkProgram(layered);
    for (const TimedPlan& plan : program.plans) {
      const std::vector<TuneRule> rules = parseTune(rulesOf(program, plan.comm));
      const auto mine = std::count_if(rules.begin(), rules.end(), [&](const TuneRule& rule) {
        return rule.collective == plan.collective;
      });
      EXPECT_EQ(mine, 1) << ruleOf(plan) << ": a communicator takes a collective's first rule";
    }
  }
}

}  // namespace
}  // namespace rondo::tune
