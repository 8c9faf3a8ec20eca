// rondoCommGrow between threads: old ranks and new ones.

#include <gtest/gtest.h>

#include <latch>

#include "support/refusal.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

int sumOver(rondoComm_t comm, int value) {
  int out = -1;
  EXPECT_EQ(rondoAllReduce(&value, &out, 1, rondoInt32, rondoSum, comm, nullptr), rondoSuccess)
      << rondoGetLastError(comm);
  return out;
}

/// An old communicator of `old` threads whose rank `maker` has made an id, and `added` threads
/// beside it.
void growing(int old, int added, int maker,
             const std::function<void(rondoComm_t comm, int rank, const rondoUniqueId& id)>& body) {
  rondoUniqueId first, more{};
  ASSERT_EQ(rondoGetUniqueId(&first), rondoSuccess) << rondoGetLastError(nullptr);
  std::latch made(1);
  onRanks(old + added, [&](int rank) {
    rondoComm_t comm = nullptr;
    if (rank < old) {
      ASSERT_EQ(rondoCommInitRank(&comm, old, first, rank), rondoSuccess);
      if (rank == maker) {
        EXPECT_EQ(rondoCommGetUniqueId(comm, &more), rondoSuccess) << rondoGetLastError(comm);
        made.count_down();
      }
    }
    made.wait();
    body(comm, rank, more);
    if (comm != nullptr) {
      EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
    }
  });
}

TEST(WorldGrow, OldRanksKeepTheirNumbersAndNewOnesFollow) {
  growing(3, 2, 1, [](rondoComm_t comm, int rank, const rondoUniqueId& id) {
    rondoComm_t grown = nullptr;
    ASSERT_EQ(rondoCommGrow(comm, 5, rank == 1 || rank > 2 ? &id : nullptr, rank < 3 ? -1 : rank,
                            &grown, nullptr),
              rondoSuccess)
        << rondoGetLastError(nullptr);
    int size = 0, me = -1;
    EXPECT_EQ(rondoCommCount(grown, &size), rondoSuccess);
    EXPECT_EQ(rondoCommUserRank(grown, &me), rondoSuccess);
    EXPECT_EQ(size, 5);
    EXPECT_EQ(me, rank);
    EXPECT_EQ(sumOver(grown, 1 << rank), 31);
    if (comm != nullptr) {
      EXPECT_EQ(sumOver(comm, 1 << rank), 7) << "the parent goes on";
    }
    EXPECT_EQ(sumOver(grown, 1), 5);
    EXPECT_EQ(rondoCommDestroy(grown), rondoSuccess);
  });
}

TEST(WorldGrow, OneRankGrowsAgainAndAgain) {
  for (const int added : {1, 3}) {
    growing(1, added, 0, [added](rondoComm_t comm, int rank, const rondoUniqueId& id) {
      rondoComm_t grown = nullptr;
      ASSERT_EQ(rondoCommGrow(comm, 1 + added, &id, rank == 0 ? -1 : rank, &grown, nullptr),
                rondoSuccess)
          << rondoGetLastError(nullptr);
      EXPECT_EQ(sumOver(grown, rank), added * (added + 1) / 2);
      EXPECT_EQ(rondoCommDestroy(grown), rondoSuccess);
    });
  }
}

TEST(WorldGrow, ANewRankThatDoesNotComeIsNamedAndTheOldOnesGoOn) {
  const Env env("RONDO_BOOT_TIMEOUT_MS", "300");
  growing(2, 1, 0, [](rondoComm_t comm, int rank, const rondoUniqueId& id) {
    rondoComm_t grown = nullptr;
    expectRefused(
        rondoCommGrow(comm, 4, rank == 1 ? nullptr : &id, rank < 2 ? -1 : rank, &grown, nullptr),
        rondoSystemError, "rondoCommGrow", {"rank 3 of 4 did not join within 300 ms"});
    EXPECT_EQ(grown, nullptr);
    if (comm != nullptr) {
      EXPECT_EQ(sumOver(comm, 1), 2);
    }
  });
}

TEST(WorldGrow, WhatOldRanksDoWrongIsToldToAllOfThemAtOnce) {
  growing(2, 0, 0, [](rondoComm_t comm, int rank, const rondoUniqueId& id) {
    rondoComm_t grown = nullptr;
    const rondoUniqueId* const given = rank == 0 ? &id : nullptr;
    const auto refused = [&](rondoResult_t result, rondoResult_t code,
                             std::initializer_list<std::string> parts) {
      expectRefused(result, code, "rondoCommGrow", parts);
      EXPECT_EQ(grown, nullptr);
    };
    refused(rondoCommGrow(comm, 3, nullptr, -1, &grown, nullptr), rondoInvalidUsage,
            {"no rank gives an id", "allowed"});
    refused(rondoCommGrow(comm, 3 + rank, given, -1, &grown, nullptr), rondoInvalidUsage,
            {"rank 1 says nranks is 4, rank 0 says 3"});
    refused(rondoCommGrow(comm, 2 + rank, given, -1, &grown, nullptr), rondoInvalidArgument,
            {"rank 0", "argument nranks is 2", "allowed: from 3"});
    refused(rondoCommGrow(comm, 3, given, rank == 1 ? 1 : -1, &grown, nullptr),
            rondoInvalidArgument, {"rank 1", "argument rank is 1", "allowed: -1"});
    refused(rondoCommGrow(comm, 3, given, -1, rank == 1 ? nullptr : &grown, nullptr),
            rondoInvalidArgument, {"rank 1", "argument newcomm is NULL"});
    rondoUniqueId other;
    ASSERT_EQ(rank == 0 ? rondoGetUniqueId(&other) : rondoCommGetUniqueId(comm, &other),
              rondoSuccess);
    refused(rondoCommGrow(comm, 3, rank == 0 ? &id : &other, -1, &grown, nullptr),
            rondoInvalidUsage, {"ranks 0 and 1 give different ids"});
    refused(rondoCommGrow(comm, 3, rank == 0 ? &other : nullptr, -1, &grown, nullptr),
            rondoInvalidUsage, {"rank 0", "id is one of rondoGetUniqueId"});
    EXPECT_EQ(sumOver(comm, 1), 2);
    expectRefused(rondoCommGetUniqueId(comm, nullptr), rondoInvalidArgument, "rondoCommGetUniqueId",
                  {"argument id is NULL"});
  });
}

