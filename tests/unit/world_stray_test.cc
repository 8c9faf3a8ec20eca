// Messages that were sent and that nobody takes any more, as rondoCommFinalize sees them.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "api/handle.h"
#include "p2p/fabric.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

#define RONDO_OK(call) ASSERT_EQ(call, rondoSuccess) << rondoGetLastError(nullptr)

/// Ranks that go through numbered stages: at(n) waits until stage n has come, next() ends one.
class Stages {
 public:
  void at(int stage) const {
    while (now_ < stage) std::this_thread::yield();
  }
  void next() { ++now_; }

 private:
  std::atomic<int> now_{0};
};

/// rondoCommFinalize on `me`, between whom and another a message from `from` to `to` lies.
void expectStray(const Rank& me, int from, int to, int bytes) {
  EXPECT_EQ(rondoCommFinalize(me.comm), rondoMismatch);
  const std::string sentence = rondoGetLastError(me.comm);
  const std::string sender = "rank " + std::to_string(from) + " (";
  const std::string what =
      "sent " + std::to_string(bytes) + " bytes that rank " + std::to_string(to) + " (";
  for (const std::string& word : {std::string("rondoCommFinalize: "), sender, what,
                                  std::string("a send without a receive")}) {
    EXPECT_NE(sentence.find(word), std::string::npos) << sentence << "\nlacks " << word;
  }
  EXPECT_EQ(rondoBarrier(me.comm, nullptr), rondoMismatch);
  rondoResult_t state = rondoSuccess;
  EXPECT_EQ(rondoCommGetAsyncError(me.comm, &state), rondoSuccess);
  EXPECT_EQ(state, rondoMismatch);
}

TEST(WorldStray, AShortSendIsAnErrorForWhoDidNotReceiveIt) {
  for (const int ranks : {2, 3}) {
    Stages stages;
    World(ranks).open([&](const Rank& me) {
      const int32_t value = 5;
      if (me.rank == 0) {
        RONDO_OK(rondoSend(&value, 1, rondoInt32, 1, me.comm, nullptr));
        EXPECT_EQ(rondoCommFinalize(me.comm), rondoSuccess) << "rank 1 could receive it yet";
        stages.next();
      } else if (me.rank == 1) {
        stages.at(1);
        expectStray(me, 0, 1, 4);
      } else {
        RONDO_OK(rondoCommFinalize(me.comm));
      }
      RONDO_OK(rondoCommDestroy(me.comm));
    });
  }
}

TEST(WorldStray, AndForItsSenderWhereTheOtherHasFinalizedBefore) {
  for (const bool sentBefore : {false, true}) {
    Stages stages;
    World(2).open([&](const Rank& me) {
      const int32_t values[3] = {1, 2, 3};
      if (me.rank == 0) {
        stages.at(sentBefore ? 0 : 1);
        RONDO_OK(rondoSend(values, 3, rondoInt32, 1, me.comm, nullptr));
        if (sentBefore) stages.next();
        stages.at(2);
        expectStray(me, 0, 1, 12);
      } else if (sentBefore) {
        stages.at(1);
        expectStray(me, 0, 1, 12);
        stages.next();
      } else {
        EXPECT_EQ(rondoCommFinalize(me.comm), rondoSuccess);
        stages.next();
        stages.next();
      }
      RONDO_OK(rondoCommDestroy(me.comm));
    });
  }
}

/// A root is through with a short broadcast before anybody has come.
TEST(WorldStray, ACollectiveThatARankDidNotMakeIsOneToo) {
  Stages stages;
  World(3).open([&](const Rank& me) {
    int64_t value = me.rank;
    if (me.rank == 0) {
      RONDO_OK(rondoBroadcast(&value, &value, 1, rondoInt64, 0, me.comm, nullptr));
      stages.next();
    } else {
      stages.at(1);
      expectStray(me, 0, me.rank, 8);
    }
    stages.next();
    stages.at(4);
    RONDO_OK(rondoCommDestroy(me.comm));
  });
}

