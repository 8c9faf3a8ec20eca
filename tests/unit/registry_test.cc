// The registry's rows.

#include "coll/registry.h"

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <set>

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
