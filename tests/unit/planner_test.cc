// The choice: a pure function of agreed facts that rules override, first of all for their range.

#include "coll/planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "coll/choice_memory.h"

namespace rondo {
namespace {

CommFacts facts(int ranks, uint32_t cpus) {
  CommFacts out;
  out.ranks = ranks;
  out.lanes = 2;
  out.chunkBytes = 32u << 10;
  out.cpus = cpus;
  return out;
}

Request sum(uint64_t count) { return {Collective::AllReduce, count, 4, 0}; }

TEST(Planner, RanksEveryAlgorithmBestFirst) {
  for (const uint64_t count : {1ull, 1000ull, 1000000ull}) {
    const std::vector<Candidate> ranking = rankCandidates(sum(count), facts(4, 4), {});
    for (size_t i = 1; i < ranking.size(); ++i) {
      EXPECT_LE(ranking[i - 1].picoseconds, ranking[i].picoseconds);
    }
    for (const char* name : {"ring", "oneshot", "twoshot"}) {
      EXPECT_TRUE(std::any_of(ranking.begin(), ranking.end(), [name](const Candidate& c) {
        return std::strcmp(c.algorithm->name, name) == 0;
      })) << name;
    }
  }
}

TEST(Planner, SmallCallsTakeOneExchangeLargeOnesMoveLess) {
  for (const int ranks : {3, 4, 8}) {
    const CommFacts f = facts(ranks, static_cast<uint32_t>(ranks));
    EXPECT_STREQ(rankCandidates(sum(1), f, {}).front().algorithm->name, "oneshot");
    EXPECT_STRNE(rankCandidates(sum(8 << 20), f, {}).front().algorithm->name, "oneshot");
  }
}

TEST(Planner, OfTwoRanksAndOnCrowdedCoresOnlyARuleReducesInTwoExchanges) {
  const auto hasTwoShot = [](int ranks, uint64_t count, const std::vector<TuneRule>& rules,
                             int cpus = 8) {
    const Request request{Collective::Reduce, count, 4, 0};
    const std::vector<Candidate> ranking =
        rankCandidates(request, facts(ranks, static_cast<uint32_t>(cpus)), rules);
    return std::any_of(ranking.begin(), ranking.end(), [](const Candidate& c) {
      return std::strcmp(c.algorithm->name, "twoshot") == 0;
    });
  };
  for (const uint64_t count : {2048ull, 1000000ull}) {
    EXPECT_FALSE(hasTwoShot(2, count, {}));
    EXPECT_TRUE(hasTwoShot(2, count, parseTune("reduce:host:0-:twoshot")));
    EXPECT_TRUE(hasTwoShot(3, count, {}));
    EXPECT_TRUE(hasTwoShot(4, count, {}, 4));
    EXPECT_FALSE(hasTwoShot(4, count, {}, 2));
    EXPECT_TRUE(hasTwoShot(4, count, parseTune("reduce:host:0-:twoshot"), 2));
  }
}

TEST(Planner, OnTwoCrowdedCoresTheRootReducesEverything) {
  for (const uint64_t count : {1ull, 16384ull, 4000000ull}) {
    const Request request{Collective::Reduce, count, 4, 0};
    for (const Candidate& c : rankCandidates(request, facts(4, 2), {})) {
      EXPECT_STREQ(c.algorithm->name, "oneshot");
    }
    const std::vector<Candidate> more = rankCandidates(request, facts(8, 4), {});
    EXPECT_TRUE(std::any_of(more.begin(), more.end(), [](const Candidate& c) {
      return std::strcmp(c.algorithm->name, "tree") == 0;
    }));
    const Candidate forced =
        rankCandidates(request, facts(4, 2), parseTune("reduce:host:0-:tree")).front();
    EXPECT_STREQ(forced.algorithm->name, "tree");
  }
}

TEST(Planner, ScansOnCrowdedCoresWaitForTheRanksBeforeAlone) {
  const auto hasOneShot = [](const CommFacts& of) {
    const std::vector<Candidate> ranking = rankCandidates({Collective::Scan, 100, 4, 0}, of, {});
    EXPECT_FALSE(ranking.empty());
    return std::any_of(ranking.begin(), ranking.end(), [](const Candidate& c) {
      return std::strcmp(c.algorithm->name, "oneshot") == 0;
    });
  };
  EXPECT_TRUE(hasOneShot(facts(4, 4)));
  EXPECT_FALSE(hasOneShot(facts(4, 2)));
  CommFacts reproducible = facts(4, 2);
  reproducible.reproducible = true;
  EXPECT_TRUE(hasOneShot(reproducible));
}

TEST(Planner, IsTheSameEveryTime) {
  for (const uint64_t count : {1ull, 77777ull}) {
    const auto first = rankCandidates(sum(count), facts(5, 2), {});
    const auto second = rankCandidates(sum(count), facts(5, 2), {});
    ASSERT_EQ(first.size(), second.size());
    for (size_t i = 0; i < first.size(); ++i) {
      EXPECT_EQ(first[i].algorithm, second[i].algorithm);
      EXPECT_EQ(first[i].geometry.chunk, second[i].geometry.chunk);
      EXPECT_EQ(first[i].picoseconds, second[i].picoseconds);
    }
  }
}

TEST(Planner, OfOnePieceALaneThatHidesNothingIsLeftOut) {
  const auto lanes = [](const char* rule, const CommFacts& f) {
    return rankCandidates(sum(16u << 20), f, parseTune(rule)).front().geometry.lanes;
  };
  CommFacts f = facts(2, 2);
  EXPECT_EQ(lanes("allreduce:host:0-:oneshot", f), 1);
  EXPECT_EQ(lanes("allreduce:host:0-:oneshot/2", f), 2) << "but a rule may have it";
  EXPECT_EQ(lanes("allreduce:host:0-:twoshot", f), 2);
  f.costs.hop = 20'000'000;  // hides something
  EXPECT_EQ(lanes("allreduce:host:0-:oneshot", f), 2);
}

TEST(Planner, RulesBindInTheirRangeOnly) {
  const auto rules = parseTune(
      "broadcast:host:0-:oneshot,allreduce:host:400-800:twoshot/1/1K,allreduce:host:0-:ring/64");
  const auto best = [&](uint64_t count) {
    return rankCandidates(sum(count), facts(4, 4), rules).front();
  };
  EXPECT_STREQ(best(99).algorithm->name, "ring");  // 396 bytes
  EXPECT_EQ(best(99).geometry.lanes, 2) << "as many lanes as there are";
  EXPECT_STREQ(best(100).algorithm->name, "twoshot");
  EXPECT_EQ(best(100).geometry.lanes, 1);
  EXPECT_EQ(best(100).geometry.chunk, 256u);
  EXPECT_STREQ(best(199).algorithm->name, "twoshot");
  EXPECT_STREQ(best(200).algorithm->name, "ring");
  const Request broadcast{Collective::Broadcast, 100, 4, 2};
  EXPECT_EQ(rankCandidates(broadcast, facts(4, 4), rules).front().algorithm->collective,
            Collective::Broadcast);
}

TEST(Planner, CountsOfAClassAreChosenAlikeAndCutForThemselves) {
  for (const uint64_t count : {0ull, 1ull, 15ull, 16ull, 1ull << 20, 9ull << 30}) {
    EXPECT_EQ(typicalCount(count), count);
  }
  EXPECT_EQ(typicalCount(17), 18u);
  EXPECT_EQ(typicalCount(1000), 1024u);
  int classes = 0;
  for (uint64_t count = 1, last = 0; count < 1 << 16; ++count) {
    const uint64_t typical = typicalCount(count);
    ASSERT_GE(typical, count);
    ASSERT_LE(typical - count, count / 8);
    classes += typical != std::exchange(last, typical) ? 1 : 0;
  }
  EXPECT_LE(classes, 8 * 16);
  const CommFacts f = facts(4, 4);
  const std::vector<Candidate> typical = rankCandidates(sum(1024), f, {});
  for (const uint64_t count : {961ull, 1000ull, 1023ull}) {
    const std::vector<Candidate> ranking = rankCandidates(sum(count), f, {});
    ASSERT_EQ(ranking.size(), typical.size());
    for (size_t i = 0; i < ranking.size(); ++i) {
      EXPECT_EQ(ranking[i].algorithm, typical[i].algorithm);
      EXPECT_EQ(ranking[i].picoseconds, typical[i].picoseconds);
      EXPECT_EQ(ranking[i].geometry.count, count);
      EXPECT_EQ(ranking[i].geometry.chunk, typical[i].geometry.chunk);
    }
  }
}

TEST(Planner, ARuleHoldsForItsBytesWhateverTheClass) {
  // 4000 and 4004 bytes are of one class, and the rule begins between them.
  const std::vector<TuneRule> rules = parseTune("allreduce:host:4001-1M:ring/1/4K");
  const CommFacts f = facts(4, 4);
  EXPECT_STRNE(rankCandidates(sum(1000), f, rules).front().algorithm->name, "ring");
  EXPECT_STREQ(rankCandidates(sum(1001), f, rules).front().algorithm->name, "ring");
}

TEST(Planner, ChoicesAreRememberedByClassRuleRootAndType) {
  const CommFacts f = facts(4, 4);
  const std::vector<TuneRule> rules = parseTune("allreduce:host:0-:ring/1/4K");
  ChoiceMemory memory;
  EXPECT_EQ(memory.find(sum(1000), nullptr), nullptr);
  const Candidate best = rankCandidates(sum(1000), f, {}).front();
  memory.keep(sum(1000), nullptr, best);
  const ChoiceMemory::Choice* const found = memory.find(sum(1023), nullptr);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->algorithm, best.algorithm);
  const algo::Geometry again =
      geometryOf(sum(1000), *found->algorithm, f, found->lanes, found->chunk);
  EXPECT_EQ(std::memcmp(&again, &best.geometry, sizeof again), 0);
  EXPECT_EQ(memory.find(sum(1025), nullptr), nullptr);
  EXPECT_EQ(memory.find(sum(1000), &rules.front()), nullptr);
  EXPECT_EQ(memory.find({Collective::AllReduce, 1000, 8, 0}, nullptr), nullptr);
  EXPECT_EQ(memory.find({Collective::AllReduce, 1000, 4, 1}, nullptr), nullptr);
  EXPECT_EQ(memory.find({Collective::Reduce, 1000, 4, 0}, nullptr), nullptr);
  EXPECT_EQ(memory.find({Collective::AllReduce, 1000, 4, 0, true}, nullptr), nullptr);
}

TEST(Planner, ChunksFitTheChannel) {
  for (const uint64_t chunk : {1ull << 10, 2ull << 10, 32ull << 10}) {
    CommFacts f = facts(3, 3);
    f.chunkBytes = chunk;
    for (const size_t element : {1, 2, 4, 8}) {
      for (const char* rule :
           {"", "allreduce:host:0-:ring/1/1G", "allreduce:host:0-:twoshot/2/100"}) {
        const Request request{Collective::AllReduce, 1u << 20, element, 0};
        for (const Candidate& c : rankCandidates(request, f, parseTune(rule))) {
          EXPECT_LE(c.geometry.chunk * element, chunk);
          EXPECT_GE(c.geometry.chunk, 1u);
        }
      }
    }
  }
}

/// 32 ranks in four groups, a core for each.
CommFacts fourGroups(bool interleaved = false) {
  CommFacts out = facts(32, 32);
  std::vector<int> of;
  for (int r = 0; r < 32; ++r) of.push_back(interleaved ? r % 4 : r / 8);
  out.groups = RankGroups(of);
  return out;
}

bool hasHierarchy(const std::vector<Candidate>& ranking) {
  return std::any_of(ranking.begin(), ranking.end(),
                     [](const Candidate& c) { return c.algorithm->hierarchy != nullptr; });
}

TEST(Planner, HierarchiesNeedGroupsOfRanks) {
  CommFacts f = facts(4, 4);
  EXPECT_FALSE(hasHierarchy(rankCandidates(sum(1000), f, {}))) << "nothing is known";
  f.groups = RankGroups({5, 5, 5, 5});
  EXPECT_FALSE(hasHierarchy(rankCandidates(sum(1000), f, {}))) << "one group";
  f.groups = RankGroups({0, 1, 2, 3});
  EXPECT_FALSE(hasHierarchy(rankCandidates(sum(1000), f, {}))) << "every rank alone";
  f.groups = RankGroups({0, 1, 1, 2});
  EXPECT_TRUE(hasHierarchy(rankCandidates(sum(1000), f, {})));
  f.reproducible = true;
  EXPECT_FALSE(hasHierarchy(rankCandidates(sum(1000), f, {}))) << "its sums depend on the groups";
  const Request broadcast{Collective::Broadcast, 1000, 4, 2};
  EXPECT_TRUE(hasHierarchy(rankCandidates(broadcast, f, {}))) << "copies do not";
}

TEST(Planner, HierarchiesWinWhereTheyCrossLess) {
  const auto best = [](const Request& request, const CommFacts& f) {
    return std::string(rankCandidates(request, f, {}).front().algorithm->name);
  };
  for (const bool interleaved : {false, true}) {
    const CommFacts f = fourGroups(interleaved);
    // With every fourth rank in a group, the long exchanges of halving stay inside.
    EXPECT_EQ(best(sum(1u << 20), f), interleaved ? "halving" : "stripes");
    EXPECT_EQ(best({Collective::AllGather, 1u << 18, 4, 0}, f), "hier");
  }
  EXPECT_EQ(best({Collective::Barrier, 0, 1, 0}, fourGroups()), "hier");
  // With every fourth rank in a group, all rounds but the first two stay inside.
  EXPECT_EQ(best({Collective::Barrier, 0, 1, 0}, fourGroups(true)), "dissemination");
  CommFacts flat = fourGroups();
  flat.groups = {};
  EXPECT_NE(best(sum(1u << 20), flat), "stripes");
  // What crosses costs nothing more: then the detour is not worth it.
  CommFacts even = fourGroups();
  even.costs.farMessage = even.costs.farPerKiB = 0;
  EXPECT_EQ(best({Collective::Barrier, 0, 1, 0}, even), "dissemination");
}

/// A KiB takes 100 to copy, a flag `hop`, and nothing else takes anything.
CommFacts copiesAndFlags(uint64_t hop) {
  CommFacts out = facts(2, 2);
  HostCosts& costs = out.costs;
  costs.step = costs.message = costs.pastPerKiB = 0;
  costs.cold1M = costs.cold8M = costs.cold64M = costs.cold512M = 0;
  costs.copyPerKiB = costs.handOnPerKiB = costs.againPerKiB = costs.reducePerKiB = 100;
  costs.hop = hop;
  return out;
}

uint64_t timeOf(Collective collective, const char* algorithm, uint64_t bytes,
                const CommFacts& facts) {
  const std::string rule =
      std::string(collectiveName(collective)) + ":host:0-:" + algorithm + "/1/32K";
  const Request request{collective, bytes / 4, 4, 0};
  return rankCandidates(request, facts, parseTune(rule)).front().picoseconds;
}

/// The slowest rank's time, and up to a 256th more for the others.
void expectTime(uint64_t found, uint64_t slowest) {
  EXPECT_GE(found, slowest);
  EXPECT_LE(found, slowest + slowest / 256);
}

TEST(Planner, WorkAfterASendHidesTheFlagsWay) {
  using C = Collective;
  const uint64_t bytes = 32u << 10;
  // Put, copy its own, fetch: while the second copy lasts, the flag is on its way.
  expectTime(timeOf(C::AllGather, "direct", bytes, copiesAndFlags(3000)), 9600);
  expectTime(timeOf(C::AllGather, "direct", bytes, copiesAndFlags(4000)), 10'400);
  expectTime(timeOf(C::AllGather, "ring", bytes, copiesAndFlags(3000)), 9600);
  // Nothing is between the put and the wait of an all-reduce.
  expectTime(timeOf(C::AllReduce, "oneshot", bytes, copiesAndFlags(3000)), 9400);
}

TEST(Planner, ReadersWaitForWhatASenderDoesFirst) {
  using C = Collective;
  const uint64_t bytes = 32u << 10;
  const CommFacts f = copiesAndFlags(1000);
  for (const char* name : {"oneshot", "ring", "tree"}) {
    // The root copies into the room; a flag; the reader copies out of it.
    expectTime(timeOf(C::Broadcast, name, bytes, f), 7400);
    // Two periods: put, keep, put, a flag, copy out; meanwhile the reader has got the first.
    expectTime(timeOf(C::Broadcast, name, 2 * bytes, f), 13'800);
  }
  expectTime(timeOf(C::Reduce, "oneshot", bytes, f), 7400);
  // The root's own slot is copied while the other's is on its way.
  expectTime(timeOf(C::Gather, "direct", bytes, f), 7400);
}

TEST(Planner, OfEqualOnesThatWinsWhichLetsRanksGoEarly) {
  const CommFacts f = copiesAndFlags(1000);
  const std::vector<Candidate> ranking = rankCandidates({Collective::Scan, 256, 4, 0}, f, {});
  // Rank 1 has to wait for rank 0 in all of them; rank 0 for rank 1 only where both publish.
  EXPECT_STRNE(ranking.front().algorithm->name, "oneshot");
  EXPECT_LT(timeOf(Collective::Scan, "oneshot", 1024, f), ranking.front().picoseconds * 102 / 100);
}

TEST(Planner, FarMessagesCostMore) {
  const Algorithm& ring = *findAlgorithm(Collective::AllReduce, "ring");
  const CommFacts f = fourGroups(), interleaved = fourGroups(true);
  const algo::Geometry geometry{1u << 16, 1, 32, 2048, 16};
  const auto cost = [&](int rank, const CommFacts& of) {
    const algo::Group group{rank, 32, 0, of.groups.placement()};
    return predict(recordPlan(ring, group, geometry), 4, of);
  };
  EXPECT_EQ(cost(1, f), cost(2, f)) << "its neighbour before it is near";
  EXPECT_GT(cost(8, f), cost(1, f)) << "its neighbour before it is far";
  EXPECT_EQ(cost(1, interleaved), cost(8, f));
}

/// Two hosts of two ranks, as on the testbed: two CPUs for all of them.
TEST(Planner, HostsMakeStripesWinAndWindowsLose) {
  CommFacts f = facts(4, 2);
  f.chunkBytes = 128u << 10;
  f.groups = RankGroups({0, 0, 1, 1});
  const auto costOf = [&](const char* name, uint64_t count) {
    for (const Candidate& c : rankCandidates(sum(count), f, {})) {
      if (std::strcmp(c.algorithm->name, name) == 0) return c.picoseconds;
    }
    return uint64_t{0};
  };
  const uint64_t before = costOf("twoshot", 4u << 20);
  f.costs.acrossHosts();
  EXPECT_STREQ(rankCandidates(sum(4u << 20), f, {}).front().algorithm->name, "stripes");
  EXPECT_GT(costOf("twoshot", 4u << 20), 2 * before);
  // Two of every rank's three copies of a result leave its host.
  EXPECT_GT(4 * costOf("twoshot", 4u << 20), 5 * costOf("stripes", 4u << 20));
  // A hop takes microseconds: the shortest calls take the fewest.
  EXPECT_GT(costOf("ring", 2), 2 * rankCandidates(sum(2), f, {}).front().picoseconds);
}

/// Lanes share a connection there, and each message has its price.
TEST(Planner, BetweenHostsOfOneRankWhatCanBeOneMessageIsNotCut) {
  CommFacts f = facts(2, 2);
  f.chunkBytes = 256u << 10;
  f.lanes = 2;
  f.groups = RankGroups({0, 1});
  using Cut = std::pair<int, uint64_t>;  // most lanes, bytes of the shortest chunk
  const auto cut = [&](Collective collective, Count count, const std::vector<TuneRule>& rules) {
    Cut found{0, f.chunkBytes};
    for (const Candidate& c : rankCandidates({collective, count, 4, 0}, f, rules)) {
      found = {std::max(found.first, c.geometry.lanes),
               std::min<uint64_t>(found.second, c.geometry.chunk * 4)};
    }
    return found;
  };
  constexpr Count kChunk = 64u << 10;  // elements
  const Cut any{2, 64u << 10}, whole{1, 256u << 10}, longer{2, 256u << 10}, oneLane{1, 64u << 10};
  for (const Collective each : {Collective::AllToAll, Collective::Broadcast}) {
    f.links.acrossHosts = false;
    EXPECT_EQ(cut(each, kChunk, {}), any) << "on one host";
    f.links.acrossHosts = true;
    EXPECT_EQ(cut(each, kChunk, {}), whole);
    EXPECT_EQ(cut(each, kChunk + 1, {}), longer) << "longer than a message";
  }
  EXPECT_EQ(cut(Collective::Reduce, kChunk, {}), any) << "not measured";
  const auto rules = parseTune("alltoall:host:0-1G:direct/2");
  EXPECT_EQ(cut(Collective::AllToAll, kChunk, rules).first, 2) << "a rule may ask for it";
  f.ranks = 3;
  f.groups = RankGroups({0, 1, 2});
  EXPECT_EQ(cut(Collective::Broadcast, kChunk, {}), oneLane) << "chains of hosts";
  f.ranks = 4;
  f.groups = RankGroups({0, 0, 1, 1});
  EXPECT_EQ(cut(Collective::AllToAll, kChunk, {}), any) << "two ranks a host";
}

/// Who shares CPUs is a machine's affair, not the communicator's.
TEST(Planner, RanksOfOtherMachinesTakeNoTurns) {
  CommFacts f = facts(8, 2);
  const uint64_t crowded = rankCandidates(sum(1000), f, {}).front().picoseconds;
  f.localRanks = 2;
  EXPECT_LT(rankCandidates(sum(1000), f, {}).front().picoseconds, crowded);
}

/// A tree's inner rank sends on only when both of its children have sent: on shared CPUs that is
/// another turn. Measured with four ranks on two: 16 B 5.5 us by direct and 6.7 by pat.
TEST(Planner, AJoinWaitsForBothOfItsMessages) {
  for (const int ranks : {4, 5, 8}) {
    const CommFacts f = facts(ranks, 2);
    const auto costOf = [&](const char* name) {
      for (const Candidate& c : rankCandidates({Collective::ReduceScatter, 1, 4, 0}, f, {})) {
        if (std::strcmp(c.algorithm->name, name) == 0) return c.picoseconds;
      }
      return uint64_t{0};
    };
    EXPECT_GT(2 * costOf("pat"), 3 * costOf("direct")) << ranks << " ranks";
  }
}

TEST(Planner, ExplainsTheChoice) {
  const std::vector<Candidate> ranking = rankCandidates(sum(1000), facts(4, 4), {});
  const std::string text = explainChoice(sum(1000), ranking);
  EXPECT_NE(text.find("allreduce of 4000 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find(std::string("runs ") + ranking[0].algorithm->name), std::string::npos)
      << text;
  EXPECT_NE(text.find("  or "), std::string::npos) << text;
  EXPECT_EQ(text.find(ranking[0].algorithm->name), text.rfind(ranking[0].algorithm->name))
      << "each algorithm once: " << text;
}

}  // namespace
}  // namespace rondo
