// Every registered algorithm is sound: values, messages, deadlocks, races, for 1 to 17 ranks and
// counts around every boundary.

#include "coll/verifier.h"

#include <functional>

#include "plan_helpers.h"

namespace rondo {
namespace {

using namespace test;

class Registered : public testing::TestWithParam<size_t> {
 protected:
  const Algorithm& algorithm() const { return registry()[GetParam()]; }

  /// Calls `body` for every geometry and root; stops at the first failure.
  void forGeometries(int ranks, const std::function<void(const algo::Geometry&, int)>& body) const {
    for (const int lanes : {1, 2, 3}) {
      for (const Count chunk : {Count{1}, Count{5}, Count{16}}) {
        for (const Count align : {Count{1}, Count{4}}) {
          for (const Count count : awkwardCounts(algorithm(), ranks, lanes, chunk)) {
            const algo::Geometry geometry{count, lanes, algorithm().blocks(ranks), chunk, align};
            for (int root = 0; root < rootsOf(algorithm(), ranks); ++root) {
              body(geometry, root);
              if (testing::Test::HasFailure()) return;
            }
          }
        }
      }
    }
  }
};

TEST_P(Registered, IsSoundForEveryRankCountAndGeometry) {
  int cases = 0;
  for (int ranks = 1; ranks <= 17 && !HasFailure(); ++ranks) {
    forGeometries(ranks, [&](const algo::Geometry& geometry, int root) {
      const Findings found = verifyPlans(recordAllRanks(algorithm(), ranks, root, geometry));
      EXPECT_TRUE(found.empty()) << nameOf(algorithm()) << ", " << describe(geometry, ranks, root)
                                 << ": " << text(found);
      ++cases;
    });
  }
  EXPECT_GE(cases, 17 * 18);
}

INSTANTIATE_TEST_SUITE_P(Verifier, Registered, testing::Range(size_t{0}, registry().size()),
                         [](const auto& which) {
                           const Algorithm& row = registry()[which.param];
                           return std::string(collectiveName(row.collective)) + "_" + row.name;
                         });

}  // namespace
}  // namespace rondo
