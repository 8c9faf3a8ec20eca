// The longest chain of messages of every algorithm, and what it moves, against the textbook's
// formula.

#include <functional>

#include "coll/explain.h"
#include "plan_helpers.h"

namespace rondo {
namespace {

using namespace test;

int floorLog2(int n) { return n < 2 ? 0 : 1 + floorLog2(n / 2); }
int ceilLog2(int n) { return n < 2 ? 0 : 1 + floorLog2(n - 1); }
int powerBelow(int n) { return 1 << floorLog2(n); }

/// Hops of a sequence of rounds in which m messages each way go to one peer: two may wait, so every
/// other one waits for an answer.
int roundsOf(const std::vector<int>& messages) {
  int hops = 0;
  for (const int m : messages) hops += (m + 1) / 2;
  return hops;
}

/// 1, 2, 4, .. below n, the last one what is left.
std::vector<int> doubling(int n) {
  std::vector<int> out;
  for (int have = 1; have < n; have *= 2) out.push_back(std::min(have, n - have));
  return out;
}

std::vector<Plan> onePeriod(const Algorithm& algorithm, int ranks) {
  const auto blocks = static_cast<Count>(algorithm.blocks(ranks));
  return recordAllRanks(algorithm, ranks, 0, {4 * blocks, 1, 0, 4, 1});
}

struct Formula {
  Collective collective;
  const char* name;
  bool powersOnly;  ///< The formula is for powers of two.
  std::function<int(int)> hops;
};

using C = Collective;
const Formula kFormulas[] = {
    {C::AllReduce, "ring", false, [](int n) { return 2 * (n - 1); }},
    {C::AllReduce, "oneshot", false, [](int) { return 1; }},
    {C::AllReduce, "twoshot", false, [](int) { return 2; }},
    {C::AllReduce, "doubling", true, ceilLog2},
    {C::AllReduce, "halving", true, [](int n) { return 2 * roundsOf(doubling(n)); }},
    {C::AllReduce, "tree", false, [](int n) { return 2 * floorLog2(n); }},
    {C::Broadcast, "ring", false, [](int n) { return n - 1; }},
    {C::Broadcast, "oneshot", false, [](int) { return 1; }},
    {C::Broadcast, "tree", false, [](int n) { return 1 + floorLog2(n - 1); }},
    {C::Broadcast, "binomial", false, floorLog2},
    {C::Broadcast, "knomial4", true, [](int n) { return (floorLog2(n) + 1) / 2; }},
    {C::Reduce, "ring", false, [](int n) { return n - 1; }},
    {C::Reduce, "tree", false, [](int n) { return 1 + floorLog2(n - 1); }},
    {C::AllGather, "ring", false, [](int n) { return n - 1; }},
    {C::AllGather, "bruck", false, [](int n) { return roundsOf(doubling(n)); }},
    {C::AllGather, "doubling", true, [](int n) { return roundsOf(doubling(n)); }},
    {C::AllGather, "pat", true, [](int n) { return roundsOf(doubling(n)); }},
    {C::ReduceScatter, "ring", false, [](int n) { return n - 1; }},
    {C::ReduceScatter, "pairwise", false, [](int n) { return n - 1; }},
    {C::ReduceScatter, "pat", false, [](int n) { return n / 2; }},
    {C::AllToAll, "pairwise", false, [](int n) { return n > 2 ? n : 1; }},
    {C::Gather, "direct", false, [](int) { return 1; }},
    {C::Gather, "binomial", false, floorLog2},
    {C::Scatter, "binomial", false, floorLog2},
    {C::Gather, "knomial4", true, [](int n) { return (floorLog2(n) + 1) / 2; }},
    {C::Scatter, "knomial4", true, [](int n) { return (floorLog2(n) + 1) / 2; }},
    // ceil(log2 n) rounds, in the last of which only ranks below n/2 send: they have waited less.
    {C::Scan, "doubling", false, floorLog2},
    {C::Exscan, "doubling", false, [](int n) { return 1 + floorLog2(n - 1); }},
};

TEST(Hops, AreThoseOfTheTextbook) {
  for (const Formula& formula : kFormulas) {
    const Algorithm* row = findAlgorithm(formula.collective, formula.name);
    ASSERT_NE(row, nullptr) << formula.name;
    for (int n = 2; n <= 17; ++n) {
      if (formula.powersOnly && n != powerBelow(n)) continue;
      EXPECT_EQ(countHops(onePeriod(*row, n)), formula.hops(n)) << nameOf(*row) << ", " << n;
    }
  }
}

TEST(Hops, FoldingToAPowerOfTwoTakesTwoMoreAtMost) {
  const Algorithm& row = *findAlgorithm(C::AllReduce, "doubling");
  for (int n = 2; n <= 40; ++n) {
    const int hops = countHops(onePeriod(row, n));
    EXPECT_GE(hops, ceilLog2(n)) << n;
    EXPECT_LE(hops, floorLog2(n) + (n == powerBelow(n) ? 0 : 2)) << n;
  }
}

struct RoundingFormula {
  Collective collective;
  const char* name;
  bool powersOnly;
  std::function<int(int)> wide, narrow;
};

int lessOne(int n) { return n - 1; }
int once(int) { return 1; }
/// Two operands are added at every place of a tree that has two children.
int twoADepth(int n) { return 2 * floorLog2(n) - (n == powerBelow(n) ? 1 : 0); }
const RoundingFormula kRoundings[] = {
    {C::AllReduce, "oneshot", false, lessOne, once},
    {C::AllReduce, "twoshot", false, lessOne, once},
    {C::AllReduce, "ring", false, lessOne, lessOne},
    {C::AllReduce, "doubling", true, ceilLog2, ceilLog2},
    {C::AllReduce, "halving", true, ceilLog2, ceilLog2},
    {C::AllReduce, "tree", true, twoADepth, floorLog2},
    {C::Reduce, "ring", false, lessOne, lessOne},
    {C::ReduceScatter, "ring", false, lessOne, lessOne},
    {C::ReduceScatter, "pairwise", false, lessOne, lessOne},
    {C::Scan, "chain", false, lessOne, lessOne},
    {C::Scan, "doubling", true, ceilLog2, ceilLog2},
};

TEST(Roundings, AreThoseOfTheTextbook) {
  for (const RoundingFormula& formula : kRoundings) {
    const Algorithm* row = findAlgorithm(formula.collective, formula.name);
    ASSERT_NE(row, nullptr) << formula.name;
    for (int n = 2; n <= 17; ++n) {
      if (formula.powersOnly && n != powerBelow(n)) continue;
      const Roundings most = countRoundings(onePeriod(*row, n));
      EXPECT_EQ(most.wide, formula.wide(n)) << nameOf(*row) << ", " << n;
      EXPECT_EQ(most.narrow, formula.narrow(n)) << nameOf(*row) << ", " << n;
    }
  }
}

TEST(Roundings, OfAHierarchyAreThoseOfItsStages) {
  const auto roundings = [](const char* name, int groups, int members) {
    std::vector<int> of;
    for (int r = 0; r < groups * members; ++r) of.push_back(r / members);
    const RankGroups near(of);
    const Algorithm& row = *findAlgorithm(C::AllReduce, name);
    const auto blocks = static_cast<Count>(blocksOf(row, groups * members, near));
    return countRoundings(
        recordAllRanks(row, groups * members, 0, {256 * blocks, 1, 0, 256, 1}, near));
  };
  for (const int groups : {2, 4, 8}) {
    for (const int members : {2, 3, 5, 8}) {
      EXPECT_EQ(roundings("stripes", groups, members).wide, members - 1 + groups - 1);
      EXPECT_EQ(roundings("stripes", groups, members).narrow, members - 1 + groups - 1);
      EXPECT_EQ(roundings("hier", groups, members).narrow,
                1 + floorLog2(members - 1) + ceilLog2(groups));
    }
  }
}

TEST(Roundings, CopiesAreNone) {
  for (const char* name : {"ring", "tree", "oneshot"}) {
    const Roundings most = countRoundings(onePeriod(*findAlgorithm(C::Broadcast, name), 5));
    EXPECT_EQ(most.wide + most.narrow, 0) << name;
  }
}

/// What a rank sends at most over one period of `lanes` lanes, in messages.
Count mostSent(const Algorithm& row, int n, int lanes) {
  const auto blocks = static_cast<Count>(row.blocks(n));
  const algo::Geometry geometry{4 * blocks * static_cast<Count>(lanes), lanes, 0, 4, 1};
  Count most = 0;
  for (const Plan& plan : recordAllRanks(row, n, 0, geometry)) {
    most = std::max(most, totalsOf(plan).sent / (4 * blocks));
  }
  return most;
}

TEST(Hops, TwoTreesShareTheWork) {
  for (int n = 3; n <= 17; ++n) {
    // With one tree, whoever has two children sends everything twice; with two, half of it twice.
    const Algorithm& broadcast = *findAlgorithm(C::Broadcast, "tree");
    EXPECT_EQ(mostSent(broadcast, n, 1), n > 3 ? 2u : 1u) << n;
    EXPECT_EQ(mostSent(broadcast, n, 2), 2u) << n;
    // Up and down: inside one tree once up and twice down, a leaf once up.
    const Algorithm& allReduce = *findAlgorithm(C::AllReduce, "tree");
    EXPECT_EQ(mostSent(allReduce, n, 1), n > 3 ? 3u : 2u) << n;
    EXPECT_EQ(mostSent(allReduce, n, 2), n > 3 ? 4u : 3u) << n;
  }
}

}  // namespace
}  // namespace rondo
