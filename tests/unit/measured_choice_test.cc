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
  bool losesTimes = false;  ///< The second rank does not see one of each run.
  bool asksFirst = false;   ///< The second rank asks goesToMpi() before all else.
  int wentAtOnce = 0;       ///< Calls of which it has said so.

  /// `calls` calls; who did them, which both ranks decide alike.
  std::vector<Choice::Who> run(int calls) {
    std::vector<Choice::Who> done;
    for (int n = 0; n < calls; ++n) {
      EXPECT_EQ(choices_[0].due(), choices_[1].due()) << "call " << n;
      if (choices_[0].due() && meets) meet();
      std::array<Choice::Turn, 2> turns;
      turns[0] = choices_[0].next();
      if (asksFirst && choices_[1].goesToMpi()) {
        turns[1] = {Choice::kMpi};
        ++wentAtOnce;
      } else {
        turns[1] = choices_[1].next();
      }
      EXPECT_EQ(turns[0].who, turns[1].who) << "call " << n;
      EXPECT_EQ(turns[0].run, turns[1].run) << "call " << n;
      for (size_t r = 0; r < 2; ++r) {
        if (!turns[r].timed() || (r == 1 && losesTimes && n % 8 == 7)) continue;
        const bool rondos = turns[r].who == Choice::kRondo;
        choices_[r].ended(turns[r], rondos ? costs[r].rondo : costs[r].mpi);
      }
      done.push_back(turns[0].who);
    }
    return done;
  }
  void failSums() { sums_ = false; }
  bool meets = true;  ///< In the call that follows a trial, as in blocking ones.

 private:
  void meet() {
    Choice::Trial all{};
    for (Choice& choice : choices_) {
      const Choice::Trial mine = choice.seen();
      for (size_t k = 0; k < Choice::kRuns; ++k) all.of[k] += mine.of[k];
      all.incomplete += mine.incomplete;
    }
    for (Choice& choice : choices_) choice.decide(sums_ ? &all : nullptr);
  }

  std::array<Choice, 2> choices_;
  bool sums_ = true;
};

constexpr int kDecided = Choice::kFirstGap + Choice::kTrial;

int countOf(Choice::Who who, const std::vector<Choice::Who>& done) {
  return static_cast<int>(std::count(done.begin(), done.end(), who));
}