/// The messages that went round in a program without faults have all been taken when it ends.
void callAll(const Rank& me, size_t count) {
  const auto n = static_cast<size_t>(me.size);
  std::vector<int32_t> in(count * n, me.rank), out(count * n);
  const int root = static_cast<int>(count) % me.size;
  const auto type = rondoInt32;
  const auto sum = rondoSum;
  int32_t* const a = in.data();
  int32_t* const b = out.data();
  RONDO_OK(rondoAllReduce(a, b, count, type, sum, me.comm, nullptr));
  RONDO_OK(rondoReduce(a, b, count, type, sum, root, me.comm, nullptr));
  RONDO_OK(rondoBroadcast(a, b, count, type, root, me.comm, nullptr));
  RONDO_OK(rondoAllGather(a, b, count, type, me.comm, nullptr));
  RONDO_OK(rondoReduceScatter(a, b, count, type, sum, me.comm, nullptr));
  RONDO_OK(rondoAllToAll(a, b, count, type, me.comm, nullptr));
  RONDO_OK(rondoGather(a, b, count, type, root, me.comm, nullptr));
  RONDO_OK(rondoScatter(a, b, count, type, root, me.comm, nullptr));
  RONDO_OK(rondoScan(a, b, count, type, sum, me.comm, nullptr));
  RONDO_OK(rondoExscan(a, b, count, type, sum, me.comm, nullptr));
  RONDO_OK(rondoBarrier(me.comm, nullptr));
}

TEST(WorldStray, NothingIsLeftOfCallsThatAllRanksMake) {
  for (const int ranks : {2, 3, 5}) {
    for (const size_t count : {size_t{1}, size_t{300}, size_t{20000}}) {
      World(ranks).open([count](const Rank& me) {
        callAll(me, count);
        EXPECT_EQ(rondoCommFinalize(me.comm), rondoSuccess) << rondoGetLastError(me.comm);
        RONDO_OK(rondoCommDestroy(me.comm));
      });
    }
  }
}

/// Between hosts its receiver sees what has come by then.
TEST(WorldStray, OfAnotherHostToo) {
  World(3).hosts({0, 1, 1}).open([](const Rank& me) {
    const int32_t values[] = {1, 2};
    if (me.rank == 0) {
      RONDO_OK(rondoSend(values, 2, rondoInt32, 2, me.comm, nullptr));
    }
    RONDO_OK(rondoBarrier(me.comm, nullptr));
    if (me.rank == 2) {
      Fabric& fabric = *me.comm->impl->fabric();
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (!fabric.untaken(0, 2) && std::chrono::steady_clock::now() < end) {
        std::this_thread::yield();
      }
      expectStray(me, 0, 2, 8);
    } else {
      EXPECT_EQ(rondoCommFinalize(me.comm), rondoSuccess);
    }
    RONDO_OK(rondoCommDestroy(me.comm));
  });
}

TEST(WorldStray, NothingIsLeftBetweenHostsOfCallsThatAllRanksMake) {
  for (const std::vector<int>& hosts : std::vector<std::vector<int>>{{0, 1}, {0, 1, 1, 0, 2}}) {
    for (const size_t count : {size_t{1}, size_t{300}, size_t{20000}, size_t{200'000}}) {
      World(static_cast<int>(hosts.size())).hosts(hosts).open([count](const Rank& me) {
        for (int again = 0; again < 3; ++again) callAll(me, count);
        EXPECT_EQ(rondoCommFinalize(me.comm), rondoSuccess) << rondoGetLastError(me.comm);
        RONDO_OK(rondoCommDestroy(me.comm));
      });
    }
  }
}

/// Whoever is first at the end, and what it sent is received a moment later.
TEST(WorldStray, WhoFinalizesFirstIsNotToBlame) {
  for (int round = 0; round < 40; ++round) {
    World(2).open([](const Rank& me) {
      int32_t value = me.rank, came = -1;
      for (int k = 0; k < 3; ++k) {
        if (me.rank == k % 2) {
          RONDO_OK(rondoSend(&value, 1, rondoInt32, 1 - me.rank, me.comm, nullptr));
        } else {
          RONDO_OK(rondoRecv(&came, 1, rondoInt32, 1 - me.rank, me.comm, nullptr));
        }
      }
      EXPECT_EQ(rondoCommFinalize(me.comm), rondoSuccess) << rondoGetLastError(me.comm);
      RONDO_OK(rondoCommDestroy(me.comm));
    });
  }
}

}  // namespace
}  // namespace rondo::testing
