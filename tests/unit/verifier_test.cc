// Every registered algorithm is sound: values, messages, deadlocks, races, for 1 to 17 ranks and
// counts around every boundary.

#include "coll/verifier.h"

#include <functional>

#include "plan_helpers.h"

namespace rondo {
namespace {

using namespace test;

class Registered : public ::testing::TestWithParam<size_t> {
 protected:
  const Algorithm& algorithm() const { return registry()[GetParam()]; }

  /// Calls `body` for every geometry and root; stops at the first failure.
  void forGeometries(int ranks, const std::function<void(const algo::Geometry&, int)>& body) const {
    for (const int lanes : {1, 2, 3}) {
      for (const Count chunk : {Count{1}, Count{5}, Count{16}}) {
        for (const Count align : {Count{1}, Count{4}}) {
          for (const Count count : awkwardCounts(algorithm(), ranks, lanes, chunk)) {
            const algo::Geometry geometry{count, lanes, algorithm().blocks(ranks), chunk, align};
            // Roots are alike but for where the ranks' numbers wrap around.
            const int roots = rootsOf(algorithm(), ranks), step = ranks > 9 ? 4 : 1;
            for (int root = 0; root < roots; root += step) {
              body(geometry, root);
              if (::testing::Test::HasFailure()) return;
            }
          }
        }
      }
    }
  }

