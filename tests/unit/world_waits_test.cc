// How a rank waits for a group: what happens on one of its communicators is not held against the
// others.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "api/handle.h"
#include "coll/patrol.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

#define RONDO_OK(call) ASSERT_EQ(call, rondoSuccess) << rondoGetLastError(nullptr)

/// One with a timeout of its own.
rondoComm_t dupWith(rondoComm_t comm, int timeout) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.timeout = timeout;
  rondoComm_t made = nullptr;
  EXPECT_EQ(rondoCommDup(comm, &made, &config), rondoSuccess) << rondoGetLastError(nullptr);
  return made;
}

/// Rank 0 waits in one group for a sum on one communicator and a message on the other, which comes
/// long after the timeout of the first.
void waitLongForAMessage(bool asRequest) {
  World(2).run([asRequest](const Rank& me) {
    const rondoComm_t quick = dupWith(me.comm, 1000);
    int32_t data = me.rank, sum = -1, token = -1;
    if (me.rank == 0) {
      RONDO_OK(rondoGroupStart());
      RONDO_OK(rondoAllReduce(&data, &sum, 1, rondoInt32, rondoSum, quick, nullptr));
      RONDO_OK(rondoRecv(&token, 1, rondoInt32, 1, me.comm, nullptr));
      if (asRequest) {
        rondoRequest_t request = nullptr;
        RONDO_OK(rondoGroupEndAsync(&request));
        RONDO_OK(rondoWait(&request));
      } else {
        RONDO_OK(rondoGroupEnd());
      }
      EXPECT_EQ(token, 1);
    } else {
      RONDO_OK(rondoAllReduce(&data, &sum, 1, rondoInt32, rondoSum, quick, nullptr));
      std::this_thread::sleep_for(2500ms);
      RONDO_OK(rondoSend(&data, 1, rondoInt32, 0, me.comm, nullptr));
    }
    EXPECT_EQ(sum, 1);
    RONDO_OK(rondoBarrier(quick, nullptr));
    RONDO_OK(rondoCommDestroy(quick));
  });
}

TEST(WorldWaits, ALongWaitOnOneCommunicatorIsNoneOnTheOther) { waitLongForAMessage(false); }
TEST(WorldWaits, AlsoForARequest) { waitLongForAMessage(true); }

/// Rank 1 ends one communicator while rank 0 waits on both, and sends on the other one when rank
/// 0's wait has polled what it has to poll, as MPI's progress.
TEST(WorldWaits, AnEndedCommunicatorLeavesTheRestOfTheGroupItsWait) {
  std::atomic<int> polls{0};
  std::atomic<bool> waits{false};
  const auto awaitPolls = [&] {
    const auto end = Clock::now() + 20s;
    while (polls < 100 && Clock::now() < end) std::this_thread::sleep_for(1ms);
    EXPECT_GE(polls.exchange(0), 100);
  };
  World(2).whileWaiting([&] { polls += waits ? 1 : 0; }).open([&](const Rank& me) {
    rondoComm_t other = nullptr;
    RONDO_OK(rondoCommDup(me.comm, &other, nullptr));
    int32_t token = me.rank, never = 0;
    if (me.rank == 0) {
      RONDO_OK(rondoGroupStart());
      RONDO_OK(rondoRecv(&never, 1, rondoInt32, 1, me.comm, nullptr));
      RONDO_OK(rondoRecv(&token, 1, rondoInt32, 1, other, nullptr));
      waits = true;
      EXPECT_EQ(rondoGroupEnd(), rondoRemoteError);
      waits = false;
      EXPECT_EQ(token, 1);
    } else {
      awaitPolls();
      RONDO_OK(rondoCommRevoke(me.comm));
      std::this_thread::sleep_for(100ms);
      polls = 0;
      awaitPolls();
      RONDO_OK(rondoSend(&token, 1, rondoInt32, 0, other, nullptr));
    }
    RONDO_OK(rondoBarrier(other, nullptr));
    RONDO_OK(rondoCommDestroy(other));
    EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
  });
}

/// Nobody but the progress thread runs the group, of so many sums, and finds something to do in
/// each of its polls. How long that took, and how often it looked at what it watches meanwhile.
std::chrono::milliseconds runByItself(size_t sums, int* looks) {
  std::chrono::milliseconds took{};
  std::atomic<int> walks{0};
  Patrol::one().add(&walks, [&] { ++walks; });
  World(2).run([&](const Rank& me) {
    std::vector<float> in(20'000), out(in.size());
    RONDO_OK(rondoGroupStart());
    for (size_t i = 0; i < sums; ++i) {
      RONDO_OK(rondoAllReduce(in.data(), out.data(), in.size(), rondoFloat32, rondoSum, me.comm,
                              nullptr));
    }
    rondoRequest_t request = nullptr;
    RONDO_OK(rondoGroupEndAsync(&request));
    const auto start = Clock::now();
    const int before = walks;
    while (!me.comm->impl->idle()) std::this_thread::sleep_for(1ms);
    if (me.rank == 0) {
      took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
      *looks = walks - before;
    }
    RONDO_OK(rondoWait(&request));
  });
  Patrol::one().remove(&walks);
  return took;
}

TEST(WorldWaits, WhatIsWatchedIsLookedAtWhileRequestsMove) {
  int looks = 0;
  size_t sums = 4000;
  while (runByItself(sums, &looks) < 500ms && sums < 1'000'000) sums *= 2;
  EXPECT_GE(looks, 3) << sums << " sums";
}

}  // namespace
}  // namespace rondo::testing
