#include "drop_in/mpi/measured_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <vector>

namespace rondo::drop_in {
namespace {

using Choice = MeasuredChoice;

/// Two ranks of one communicator, call by call. What a call of each takes on each of them is set.
class Pair {
 public:
  struct Cost {
    uint64_t rondo, mpi;
  };
  std::array<Cost, 2> costs{{{100, 100}, {100, 100}}};

  /// `calls` calls; who did them, which both ranks decide alike.
  std::vector<Choice::Who> run(int calls) {
    std::vector<Choice::Who> done;
    for (int n = 0; n < calls; ++n) {
      std::array<Choice::Who, 2> who;
      // The first rank's sum needs what the second one brings: a look ahead at a copy of it.
      for (size_t r = 0; r < 2; ++r) {
        std::array<Choice::Times, 2> brought{};
        for (size_t peer = 0; peer < 2; ++peer) {
          Choice copy = before_[peer];
          copy.next([&](Choice::Times* times) {
            brought[peer] = *times;
            return sums_;
          });
        }
        who[r] = choices_[r].next([&](Choice::Times* times) {
          for (size_t k = 0; k < 2; ++k) times->of[k] = brought[0].of[k] + brought[1].of[k];
          return sums_;
        });
      }
      EXPECT_EQ(who[0], who[1]) << "call " << n;
      for (size_t r = 0; r < 2; ++r) {
        if (choices_[r].timed()) {
          choices_[r].ended(who[r] == Choice::kRondo ? costs[r].rondo : costs[r].mpi);
        }
      }
      before_ = choices_;
      done.push_back(who[0]);
    }
    return done;
  }
  void failSums() { sums_ = false; }

 private:
  std::array<Choice, 2> choices_, before_;
  bool sums_ = true;
};

constexpr int kDecided = Choice::kFirstGap + Choice::kTrial;

int countOf(Choice::Who who, const std::vector<Choice::Who>& done) {
  return static_cast<int>(std::count(done.begin(), done.end(), who));
}

TEST(MeasuredChoice, FewCallsAreRondos) {
  Pair pair;
  pair.costs = {{{100, 1}, {100, 1}}};
  EXPECT_EQ(countOf(Choice::kMpi, pair.run(Choice::kFirstGap)), 0);
}

TEST(MeasuredChoice, ATrialIsHalfOfEach) {
  Pair pair;
  pair.run(Choice::kFirstGap);
  EXPECT_EQ(countOf(Choice::kMpi, pair.run(Choice::kTrial)), Choice::kTrial / 2);
}

TEST(MeasuredChoice, TheQuickerOneOnAllRanksTogetherDoesTheRest) {
  Pair pair;
  pair.costs = {{{100, 120}, {100, 60}}};  // 200 against 180, though rank 0 sees MPI slower
  pair.run(kDecided);
  EXPECT_EQ(countOf(Choice::kMpi, pair.run(Choice::kLeastGap)), int{Choice::kLeastGap});
}

TEST(MeasuredChoice, ALittleQuickerIsNotEnough) {
  Pair pair;
  pair.costs = {{{100, 96}, {100, 96}}};
  pair.run(kDecided);
  EXPECT_EQ(countOf(Choice::kRondo, pair.run(Choice::kLeastGap)), int{Choice::kLeastGap});
}

TEST(MeasuredChoice, RondoComesBackWhenTheMachineChanges) {
  Pair pair;
  pair.costs = {{{100, 50}, {100, 50}}};
  pair.run(kDecided + 1);
  pair.costs = {{{100, 300}, {100, 300}}};
  const auto done = pair.run(2 * Choice::kLeastGap);
  EXPECT_EQ(done.front(), Choice::kMpi);
  EXPECT_EQ(done.back(), Choice::kRondo);
}

TEST(MeasuredChoice, TrialsComeEverMoreSeldom) {
  Pair pair;
  pair.costs = {{{100, 200}, {100, 200}}};
  const auto calls = static_cast<int>(16 * Choice::kMostGap);
  const int tried = countOf(Choice::kMpi, pair.run(calls));
  EXPECT_GT(tried, 0);
  EXPECT_LT(tried, calls / 500);
}

TEST(MeasuredChoice, OneSlowRunDoesNotDecide) {
  Pair pair;
  pair.costs = {{{100, 90}, {100, 90}}};
  pair.run(Choice::kFirstGap);
  pair.costs = {{{1000, 90}, {1000, 90}}};  // something else has a core for a run
  pair.run(Choice::kRun);
  pair.costs = {{{100, 110}, {100, 110}}};
  pair.run(Choice::kTrial - Choice::kRun);
  EXPECT_EQ(countOf(Choice::kRondo, pair.run(Choice::kLeastGap)), int{Choice::kLeastGap});
}

TEST(MeasuredChoice, NothingChangesWhereRanksCannotAgree) {
  Pair pair;
  pair.failSums();
  pair.costs = {{{100, 1}, {100, 1}}};
  pair.run(kDecided);
  EXPECT_EQ(countOf(Choice::kRondo, pair.run(Choice::kLeastGap)), int{Choice::kLeastGap});
}

TEST(MeasuredChoice, EveryMovementAndSizeHasItsOwn) {
  MeasuredChoices choices;
  std::vector<MeasuredChoice*> seen;
  for (const Call call :
       {Call::Allgather, Call::Allgatherv, Call::Alltoall, Call::Alltoallv, Call::Bcast,
        Call::Gather, Call::Gatherv, Call::Scatter, Call::Scatterv}) {
    for (const size_t bytes : {size_t{0}, size_t{8}, size_t{1} << 20, size_t{INT_MAX}}) {
      seen.push_back(&choices.of(call, bytes));
      EXPECT_EQ(seen.back(), &choices.of(call, bytes));
    }
  }
  // Blocks of v-collectives may be longer.
  EXPECT_EQ(&choices.of(Call::Scatterv, size_t{1} << 40), &choices.of(Call::Scatterv, SIZE_MAX));
  EXPECT_NE(&choices.of(Call::Gather, size_t{1} << 40), &choices.of(Call::Gatherv, 0));
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
}

}  // namespace
}  // namespace rondo::drop_in
