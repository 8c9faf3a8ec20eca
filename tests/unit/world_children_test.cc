// Communicators made of communicators, between threads.

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "api/handle.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

int sumOver(rondoComm_t comm, int value) {
  int out = -1;
  EXPECT_EQ(rondoAllReduce(&value, &out, 1, rondoInt32, rondoSum, comm, nullptr), rondoSuccess)
      << rondoGetLastError(comm);
  return out;
}

int ask(rondoComm_t comm, rondoResult_t (*question)(rondoComm_t, int*)) {
  int answer = -1;
  EXPECT_EQ(question(comm, &answer), rondoSuccess);
  return answer;
}

TEST(WorldChildren, SplitOrdersByKeyAndThenByRank) {
  World(6).run([](const Rank& me) {
    const int color = me.rank % 2;
    rondoComm_t part = nullptr;
    // Ranks 0 2 4 get keys 1 1 0: their order is 4 0 2.
    ASSERT_EQ(rondoCommSplit(me.comm, color, me.rank == 4 ? 0 : 1, &part, nullptr), rondoSuccess)
        << rondoGetLastError(me.comm);
    EXPECT_EQ(ask(part, rondoCommCount), 3);
    const int places[] = {1, 0, 2, 1, 0, 2};
    EXPECT_EQ(ask(part, rondoCommUserRank), places[me.rank]);
    EXPECT_EQ(sumOver(part, me.rank), color == 0 ? 6 : 9);
    EXPECT_EQ(sumOver(me.comm, me.rank), 15);
    EXPECT_EQ(sumOver(part, 1), 3);
    EXPECT_EQ(rondoCommDestroy(part), rondoSuccess);
  });
}

TEST(WorldChildren, NoColorIsNoPart) {
  World(3).run([](const Rank& me) {
    rondoComm_t part = me.comm;
    ASSERT_EQ(rondoCommSplit(me.comm, me.rank == 1 ? RONDO_SPLIT_NOCOLOR : 7, 0, &part, nullptr),
              rondoSuccess);
    if (me.rank == 1) {
      EXPECT_EQ(part, nullptr);
    } else {
      EXPECT_EQ(sumOver(part, me.rank), 2);
      EXPECT_EQ(rondoCommDestroy(part), rondoSuccess);
    }
  });
}

TEST(WorldChildren, AChildOutlivesItsParentAndHasChildren) {
  World(4).open([](const Rank& me) {
    rondoComm_t twin = nullptr, half = nullptr;
    ASSERT_EQ(rondoCommDup(me.comm, &twin, nullptr), rondoSuccess);
    EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
    ASSERT_EQ(rondoCommSplit(twin, me.rank / 2, -me.rank, &half, nullptr), rondoSuccess);
    EXPECT_EQ(ask(half, rondoCommUserRank), 1 - me.rank % 2);
    EXPECT_EQ(sumOver(half, me.rank), me.rank < 2 ? 1 : 5);
    EXPECT_EQ(rondoCommDestroy(half), rondoSuccess);
    EXPECT_EQ(sumOver(twin, 1), 4);
    EXPECT_EQ(rondoCommDestroy(twin), rondoSuccess);
  });
}

TEST(WorldChildren, ABadArgumentOfOneRankIsEverybodysError) {
  World(3).run([](const Rank& me) {
    rondoComm_t part = nullptr;
    EXPECT_EQ(rondoCommSplit(me.comm, me.rank == 2 ? -5 : 0, 0, &part, nullptr),
              rondoInvalidArgument);
    EXPECT_NE(std::string(rondoGetLastError(me.comm)).find("rank 2: argument color is -5"),
              std::string::npos)
        << rondoGetLastError(me.comm);
    EXPECT_EQ(rondoCommDup(me.comm, me.rank == 0 ? nullptr : &part, nullptr), rondoInvalidArgument);
    EXPECT_EQ(part, nullptr);
    EXPECT_EQ(sumOver(me.comm, 1), 3);  // the parent is unharmed
  });
}

TEST(WorldChildren, ChildrenAreMadeOfSeveralHostsToo) {
  World(4).hosts({0, 1, 0, 1}).run([](const Rank& me) {
    rondoComm_t part = nullptr;
    ASSERT_EQ(rondoCommSplit(me.comm, me.rank / 2, 0, &part, nullptr), rondoSuccess)
        << rondoGetLastError(me.comm);
    EXPECT_EQ(sumOver(part, me.rank), me.rank < 2 ? 1 : 5);
    EXPECT_EQ(rondoCommDestroy(part), rondoSuccess);
  });
}

