// Questions between hosts about late ranks: whom they go to, and whose answers are believed.

#include "p2p/far_places.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "coll/place_text.h"
#include "p2p/process_state.h"
#include "support/quiet_fork.h"

namespace rondo {
namespace {

const std::vector<int> kHosts = {0, 0, 1, 1, 1};

PlaceAnswer answerTo(const FarPlaces::Letter& letter, const std::string& text) {
  PlaceAnswer answer{letter.question.rank, letter.question.number, {}};
  answer.text.write(text);
  return answer;
}

std::vector<int> receivers(const std::vector<FarPlaces::Letter>& letters) {
  std::vector<int> out;
  for (const FarPlaces::Letter& each : letters) out.push_back(each.to);
  return out;
}

TEST(FarPlaces, TheLateRankIsAskedAndTwoOfItsHost) {
  FarPlaces places(0, kHosts);
  EXPECT_EQ(receivers(places.ask({3}, false, true)), (std::vector<int>{3, 4, 2}));
  EXPECT_EQ(receivers(places.ask({1}, false, true)), std::vector<int>());  // seen from here
  FarPlaces alone(4, {0, 0, 0, 0, 1});
  // Such as are late themselves come last.
  EXPECT_EQ(receivers(alone.ask({1, 2}, false, true)), (std::vector<int>{1, 3, 0, 2, 3, 0}));
  EXPECT_EQ(receivers(alone.ask({0, 1, 2}, false, true)),
            (std::vector<int>{0, 3, 1, 1, 3, 2, 2, 3, 0}));
}

TEST(FarPlaces, AnAnswerIsSaidWithItsAge) {
  FarPlaces places(0, kHosts);
  EXPECT_EQ(places.text(3), "");
  const auto first = places.ask({3}, false, true);
  EXPECT_EQ(places.text(3), "where rank 3 is, its host has not answered");
  EXPECT_EQ(places.text(2), "");
  places.answered(4, answerTo(first[0], "it sleeps\n"));
  EXPECT_EQ(places.text(3).find("it sleeps\\n (as its host said "), 0u) << places.text(3);
  // A second question leaves the answer until there is another; the next wait's begins anew.
  const auto second = places.ask({3}, false, false);
  EXPECT_EQ(places.text(3).find("it sleeps"), 0u) << places.text(3);
  places.answered(3, answerTo(second[0], "it runs"));
  EXPECT_EQ(places.text(3).find("it runs"), 0u) << places.text(3);
  places.ask({3}, false, true);
  EXPECT_EQ(places.text(3), "where rank 3 is, its host has not answered");
  places.ask({2}, false, true);
  EXPECT_EQ(places.text(3), "");
}

TEST(FarPlaces, WhatNobodyAskedOrCannotKnowIsNotBelieved) {
  FarPlaces places(0, {0, 0, 1, 1, 2});
  const auto letters = places.ask({3}, false, true);
  const PlaceAnswer good = answerTo(letters[0], "lies");
  places.answered(4, good);   // of a third host
  places.answered(1, good);   // of this one
  places.answered(0, good);   // its own
  places.answered(-1, good);  // nobody
  places.answered(5, good);
  const auto changed = [&](auto change) {
    PlaceAnswer bad = good;
    change(bad);
    places.answered(2, bad);
  };
  changed([](PlaceAnswer& each) { each.rank = 2; });
  changed([](PlaceAnswer& each) { each.rank = -1; });
  changed([](PlaceAnswer& each) { each.rank = 1 << 30; });
  changed([](PlaceAnswer& each) { ++each.number; });
  changed([](PlaceAnswer& each) { --each.number; });
  changed([](PlaceAnswer& each) { each.text.bytes = sizeof each.text.at + 1; });
  changed([](PlaceAnswer& each) { each.text.bytes = ~0u; });
  EXPECT_EQ(places.text(3), "where rank 3 is, its host has not answered");
  EXPECT_EQ(places.text(2), "");
  places.answered(2, good);
  EXPECT_EQ(places.text(3).find("lies"), 0u);
}

TEST(FarPlaces, OnlyOfRanksOfThisHostAndForOthersAndSoManyAreAnswered) {
  FarPlaces places(2, kHosts);
  EXPECT_FALSE(places.asked(3, {4, 1, 0}));   // sees it as well
  EXPECT_FALSE(places.asked(0, {1, 1, 0}));   // its own
  EXPECT_FALSE(places.asked(0, {-1, 1, 0}));  // nobody
  EXPECT_FALSE(places.asked(0, {5, 1, 0}));
  EXPECT_FALSE(places.asked(5, {3, 1, 0}));
  EXPECT_TRUE(places.take().empty());
  EXPECT_TRUE(places.asked(0, {3, 17, 1}));
  const auto asked = places.take();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].by, 0);
  EXPECT_EQ(asked[0].question.number, 17u);
  EXPECT_TRUE(places.take().empty());
  int taken = 0;
  while (taken < 100000 && places.asked(1, {3, 1, 0})) ++taken;
  EXPECT_LT(taken, 100000);
  EXPECT_EQ(static_cast<int>(places.take().size()), taken);
}

