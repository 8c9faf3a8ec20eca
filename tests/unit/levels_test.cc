// Where ranks sit on hosts of one size, and when their calls on device memory go in levels.

#include <gtest/gtest.h>

#include <numeric>

#include "coll/levels_choice.h"
#include "coll/levels_layout.h"

namespace rondo {
namespace {

TEST(Levels, LayoutOfHostsOfOneSize) {
  const LevelsLayout byHost = LevelsLayout::of({0, 0, 1, 1, 2, 2}, 3);
  EXPECT_TRUE(byHost.layered());
  EXPECT_EQ(byHost.hosts, 3);
  EXPECT_EQ(byHost.places, 2);
  EXPECT_EQ(byHost.host, 1);
  EXPECT_EQ(byHost.place, 1);
  EXPECT_EQ(byHost.near, (std::vector<int>{2, 3}));
  EXPECT_EQ(byHost.rail, (std::vector<int>{1, 3, 5}));
  EXPECT_EQ(byHost.order, LevelsOrder::ByHost);
  const LevelsLayout byPlace = LevelsLayout::of({0, 1, 2, 0, 1, 2}, 4);
  EXPECT_EQ(byPlace.near, (std::vector<int>{1, 4}));
  EXPECT_EQ(byPlace.rail, (std::vector<int>{3, 4, 5}));
  EXPECT_EQ(byPlace.order, LevelsOrder::ByPlace);
  const LevelsLayout mixed = LevelsLayout::of({0, 1, 1, 0}, 2);
  EXPECT_TRUE(mixed.layered());
  EXPECT_EQ(mixed.rail, (std::vector<int>{3, 2}));  // by host
  EXPECT_EQ(mixed.order, LevelsOrder::Other);
}

TEST(Levels, NothingToDoInside) {
  EXPECT_FALSE(LevelsLayout::of({0, 1, 1}, 0).layered());
  EXPECT_FALSE(LevelsLayout::of({0, 1, 2}, 0).layered());
  EXPECT_FALSE(LevelsLayout::of({0, 0, 0}, 1).layered());
}

TEST(Levels, NearTimesLieOnALineBetweenSizes) {
  NearTimes::Times times{};
  for (size_t k = 0; k < times.size(); ++k) times[k] = 1000 * (k + 1);
  EXPECT_EQ(NearTimes::at(times, 1), 1000u);
  EXPECT_EQ(NearTimes::at(times, 64), 1000u);
  EXPECT_EQ(NearTimes::at(times, 96), 1500u);
  EXPECT_EQ(NearTimes::at(times, 128), 2000u);
  const uint64_t last = uint64_t{1} << (NearTimes::kFirst + NearTimes::kSizes - 1);
  EXPECT_EQ(NearTimes::at(times, last), 31'000u);
  EXPECT_NEAR(static_cast<double>(NearTimes::at(times, 4 * last)), 124'000, 1100);
  NearTimes one, other;
  one.allGather[3] = 5;
  other.allGather[3] = 7;
  other.reduceScatter[0] = 9;
  one.worst(other);
  EXPECT_EQ(one.allGather[3], 7u);
  EXPECT_EQ(one.reduceScatter[0], 9u);
}

/// Hosts of 2 GPUs; kernels inside take `perKiB` picoseconds a KiB and no time beside that.
LevelsFacts twoHosts(uint64_t perKiB, const char* tune = "") {
  LevelsFacts facts{2, 2, LevelsOrder::ByHost, 1, {}, {}, {}, parseTune(tune)};
  facts.all.ranks = 4;
  facts.all.lanes = 4;
  facts.all.chunkBytes = 512u << 10;
  facts.all.cpus = 64;
  facts.all.localRanks = 2;
  facts.all.groups = RankGroups({0, 0, 1, 1});
  facts.all.links.acrossHosts = true;
  setCosts({}, 0, &facts.all);
  for (size_t k = 0; k < facts.near.allGather.size(); ++k) {
    const uint64_t bytes = uint64_t{1} << (NearTimes::kFirst + k);
    facts.near.allGather[k] = facts.near.reduceScatter[k] = bytes * perKiB / 1024;
  }
  return facts;
}

TEST(Levels, LongCallsGoInLevelsWhereKernelsAreQuick) {
  LevelsChoice quick(twoHosts(3'000));
  const LevelsForecast found = quick.forecast(Collective::AllReduce, 4u << 20, 4);
  EXPECT_TRUE(found.byLevels);
  EXPECT_LT(found.levels, found.host);
  EXPECT_EQ(found.why, nullptr);
  LevelsChoice slow(twoHosts(3'000'000));
  EXPECT_FALSE(slow.forecast(Collective::AllReduce, 4u << 20, 4).byLevels);
}

// A remainder is a call of its own between all ranks.
TEST(Levels, ARemainderCosts) {
  LevelsChoice choice(twoHosts(3'000));
  const LevelsForecast even = choice.forecast(Collective::AllReduce, 1u << 20, 4);
  const LevelsForecast odd = choice.forecast(Collective::AllReduce, (1u << 20) + 1, 4);
  EXPECT_GE(odd.levels, even.levels + DeviceCosts{}.farCall);
}

// Chunks that move at once share what goes into a host: so many lanes are no more links.
TEST(Levels, LanesShareTheLinks) {
  constexpr uint64_t kBytes = 64u << 20, kLink = 1'000'000'000;
  LevelsFacts facts = twoHosts(3'000);
  facts.all.links.host = {0, 0, 1, 1};
  facts.lanes = 4;
  facts.costs.farPerKiB = 0;
  const auto hostTime = [&](uint64_t intoHost) {
    facts.all.links.intoHost = intoHost;
    return LevelsChoice(facts).forecast(Collective::AllReduce, kBytes / 4, 4).host;
  };
  EXPECT_GE(hostTime(kLink), kBytes * (1'000'000'000'000 / kLink));
  EXPECT_LT(hostTime(0), kBytes * (1'000'000'000'000 / kLink)) << "a link that nobody knows";
}

// Before the last chunk goes out all of them went in: two chunks beside each other are no quicker
// than one for each that a kernel has to copy.
TEST(Levels, CopiesOfChunksAtOnceFollowEachOther) {
  LevelsFacts facts = twoHosts(3'000);
  facts.lanes = 4;
  const auto hostTime = [&](uint64_t bytes) {
    return LevelsChoice(facts).forecast(Collective::AllReduce, bytes / 4, 4).host;
  };
  const uint64_t copy = 32 * facts.costs.farPerKiB;
  EXPECT_EQ(hostTime(64u << 10), hostTime(32u << 10) + copy);
  EXPECT_EQ(hostTime(128u << 10), hostTime(32u << 10) + 3 * copy);
}

TEST(Levels, RulesDecide) {
  LevelsChoice slow(twoHosts(3'000'000, "allreduce:device:1K-:stripes"));
  EXPECT_TRUE(slow.forecast(Collective::AllReduce, 256, 4).byLevels);
  EXPECT_STREQ(slow.forecast(Collective::AllReduce, 256, 4).rule, "stripes");
  EXPECT_FALSE(slow.forecast(Collective::AllReduce, 255, 4).byLevels);
  LevelsChoice quick(twoHosts(3'000, "allreduce:device:0-:ring,allreduce:host:0-:stripes"));
  EXPECT_FALSE(quick.forecast(Collective::AllReduce, 4u << 20, 4).byLevels);
}

TEST(Levels, NotWithoutAnElementForEachRailNorReproducible) {
  LevelsFacts facts = twoHosts(0, "allreduce:device:0-:hier");
  EXPECT_FALSE(LevelsChoice(facts).forecast(Collective::AllReduce, 1, 4).byLevels);
  EXPECT_TRUE(LevelsChoice(facts).forecast(Collective::AllReduce, 2, 4).byLevels);
  EXPECT_FALSE(LevelsChoice(facts).forecast(Collective::AllToAll, 1000, 4).byLevels);
  facts.all.reproducible = true;
  EXPECT_FALSE(LevelsChoice(facts).forecast(Collective::AllReduce, 1000, 4).byLevels);
}

TEST(Levels, ExplainsItself) {
  LevelsChoice choice(twoHosts(3'000));
  const LevelsForecast found = choice.forecast(Collective::AllReduce, 4u << 20, 4);
  const std::string text = choice.explain(Collective::AllReduce, 16u << 20, found);
  EXPECT_EQ(
      text.find("rondo: allreduce of 16777216 bytes on device memory of 2 hosts of 2 ranks\n"
                "rondo:   runs in levels (kernels in hosts, host memory between), predicted "),
      0u)
      << text;
  EXPECT_NE(text.find("rondo:     or on host memory, predicted "), std::string::npos) << text;
}

}  // namespace
}  // namespace rondo