TEST(WorldChildren, ShrinkCrossesHosts) {
  World(5).hosts({0, 1, 0, 1, 2}).open([](const Rank& me) {
    rondoComm_t rest = nullptr;
    const int without[] = {1, 4};
    if (me.rank == 1 || me.rank == 4) {
      EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
      return;
    }
    ASSERT_EQ(rondoCommShrink(me.comm, without, 2, &rest, nullptr, RONDO_SHRINK_ABORT),
              rondoSuccess)
        << rondoGetLastError(me.comm);
    EXPECT_EQ(sumOver(rest, me.rank), 5);
    EXPECT_EQ(rondoCommDestroy(rest), rondoSuccess);
    EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
  });
}

TEST(WorldChildren, ShrinkLeavesOutWhoIsNamedOrGone) {
  World(4).open([](const Rank& me) {
    rondoComm_t rest = nullptr;
    if (me.rank == 3) {  // gone without a word
      EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
      return;
    }
    const int without = 1;
    if (me.rank == 1) {
      EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
      return;
    }
    ASSERT_EQ(rondoCommShrink(me.comm, &without, 1, &rest, nullptr, RONDO_SHRINK_ABORT),
              rondoSuccess)
        << rondoGetLastError(me.comm);
    EXPECT_EQ(ask(rest, rondoCommCount), 2);
    EXPECT_EQ(sumOver(rest, me.rank), 2);
    EXPECT_EQ(rondoCommDestroy(rest), rondoSuccess);
    EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
  });
}

TEST(WorldChildren, ShrinkRefusesWhatItCannotDo) {
  World(2).run([](const Rank& me) {
    rondoComm_t rest = nullptr;
    const int self = me.rank, far = 9;
    EXPECT_EQ(rondoCommShrink(me.comm, &self, 1, &rest, nullptr, 0), rondoInvalidArgument);
    EXPECT_NE(std::string(rondoGetLastError(me.comm)).find("excludeRanks[0] is"),
              std::string::npos);
    EXPECT_EQ(rondoCommShrink(me.comm, &far, 1, &rest, nullptr, 0), rondoInvalidArgument);
    EXPECT_EQ(rondoCommShrink(me.comm, nullptr, 0, nullptr, nullptr, 0), rondoInvalidArgument);
    EXPECT_EQ(rondoCommShrink(me.comm, nullptr, 0, &rest, nullptr, 4), rondoInvalidArgument);
    EXPECT_EQ(sumOver(me.comm, 1), 2);
  });
}

TEST(WorldChildren, WhatOneRankGetsWrongInAShrinkEndsItForAll) {
  const Env bound("RONDO_SPIN_BOUND_MS", "20000");  // instead of a wait for ever
  World(2).run([](const Rank& me) {
    rondoComm_t rest = nullptr;
    const int flags = me.rank == 0 ? 4 : RONDO_SHRINK_DEFAULT;
    const rondoResult_t result = rondoCommShrink(me.comm, nullptr, 0, &rest, nullptr, flags);
    const std::string sentence = rondoGetLastError(me.comm);
    EXPECT_EQ(result, me.rank == 0 ? rondoInvalidArgument : rondoInvalidUsage) << sentence;
    const char* const why = me.rank == 0 ? "flags is 4" : "gave rondoCommShrink up";
    EXPECT_NE(sentence.find(why), std::string::npos) << sentence;
    ASSERT_EQ(rondoCommShrink(me.comm, nullptr, 0, &rest, nullptr, 0), rondoSuccess);
    EXPECT_EQ(sumOver(rest, 1), 2);
    EXPECT_EQ(rondoCommDestroy(rest), rondoSuccess);
  });
}

// A list of RONDO_GROUPS is of all ranks: children have their members' part of it.
TEST(WorldChildren, GroupsByAListAreTheChildrensToo) {
  World(4).groups("0,0,1,1").run([](const Rank& me) {
    rondoComm_t part = nullptr, rest = nullptr, twin = nullptr;
    ASSERT_EQ(rondoCommSplit(me.comm, me.rank == 1 ? 1 : 0, -me.rank, &part, nullptr), rondoSuccess)
        << rondoGetLastError(me.comm);
    EXPECT_EQ(sumOver(part, 1), me.rank == 1 ? 1 : 3);
    EXPECT_EQ(part->impl->facts().groups.text(), me.rank == 1 ? "0" : "0,0,1") << "3, 2, 0";
    if (me.rank != 1) {  // of part's own list, by a configuration
      rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
      ASSERT_EQ(rondoCommSplit(part, 0, -me.rank, &twin, &config), rondoSuccess)
          << rondoGetLastError(part);
      EXPECT_EQ(sumOver(twin, 1), 3);
      EXPECT_EQ(twin->impl->facts().groups.text(), "0,0,1");
      EXPECT_EQ(rondoCommDestroy(twin), rondoSuccess);
    }
    EXPECT_EQ(rondoCommDestroy(part), rondoSuccess);
    if (me.rank == 0) return;
    const int gone = 0;
    ASSERT_EQ(rondoCommShrink(me.comm, &gone, 1, &rest, nullptr, RONDO_SHRINK_DEFAULT),
              rondoSuccess)
        << rondoGetLastError(me.comm);
    EXPECT_EQ(sumOver(rest, 1), 3);
    EXPECT_EQ(rest->impl->facts().groups.text(), "0,1,1");
    EXPECT_EQ(rondoCommDestroy(rest), rondoSuccess);
  });
}