  void expectSound(int ranks, int root, const algo::Geometry& geometry,
                   const RankGroups& groups = {}) const {
    const Findings found = verifyPlans(recordAllRanks(algorithm(), ranks, root, geometry, groups));
    EXPECT_TRUE(found.empty()) << nameOf(algorithm()) << ", "
                               << describe(geometry, ranks, root, groups) << ": " << text(found);
  }
};

TEST_P(Registered, IsSoundForEveryRankCountAndGeometry) {
  int cases = 0;
  for (int ranks = 1; ranks <= 17 && !HasFailure(); ++ranks) {
    forGeometries(ranks, [&](const algo::Geometry& geometry, int root) {
      expectSound(ranks, root, geometry);
      ++cases;
    });
  }
  EXPECT_GE(cases, 17 * 18);
}

TEST_P(Registered, IsSoundWhateverTheGroups) {
  if (algorithm().hierarchy == nullptr) return;
  int cases = 0;
  for (int ranks = 1; ranks <= 17; ++ranks) {
    for (const RankGroups& groups : groupingsOf(algorithm(), ranks)) {
      for (const int lanes : {1, 2}) {
        for (const Count chunk : {Count{1}, Count{35}}) {
          for (const Count count : awkwardCounts(algorithm(), ranks, lanes, chunk, groups)) {
            const int roots = rootsOf(algorithm(), ranks), step = std::max(1, (roots - 1) / 2);
            for (int root = 0; root < roots && !HasFailure(); root += step, ++cases) {
              expectSound(ranks, root, {count, lanes, 0, chunk, 1}, groups);
            }
          }
        }
      }
    }
  }
  EXPECT_GE(cases, 17 * 7 * 4);
}

TEST_P(Registered, PeriodsThatAreLeftOutChangeNothing) {
  VerifyOptions all;
  all.allPeriods = true;
  for (const int ranks : {2, 3, 5}) {
    const Count period = 2 * 3 * static_cast<Count>(algorithm().blocks(ranks));
    for (const Count periods : {5, 6, 9}) {
      for (const Count more : {Count{0}, Count{1}, period - 1}) {
        const bool barrier = algorithm().collective == Collective::Barrier;
        const Count count = barrier ? 0 : periods * period + more;
        const auto plans = recordAllRanks(algorithm(), ranks, 0, {count, 2, 0, 3, 1});
        for (const Staging staging : {Staging::Credits, Staging::Strict}) {
          EXPECT_EQ(verifyStaging(plans, staging).empty(),
                    verifyStaging(plans, staging, all).empty())
              << nameOf(algorithm()) << ", " << describe(plans[0].geometry, ranks, 0);
        }
      }
    }
  }
}

/// Whether the algorithm is free of races where nothing holds a put back.
bool soundWithoutCredits(const Algorithm& algorithm, int ranks) {
  const Count part = 2 * static_cast<Count>(algorithm.blocks(ranks));
  const bool barrier = algorithm.collective == Collective::Barrier;
  for (const Count count : {Count{1}, part - 1, part, 2 * part + 1, 3 * part, 4 * part + 1}) {
    const auto plans = recordAllRanks(algorithm, ranks, 0, {barrier ? 0 : count, 1, 0, 2, 1});
    if (!verifyStaging(plans, Staging::Strict).empty()) return false;
  }
  return true;
}

TEST_P(Registered, HasADeviceKernelOnlyIfSoundWithoutCredits) {
  for (const int ranks : {2, 3, 4, 5, 8, 16}) {
    if (!soundWithoutCredits(algorithm(), ranks)) {
      EXPECT_FALSE(algorithm().device && !algorithm().deviceMeets) << ranks << " ranks";
    }
  }
}

TEST_P(Registered, AnnouncesInPlaceExactlyWhereItIsSafe) {
  bool safe = true;
  for (const int ranks : {1, 2, 3, 4, 5, 8, 16, 17}) {
    for (const RankGroups& groups : groupingsOf(algorithm(), ranks)) {
      safe &= zeroCopyInPlaceSafe(algorithm(), ranks, groups);
    }
  }
  EXPECT_EQ(safe, algorithm().inPlaceAnnounce);
}

/// Whether the plans are moves alone, of which some keep what they send.
bool movesThatKeep(const std::vector<Plan>& plans) {
  bool keeps = false;
  for (const Plan& plan : plans) {
    for (const Step& step : plan.lanes[0].full) {
      if (step.kind != StepKind::Move) return false;
      keeps |= algo::sendsKept(step.bits);
    }
  }
  return keeps;
}

TEST_P(Registered, WritesStraightExactlyWhereItIsSound) {
  if (!algorithm().device) return;
  bool sound = true, keeps = true;
  for (const int ranks : {2, 3, 4, 5, 8, 16}) {
    const Count part = 2 * static_cast<Count>(algorithm().blocks(ranks));
    for (const Count count : {Count{1}, part - 1, part, 2 * part + 1, 3 * part}) {
      for (int root = 0; root < rootsOf(algorithm(), ranks); ++root) {
        const auto plans = recordAllRanks(algorithm(), ranks, root, {count, 2, 0, 2, 1});
        if (count >= 2 * part) keeps &= movesThatKeep(plans);
        if (keeps) sound &= straightFindings(plans).empty();
      }
    }
  }
  EXPECT_EQ(keeps && sound, algorithm().straight);
}

TEST(Properties, WhatIsWrittenStraightIsKeptAsItIs) {
  const auto findings = [](Collective collective, const char* name) {
    const Findings found =
        straightFindings(recordAllRanks(*findAlgorithm(collective, name), 3, 0, {6, 1, 0, 2, 1}));
    return found.empty() ? std::string() : found[0];
  };
  EXPECT_EQ(findings(Collective::AllReduce, "ring"), "");
  EXPECT_NE(findings(Collective::Exscan, "chain").find("of which one alone keeps what is sent"),
            std::string::npos)
      << "a partial result is sent beside what is kept";
}

TEST_P(Registered, IsSoundWithSlotsThatHaveEnded) {
  if (!algorithm().uneven) return;
  for (const int ranks : {1, 2, 3, 4, 5, 7}) {
    for (const RankGroups& groups : groupingsOf(algorithm(), ranks)) {
      for (int root = 0; root < rootsOf(algorithm(), ranks); ++root) {
        const auto plans = recordAllRanks(algorithm(), ranks, root, {6, 2, 0, 3, 1}, groups);
        for (int mask = 1; mask < (1 << ranks) - 1; ++mask) {
          std::vector<bool> ended;
          for (int r = 0; r < ranks; ++r) ended.push_back((mask >> r & 1) != 0);
          const Findings found = verifyPlans(withoutSlots(plans, ended));
          ASSERT_TRUE(found.empty())
              << nameOf(algorithm()) << ", " << describe(plans[0].geometry, ranks, root, groups)
              << ", ended " << mask << ": " << text(found);
        }
      }
    }
  }
}

TEST(Properties, WindowsThatAreSoundWithoutCredits) {
  const auto sound = [](Collective collective, const char* name) {
    return soundWithoutCredits(*findAlgorithm(collective, name), 4);
  };
  EXPECT_TRUE(sound(Collective::AllReduce, "oneshot"));
  EXPECT_TRUE(sound(Collective::AllReduce, "twoshot"));
  EXPECT_FALSE(sound(Collective::Broadcast, "oneshot")) << "its root never hears back";
}

TEST(Properties, OneShotOverwritesWhatPeersStillReadInPlace) {
  const Algorithm& oneshot = *findAlgorithm(Collective::AllReduce, "oneshot");
  const Findings found = zeroCopyInPlaceFindings(recordAllRanks(oneshot, 3, 0, {4, 1, 0, 4, 1}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].find("may overwrite what rank 0 has still to read, announced by put"),
            std::string::npos)
      << found[0];
  EXPECT_TRUE(zeroCopyInPlaceSafe(*findAlgorithm(Collective::AllReduce, "ring"), 3));
  EXPECT_TRUE(zeroCopyInPlaceSafe(*findAlgorithm(Collective::AllReduce, "twoshot"), 3));
}

INSTANTIATE_TEST_SUITE_P(Verifier, Registered, ::testing::Range(size_t{0}, registry().size()),
                         [](const auto& which) {
                           const Algorithm& row = registry()[which.param];
                           return std::string(collectiveName(row.collective)) + "_" + row.name;
                         });

}  // namespace
}  // namespace rondo