/// The last call of a trial may end after the ranks have met: it is none of the next one's.
TEST(MeasuredChoice, WhatEndsAfterItsTrialIsForgotten) {
  Choice choice;
  Choice::Turn late;
  for (int n = 0; n < kDecided; ++n) {
    const Choice::Turn turn = choice.next();
    if (turn.timed()) late = turn;
  }
  ASSERT_TRUE(choice.due());
  const Choice::Trial first = choice.seen();
  EXPECT_EQ(first.incomplete, 1u);
  choice.decide(&first);
  choice.ended(late, 1000000);
  while (!choice.due()) {
    const Choice::Turn turn = choice.next();
    if (turn.timed()) choice.ended(turn, 100);
  }
  const Choice::Trial second = choice.seen();
  EXPECT_EQ(second.incomplete, 0u);
  for (const uint64_t ticks : second.of) EXPECT_EQ(ticks, 100u * Choice::kRun / 2);
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

// A tie is tried again after 128 calls instead of 512.
constexpr int kTiesGap = 2 * Choice::kFirstGap;

TEST(MeasuredChoice, ALittleQuickerIsNotEnough) {
  Pair pair;
  pair.costs = {{{100, 96}, {100, 96}}};
  pair.run(kDecided);
  EXPECT_EQ(countOf(Choice::kRondo, pair.run(kTiesGap)), kTiesGap);
  EXPECT_EQ(countOf(Choice::kRondo, pair.run(Choice::kTrial)), int{Choice::kTrial / 2});
  EXPECT_EQ(countOf(Choice::kRondo, pair.run(2 * kTiesGap)), 2 * kTiesGap);
}

TEST(MeasuredChoice, ALittleQuickerIsNotEnoughForRondoEither) {
  Pair pair;
  pair.costs = {{{100, 50}, {100, 50}}};
  pair.run(kDecided + 1);
  pair.costs = {{{96, 100}, {96, 100}}};
  EXPECT_EQ(countOf(Choice::kMpi, pair.run(Choice::kLeastGap - 1)), int{Choice::kLeastGap} - 1);
  pair.run(Choice::kTrial);
  const int gap = 2 * Choice::kLeastGap;
  EXPECT_EQ(countOf(Choice::kMpi, pair.run(gap)), gap);
}

TEST(MeasuredChoice, ShortBlocksHaveLongerRuns) {
  MeasuredChoices choices;
  const auto timedIn = [&](size_t bytes) {
    MeasuredChoice& choice = choices.of(Call::Bcast, bytes);
    int timed = 0;
    for (int n = 0; n < 500; ++n) timed += choice.next().timed();
    return timed;
  };
  EXPECT_EQ(timedIn(Choice::kShort - 1), int{Choice::kRuns * Choice::kShortsRun / 2});
  EXPECT_EQ(timedIn(Choice::kShort), int{Choice::kTrial / 2});
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

// A rank may ask for it alone (a type that is a vector's on the others): what it asks changes
// neither whose calls are nor where trials are, which Pair looks at.
TEST(MeasuredChoice, CallsThatGoToMpiAtOnceAreCountedAsTheOthersAre) {
  Pair pair;
  pair.asksFirst = true;
  pair.costs = {{{100, 50}, {100, 50}}};
  pair.run(kDecided);
  EXPECT_EQ(pair.wentAtOnce, 0) << "nobody knows yet, or a trial";
  pair.run(Choice::kLeastGap);
  EXPECT_EQ(pair.wentAtOnce, Choice::kLeastGap);
  pair.run(Choice::kTrial);
  EXPECT_EQ(pair.wentAtOnce, Choice::kLeastGap) << "the next trial";
  pair.run(5000);
  EXPECT_GT(pair.wentAtOnce, 5000);
  pair.costs = {{{100, 300}, {100, 300}}};
  pair.run(50000);
  const int before = pair.wentAtOnce;
  EXPECT_EQ(countOf(Choice::kMpi, pair.run(Choice::kFirstGap)), 0);
  EXPECT_EQ(pair.wentAtOnce, before);
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
  EXPECT_EQ(countOf(Choice::kRondo, pair.run(kTiesGap)), kTiesGap);
}

TEST(MeasuredChoice, NothingChangesWhereRanksCannotAgree) {
  Pair pair;
  pair.failSums();
  pair.costs = {{{100, 1}, {100, 1}}};
  pair.run(kDecided);
  EXPECT_EQ(countOf(Choice::kRondo, pair.run(Choice::kLeastGap)), int{Choice::kLeastGap});
}

TEST(MeasuredChoice, UntilRanksMeetItGoesOnAsBefore) {
  Pair pair;
  pair.costs = {{{100, 1}, {100, 1}}};
  pair.meets = false;
  pair.run(kDecided);
  EXPECT_EQ(countOf(Choice::kRondo, pair.run(1000)), 1000);
  pair.meets = true;
  EXPECT_EQ(countOf(Choice::kMpi, pair.run(Choice::kLeastGap)), int{Choice::kLeastGap});
}

TEST(MeasuredChoice, WhereTimesAreMissingOnARankRondoDoesIt) {
  Pair pair;
  pair.costs = {{{100, 1}, {100, 1}}};
  pair.run(kDecided);
  EXPECT_EQ(countOf(Choice::kMpi, pair.run(Choice::kLeastGap)), int{Choice::kLeastGap});
  pair.losesTimes = true;
  pair.run(Choice::kTrial);
  EXPECT_EQ(countOf(Choice::kRondo, pair.run(Choice::kLeastGap)), int{Choice::kLeastGap});
}

/// As many calls as until a trial is over; who did the last one.
Choice::Who laterCalls(LaterChoices& choices, const Choice& twin, int calls) {
  Choice::Who last = Choice::kRondo;
  for (int n = 0; n < calls; ++n) {
    const LaterChoices::Turn next = choices.next(Call::Ibcast, Choice::kShort, twin);
    last = next.turn.who;
    EXPECT_EQ(next.choice != nullptr, next.turn.timed());
    if (next.choice != nullptr) next.choice->ended(next.turn, last == Choice::kMpi ? 10 : 100);
  }
  return last;
}

TEST(MeasuredChoice, ANonBlockingCallFollowsItsTwinUntilItsOwnTrial) {
  Choice twin;
  LaterChoices choices;
  EXPECT_EQ(laterCalls(choices, twin, 5), Choice::kRondo);
  Choice::Trial mpis{{100, 1, 100, 1}, 0}, rondos{{1, 100, 1, 100}, 0};
  twin.decide(&mpis);
  EXPECT_EQ(laterCalls(choices, twin, 1), Choice::kMpi);
  EXPECT_EQ(choices.best(Call::Ibcast, Choice::kShort, twin), Choice::kMpi);
  twin.decide(&rondos);
  EXPECT_EQ(laterCalls(choices, twin, kDecided - 6), Choice::kMpi);  // a trial ends with the other
  ASSERT_TRUE(choices.due());
  int met = 0;
  choices.decide([&](Choice& choice) {
    const Choice::Trial seen = choice.seen();
    EXPECT_EQ(seen.incomplete, 0u);
    choice.decide(&seen);
    ++met;
  });
  EXPECT_EQ(met, 1);
  EXPECT_FALSE(choices.due());
  EXPECT_EQ(laterCalls(choices, twin, 1), Choice::kMpi);  // its own times, not the twin's
  EXPECT_EQ(choices.best(Call::Ibcast, Choice::kShort, twin), Choice::kMpi);
  EXPECT_EQ(choices.best(Call::Iscatter, Choice::kShort, twin), Choice::kRondo);
}

TEST(MeasuredChoice, WhatATwinSaidGivesWayToADisturbedTrialOfItsOwn) {
  const Choice::Trial mpis{{100, 1, 100, 1}, 0};
  for (const uint64_t rondos : {50, 99}) {
    Choice twin;
    twin.decide(&mpis);
    LaterChoices choices;
    laterCalls(choices, twin, kDecided);
    // MPI's runs are the first and the third; one of Rondo's was disturbed.
    const Choice::Trial seen{{100, 1000, 100, rondos}, 0};
    choices.decide([&](Choice& choice) { choice.decide(&seen); });
    EXPECT_EQ(choices.best(Call::Ibcast, Choice::kShort, twin), Choice::kRondo) << rondos;
  }
  Choice twin;
  twin.decide(&mpis);
  LaterChoices choices;
  laterCalls(choices, twin, kDecided);
  const Choice::Trial seen{{50, 100, 1000, 100}, 0};
  choices.decide([&](Choice& choice) { choice.decide(&seen); });
  EXPECT_EQ(choices.best(Call::Ibcast, Choice::kShort, twin), Choice::kMpi);
}

TEST(MeasuredChoice, ClosedOnesAreRondos) {
  Choice twin;
  const Choice::Trial mpis{{100, 1, 100, 1}, 0};
  twin.decide(&mpis);
  LaterChoices choices;
  choices.close();
  EXPECT_EQ(laterCalls(choices, twin, 2 * kDecided), Choice::kRondo);
  EXPECT_FALSE(choices.due());
}

TEST(MeasuredChoice, EveryMovementAndSizeHasItsOwn) {
  MeasuredChoices choices;
  std::vector<MeasuredChoice*> seen;
  for (const Call call : {Call::Allgather, Call::Allgatherv, Call::Alltoall, Call::Alltoallv,
                          Call::Bcast, Call::Gather, Call::Gatherv, Call::Scatter, Call::Scatterv,
                          Call::Exscan, Call::Scan, Call::Reduce}) {
    for (const size_t bytes : {size_t{0}, size_t{8}, size_t{1} << 20, size_t{INT_MAX}}) {
      seen.push_back(&choices.of(call, bytes));
      EXPECT_EQ(seen.back(), &choices.of(call, bytes));
    }
  }
  // Blocks of v-collectives may be longer.
  EXPECT_EQ(&choices.of(Call::Scatterv, size_t{1} << 40), &choices.of(Call::Scatterv, SIZE_MAX));
  EXPECT_EQ(&choices.of(Call::Igatherv, 8), &choices.of(Call::Gatherv, 8));
  EXPECT_NE(&choices.of(Call::Gather, size_t{1} << 40), &choices.of(Call::Gatherv, 0));
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
}

}  // namespace
}  // namespace rondo::drop_in