// The rank that sees it and the one that does not.
TEST(WorldChildren, ASplitBesideAnotherCallIsAMismatchForBoth) {
  World(2).open([](const Rank& me) {
    rondoComm_t part = nullptr;
    float data[4] = {};
    rondoResult_t result = rondoSuccess;
    if (me.rank == 0) {
      result = rondoCommSplit(me.comm, 0, 0, &part, nullptr);
    } else {
      result = rondoSend(data, 4, rondoFloat32, 0, me.comm, nullptr);
      if (result == rondoSuccess) result = rondoBarrier(me.comm, nullptr);
    }
    EXPECT_EQ(result, rondoMismatch) << rondoGetLastError(nullptr);
    rondoResult_t state = rondoSuccess;
    EXPECT_EQ(rondoCommGetAsyncError(me.comm, &state), rondoSuccess);
    EXPECT_EQ(state, rondoMismatch);
    EXPECT_EQ(rondoCommAbort(me.comm), rondoSuccess);
  });
}

TEST(WorldChildren, ARevocationEndsACommunicatorOfOneRankToo) {
  World(1).open([](const Rank& me) {
    EXPECT_EQ(sumOver(me.comm, 1), 1);
    EXPECT_EQ(rondoCommRevoke(me.comm), rondoSuccess);
    rondoResult_t state = rondoSuccess;
    EXPECT_EQ(rondoCommGetAsyncError(me.comm, &state), rondoSuccess);
    EXPECT_EQ(state, rondoRemoteError);
    int in = 1, out = 0;
    EXPECT_EQ(rondoAllReduce(&in, &out, 1, rondoInt32, rondoSum, me.comm, nullptr),
              rondoRemoteError);
    EXPECT_NE(std::string(rondoGetLastError(me.comm)).find("rank 0 aborted"), std::string::npos);
    rondoComm_t rest = nullptr;
    ASSERT_EQ(rondoCommShrink(me.comm, nullptr, 0, &rest, nullptr, RONDO_SHRINK_DEFAULT),
              rondoSuccess)
        << rondoGetLastError(me.comm);
    EXPECT_EQ(sumOver(rest, 1), 1);
    EXPECT_EQ(rondoCommDestroy(rest), rondoSuccess);
    EXPECT_EQ(rondoCommAbort(me.comm), rondoSuccess);
  });
}

TEST(WorldChildren, AsyncErrorTellsOfARevocation) {
  std::atomic<int> summed{0};  // a sum that is not over everywhere would be ended, too
  World(3).run([&](const Rank& me) {
    rondoResult_t state = rondoInternalError;
    EXPECT_EQ(rondoCommGetAsyncError(me.comm, nullptr), rondoInvalidArgument);
    EXPECT_EQ(rondoCommGetAsyncError(me.comm, &state), rondoSuccess);
    EXPECT_EQ(state, rondoSuccess);
    EXPECT_EQ(sumOver(me.comm, 1), 3);
    ++summed;
    if (me.rank == 0) {
      while (summed.load() < 3) std::this_thread::yield();
      EXPECT_EQ(rondoCommRevoke(me.comm), rondoSuccess);
    }
    int in = 1, out = 0;
    while (rondoAllReduce(&in, &out, 1, rondoInt32, rondoSum, me.comm, nullptr) == rondoSuccess) {
    }
    EXPECT_EQ(rondoCommGetAsyncError(me.comm, &state), rondoSuccess);
    EXPECT_EQ(state, rondoRemoteError);
    EXPECT_NE(std::string(rondoGetLastError(me.comm)).find("rank 0 aborted"), std::string::npos);
  });
}

}  // namespace
}  // namespace rondo::testing