/// What rondo-status asks is apart from what verdicts ask: numbers tell the answers from each
/// other.
TEST(FarPlaces, TwoAskersAreAnsweredEachForItself) {
  FarPlaces verdicts(0, kHosts), survey(0, kHosts, 1u << 31);
  const auto one = verdicts.ask({3}, true, true), other = survey.ask({3}, false, true);
  PlaceAnswer answer{};
  EXPECT_FALSE(survey.answerOf(3, &answer));
  EXPECT_FALSE(survey.answered(4, answerTo(one[0], "for the verdict")));
  PlaceAnswer said = answerTo(other[0], "for the survey");
  said.flags = PlaceAnswer::kCalled;
  said.sequence = 0x1'0000'0000;
  EXPECT_FALSE(verdicts.answered(4, said));
  EXPECT_TRUE(survey.answered(4, said));
  ASSERT_TRUE(survey.answerOf(3, &answer));
  EXPECT_EQ(answer.sequence, said.sequence);
  EXPECT_FALSE(survey.answerOf(2, &answer));
  EXPECT_EQ(verdicts.text(3), "where rank 3 is, its host has not answered");
  survey.ask({3}, false, false);
  EXPECT_FALSE(survey.answerOf(3, &answer)) << "that answer was an earlier question's";
}

TEST(FarPlaces, ALongTextIsCutOff) {
  NewsText<504> text;
  text.write(std::string(1000, 'x'));
  std::string read;
  ASSERT_TRUE(text.read(&read));
  EXPECT_EQ(read, std::string(500, 'x'));
}

/// A process that is not there: nothing is said of its state.
/// Of a child that sleeps; without the right to read it there is nothing.
TEST(PlaceText, KernelStacksAreOneLine) {
  const pid_t child = test::quietFork();
  if (child == 0) {
    for (;;) pause();
  }
  while (readProcessState(child).letter != 'S') usleep(1000);
  const std::string stack = readKernelStack(child), line = kernelStackText(child);
  EXPECT_EQ(line.empty(), stack.empty());
  if (!stack.empty()) {
    EXPECT_NE(line.find("pause"), std::string::npos) << line;
    EXPECT_NE(line.find(" < "), std::string::npos) << line;
    EXPECT_EQ(line.find_first_of("+[]\n"), std::string::npos) << line;
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(PlaceText, SaysTheLastCallForOtherHosts) {
  FlightProcess process;
  FlightComm comm;
  comm.id = 7;
  comm.rank = 3;
  comm.born = 0;
  const int64_t now = 5'000'000'000;
  EXPECT_EQ(placeForFar(process, comm, now),
            "rank 3 has made no call for 5 s; it is before its first call");
  FlightOp op;
  op.facts.collective = static_cast<uint8_t>(Collective::Barrier);
  op.facts.sequence = 11;
  op.started = 1'000'000'000;
  op.ended = 3'000'000'000;
  comm.host.push_back(op);
  EXPECT_EQ(placeForFar(process, comm, now),
            "rank 3 has made no call for 2 s; its last call was collective 11, barrier");
  // What this host's own ranks are told has the call before it.
  EXPECT_EQ(placeText(process, comm, now), "rank 3 has made no call for 2 s");
  comm.host.back().ended = -1;
  EXPECT_EQ(placeForFar(process, comm, now), "rank 3 has been in collective 11, barrier for 4 s");
  EXPECT_EQ(placeText(process, comm, now), "");
  // In a call of another communicator.
  FlightComm other = comm;
  other.id = 8;
  other.name = "other";
  process.comms.push_back(other);
  comm.host.back().ended = 2'000'000'000;
  EXPECT_EQ(
      placeText(process, comm, now),
      "rank 3 has made no call for 3 s, it has been in collective 11, barrier of communicator "
      "\"other\" for 4 s");
}

}  // namespace
}  // namespace rondo
