// The worked example of docs/adding-an-algorithm.md, so that the page cannot lie.

#include "coll/recorder.h"
#include "plan_helpers.h"

namespace rondo {
namespace {

// [example]
/// Broadcast by pairs: the root sends the whole part to every other rank, one after the other.
template <class Prims>
RONDO_ALGO void broadcastDirect(Prims& p, const algo::Group& g, const algo::Part& part) {
  if (g.rank != g.root) return p.recv(part.at(0), g.root);
  p.copy(part.at(0));
  for (int k = 1; k < g.size; ++k) p.send(part.at(0), g.after(k));
}
// [end of example]

const Algorithm kDirect = {"direct",
                           Collective::Broadcast,
                           [](int) { return 1; },
                           broadcastDirect<Recorder>,
                           true,
                           [](int) { return 0; },
                           false,
                           "coll/algo/direct.h"};

TEST(NewAlgorithm, TheExampleOfTheDocsIsSound) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (int root = 0; root < ranks; ++root) {
      for (const Count count : test::awkwardCounts(kDirect, ranks, 2, 5)) {
        const auto plans = recordAllRanks(kDirect, ranks, root, {count, 2, 0, 5, 1});
        EXPECT_TRUE(verifyPlans(plans).empty()) << test::text(verifyPlans(plans));
      }
    }
    EXPECT_TRUE(zeroCopyInPlaceSafe(kDirect, ranks));
  }
}

TEST(NewAlgorithm, TheMistakeOfTheDocsIsFound) {
  auto wrong = [](Recorder& p, const algo::Group& g, const algo::Part& part) {
    if (g.rank != g.root) return p.recv(part.at(0), g.root);
    p.copy(part.at(0));
    for (int k = 1; k < g.size - 1; ++k) p.send(part.at(0), g.after(k));
  };
  Algorithm algorithm = kDirect;
  algorithm.record = wrong;
  const Findings found = verifyPlans(recordAllRanks(algorithm, 3, 0, {8, 1, 0, 8, 1}));
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0],
            "lane 0, full period: rank 0 puts 1 message fewer than rank 2 reads into their Pair "
            "room or queue");
}

}  // namespace
}  // namespace rondo
