// The registry's rows.

#include "coll/registry.h"

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <set>
#include <utility>

#include "plan_helpers.h"

namespace rondo {
namespace {

using namespace test;

TEST(Registry, NamesAreUniqueAndFindable) {
  std::set<std::string> names;
  for (const Algorithm& row : registry()) {
    EXPECT_TRUE(names.insert(nameOf(row)).second) << nameOf(row);
    EXPECT_EQ(findAlgorithm(row.collective, row.name), &row);
    for (const char* c = row.name; *c != '\0'; ++c) {
      EXPECT_TRUE(std::islower(static_cast<unsigned char>(*c)) ||
                  std::isdigit(static_cast<unsigned char>(*c)))
          << row.name << ": RONDO_TUNE's names are lower case letters and digits";
    }
  }
  EXPECT_EQ(findAlgorithm(Collective::AllReduce, "nosuch"), nullptr);
  EXPECT_EQ(findAlgorithm(Collective::Barrier, "ring"), nullptr);
}

TEST(Registry, EveryCollectiveHasAnAlgorithm) {
  for (int c = 0; c < kCollectives; ++c) {
    const auto collective = static_cast<Collective>(c);
    EXPECT_TRUE(std::any_of(registry().begin(), registry().end(), [&](const Algorithm& row) {
      return row.collective == collective;
    })) << collectiveName(collective);
  }
}

TEST(Registry, HeadersAreThereAndNameTheAlgorithmsSource) {
  const char* top = std::getenv("TEST_SRCDIR");
  for (const Algorithm& row : registry()) {
    const std::string path = std::string(top != nullptr ? top : ".") + "/src/" + row.header;
    EXPECT_TRUE(std::ifstream(path).good()) << path;
  }
}

TEST(Registry, FillIsTheHopsThatARanksOwnStepsDoNotShow) {
  for (const Algorithm& row : registry()) {
    for (int ranks = 1; ranks <= 17; ++ranks) {
      const Count count =
          row.collective == Collective::Barrier ? 0 : static_cast<Count>(row.blocks(ranks));
      const auto plans = recordAllRanks(row, ranks, 0, {count, 1, 0, 1, 1});
      // What the longest program waits for by itself.
      int most = 0;
      for (const Plan& plan : plans) {
        int own = 0;
        bool waited = false;
        for (const Step& step : count == 0 ? plan.lanes[0].last : plan.lanes[0].full) {
          const bool waits = step.kind == StepKind::Wait || step.kind == StepKind::Barrier ||
                             (step.bits & algo::kRecv) != 0;
          // Waits in a row are for messages sent at the same time.
          if (waits && !(waited && step.kind == StepKind::Wait)) ++own;
          if (step.kind != StepKind::Fetch) waited = step.kind == StepKind::Wait;
        }
        most = std::max(most, own);
      }
      EXPECT_EQ(row.fill(ranks), std::max(0, countHops(plans) - most))
          << nameOf(row) << ", " << ranks;
    }
  }
}

/// Hops that no rank's own waits show, as the cost model counts these: waits that follow a message
/// of its own.
int hiddenHops(const std::vector<Plan>& plans) {
  int most = 0;
  for (const Plan& plan : plans) {
    int own = 0;
    bool sent = true;
    const LaneProgram& lane = plan.lanes[0];
    for (const Step& step : lane.full.empty() ? lane.last : lane.full) {
      if ((step.bits & algo::kRecv) != 0) own += std::exchange(sent, false) ? 1 : 0;
      if ((step.bits & algo::kSend) != 0) sent = true;
    }
    most = std::max(most, own);
  }
  return std::max(0, countHops(plans) - most);
}

TEST(Registry, FillOfAHierarchy) {
  for (const Algorithm& row : registry()) {
    if (row.hierarchy == nullptr) continue;
    for (const int groups : {2, 3, 4, 5, 8}) {
      for (const int members : {2, 3, 4, 5, 8}) {
        std::vector<int> of;
        for (int r = 0; r < groups * members; ++r) of.push_back(r / members);
        const RankGroups near(of);
        const int ranks = groups * members;
        const bool barrier = row.collective == Collective::Barrier;
        const auto blocks = static_cast<Count>(blocksOf(row, ranks, near));
        const auto plans =
            recordAllRanks(row, ranks, 0, {barrier ? 0 : 256 * blocks, 1, 0, 256, 1}, near);
        // Who stands aside where the leaders are no power of two waits once more than others.
        const int slack = (groups & (groups - 1)) != 0 ? 1 : 0;
        EXPECT_NEAR(fillOf(row, ranks, near), hiddenHops(plans), slack)
            << nameOf(row) << ", " << groups << " groups of " << members;
      }
    }
  }
}

TEST(RankGroups, AreNumberedByTheirFirstRank) {
  const RankGroups groups({7, 3, 7, 9, 3, 7});
  EXPECT_EQ(groups.text(), "0,1,0,2,1,0");
  EXPECT_EQ(groups.count(), 3);
  EXPECT_EQ(groups.smallest(), 1);
  EXPECT_EQ(groups.largest(), 3);
  EXPECT_TRUE(groups.layered());
  EXPECT_TRUE(groups.far(0, 1) && !groups.far(0, 5));
  EXPECT_EQ(groups.farOf(0, 0, 6), 3);
  const algo::Placement near = groups.placement();
  EXPECT_EQ(std::vector<int>(near.ranks, near.ranks + 6), (std::vector<int>{0, 2, 5, 1, 4, 3}));
  EXPECT_EQ(std::vector<int>(near.begin, near.begin + 4), (std::vector<int>{0, 3, 5, 6}));
  EXPECT_EQ(near.place[4], 1);
}

TEST(RankGroups, LayersNeedSeveralGroupsAndOneOfSeveralRanks) {
  EXPECT_FALSE(RankGroups().layered());
  EXPECT_FALSE(RankGroups({4, 4, 4}).layered());
  EXPECT_FALSE(RankGroups({0, 1, 2}).layered());
  EXPECT_FALSE(RankGroups().far(0, 5)) << "nothing is known";
}

TEST(Registry, RecordingIsTheSameEveryTime) {
  const auto same = [](const std::vector<Step>& a, const std::vector<Step>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Step& x, const Step& y) {
      return x.kind == y.kind && x.bits == y.bits && x.room == y.room && x.from == y.from &&
             x.to == y.to && x.offset == y.offset && x.count == y.count;
    });
  };
  for (const Algorithm& row : registry()) {
    const algo::Geometry geometry{100, 2, row.blocks(4), 5, 4};
    const Plan a = recordPlan(row, {1, 4, 2}, geometry), b = recordPlan(row, {1, 4, 2}, geometry);
    for (size_t lane = 0; lane < 2; ++lane) {
      EXPECT_TRUE(same(a.lanes[lane].full, b.lanes[lane].full)) << nameOf(row);
      EXPECT_TRUE(same(a.lanes[lane].last, b.lanes[lane].last)) << nameOf(row);
    }
  }
}

}  // namespace
}  // namespace rondo