TEST(WorldGrow, AGroupUnderWayIsNamedAndGoesOn) {
  std::latch refused(1);
  growing(2, 0, 0, [&refused](rondoComm_t comm, int rank, const rondoUniqueId& id) {
    std::vector<int> in(4096, 1), out(4096, -1);
    const auto sum = [&] {
      return rondoAllReduce(in.data(), out.data(), in.size(), rondoInt32, rondoSum, comm, nullptr);
    };
    if (rank == 0) {
      rondoRequest_t request = nullptr;
      rondoComm_t grown = nullptr;
      rondoGroupStart();
      sum();
      EXPECT_EQ(rondoGroupEndAsync(&request), rondoSuccess);
      expectRefused(rondoCommGrow(comm, 3, &id, -1, &grown, nullptr), rondoInvalidUsage,
                    "rondoCommGrow", {"has a group under way", "rondoWait"});
      refused.count_down();
      EXPECT_EQ(rondoWait(&request), rondoSuccess) << rondoGetLastError(nullptr);
    } else {
      refused.wait();
      EXPECT_EQ(sum(), rondoSuccess) << rondoGetLastError(nullptr);
    }
    EXPECT_EQ(out, std::vector<int>(4096, 2));
  });
}

TEST(WorldGrow, WhatNewRanksDoWrongIsToldAtOnce) {
  growing(2, 0, 0, [](rondoComm_t, int rank, const rondoUniqueId& id) {
    if (rank == 1) return;
    rondoComm_t grown = nullptr;
    const auto refused = [&](rondoResult_t result, rondoResult_t code, const char* call,
                             std::initializer_list<std::string> parts) {
      expectRefused(result, code, call, parts);
      EXPECT_EQ(grown, nullptr);
    };
    const char* const grow = "rondoCommGrow";
    for (const int wrong : {-1, 0, 1, 4}) {
      refused(rondoCommGrow(nullptr, 4, &id, wrong, &grown, nullptr), rondoInvalidArgument, grow,
              {"argument rank is " + std::to_string(wrong), "allowed: 2 to 3"});
    }
    refused(rondoCommGrow(nullptr, 2, &id, 2, &grown, nullptr), rondoInvalidArgument, grow,
            {"argument nranks is 2", "allowed: from 3"});
    refused(rondoCommGrow(nullptr, 3, nullptr, 2, &grown, nullptr), rondoInvalidArgument, grow,
            {"argument id is NULL", "allowed"});
    refused(rondoCommGrow(nullptr, 3, &id, 2, nullptr, nullptr), rondoInvalidArgument, grow,
            {"argument newcomm is NULL"});
    refused(rondoCommInitRank(&grown, 3, id, 2), rondoInvalidUsage, "rondoCommInitRank",
            {"id is one of rondoCommGetUniqueId", "allowed: one of rondoGetUniqueId"});
    rondoUniqueId plain;
    ASSERT_EQ(rondoGetUniqueId(&plain), rondoSuccess);
    refused(rondoCommGrow(nullptr, 3, &plain, 2, &grown, nullptr), rondoInvalidUsage, grow,
            {"id is one of rondoGetUniqueId"});
  });
}

TEST(WorldGrow, InTheBackgroundOnOldAndNewRanks) {
  growing(2, 1, 0, [](rondoComm_t comm, int rank, const rondoUniqueId& id) {
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.blocking = 0;
    rondoComm_t grown = nullptr;
    ASSERT_EQ(
        rondoCommGrow(comm, 3, rank == 1 ? nullptr : &id, rank < 2 ? -1 : rank, &grown, &config),
        rondoInProgress)
        << rondoGetLastError(nullptr);
    if (comm != nullptr) {
      EXPECT_EQ(sumOver(comm, 1), 2) << "the parent is free meanwhile";
    }
    rondoResult_t state = rondoInProgress;
    while (state == rondoInProgress) {
      ASSERT_EQ(rondoCommGetAsyncError(grown, &state), rondoSuccess);
      usleep(1000);
    }
    ASSERT_EQ(state, rondoSuccess) << rondoGetLastError(grown);
    EXPECT_EQ(sumOver(grown, 1 << rank), 7);
    EXPECT_EQ(rondoCommDestroy(grown), rondoSuccess);
  });
}

}  // namespace
}  // namespace rondo::testing
