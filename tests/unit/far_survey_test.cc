// What rondo-status asks a process about ranks of other hosts, by whom it is asked, and what comes
// of ranks that cannot answer any more.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "p2p/far_news.h"
#include "status/survey.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

/// Whether somebody was asked for, and everybody was found.
bool whole(const FarSurvey& survey) {
  return !survey.places.empty() &&
         std::all_of(survey.places.begin(), survey.places.end(),
                     [](const FarPlace& place) { return place.answered; });
}

void setWord(uint32_t& word, uint32_t value) {
  std::atomic_ref(word).store(value, std::memory_order_release);
}

/// Each request has the entries made anew, which the asker before may be reading.
TEST(FarSurvey, WhatIsBeingMadeAnewIsNotRead) {
  auto board = std::make_unique<PlaceBoard>();
  FarSurvey survey;
  std::thread asker([&] { survey = status::askBy(*board, getpid()); });
  while (std::atomic_ref(board->wanted).load() == 0) std::this_thread::yield();
  board->entries[0].rank = 1;
  setWord(board->count, 1);
  setWord(board->served, 1);
  // The answer is not there yet, and somebody else asks.
  setWord(board->wanted, 2);
  setWord(board->count, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  setWord(board->entries[0].answered, 1);
  setWord(board->count, 1);
  setWord(board->served, 2);
  asker.join();
  ASSERT_EQ(survey.places.size(), 1u) << survey.why;
  EXPECT_TRUE(survey.places[0].answered);
}

TEST(FarSurvey, SeveralMayAskAtOnce) {
  std::atomic<bool> over{false};
  World(3).hosts({0, 1, 1}).run([&](const Rank& me) {
    if (me.rank == 0) {
      std::atomic<int> empty{0};
      onRanks(3, [&empty](int) {
        for (int i = 0; i < 60; ++i) {
          const FarSurvey survey = status::surveyFrom(getpid());
          empty += survey.places.empty() && survey.why.empty() ? 1 : 0;
        }
      });
      EXPECT_EQ(empty, 0);
      over = true;
    }
    while (!over) std::this_thread::yield();
  });
}

/// Nobody is missed there, and nobody is waited for.
TEST(FarSurvey, ARankThatHasLetGoIsAnAnswer) {
  World(2).hosts({0, 1}).open([&](const Rank& me) {
    if (me.rank == 0) {
      FarSurvey survey;
      const auto gone = [&] {
        return whole(survey) && (survey.places[0].flags & PlaceAnswer::kGone) != 0;
      };
      // It may leave only now.
      const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (!gone() && std::chrono::steady_clock::now() < until) {
        survey = status::surveyFrom(getpid());
      }
      EXPECT_TRUE(gone());
      if (gone()) {
        EXPECT_EQ(survey.places[0].rank, 1);
        EXPECT_EQ(survey.places[0].text, "has let go of it, or has ended");
      }
    }
    EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
  });
}

}  // namespace
}  // namespace rondo::testing
