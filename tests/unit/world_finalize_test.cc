// rondoCommFinalize: it waits for groups that run on by themselves, and for none that cannot end.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "p2p/segment.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

#define RONDO_OK(call) ASSERT_EQ(call, rondoSuccess) << rondoGetLastError(nullptr)

void expectWords(const std::string& sentence, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    EXPECT_NE(sentence.find(word), std::string::npos) << sentence << "\nlacks " << word;
  }
}

/// rondoCommFinalize, rondoWait and the end of a communicator on which `request` cannot end.
void expectNoEnd(rondoComm_t comm, rondoRequest_t request, const std::vector<std::string>& words) {
  EXPECT_EQ(rondoCommFinalize(comm), rondoRemoteError);
  expectWords(rondoGetLastError(comm), {"rondoCommFinalize: "});
  expectWords(rondoGetLastError(comm), words);
  EXPECT_EQ(rondoWait(&request), rondoRemoteError);
  expectWords(rondoGetLastError(nullptr), words);
  rondoResult_t state = rondoSuccess;
  EXPECT_EQ(rondoCommGetAsyncError(comm, &state), rondoSuccess);
  EXPECT_EQ(state, rondoRemoteError);
  EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
}

/// More than fits into a channel: a send of it has to wait for its receiver.
constexpr size_t kLong = size_t{1} << 18;
std::vector<int32_t>& longBuffer() {
  thread_local std::vector<int32_t> buffer(kLong, 7);
  return buffer;
}

void beginSend(int to, rondoComm_t comm, rondoRequest_t* request) {
  RONDO_OK(rondoGroupStart());
  RONDO_OK(rondoSend(longBuffer().data(), kLong, rondoInt32, to, comm, nullptr));
  RONDO_OK(rondoGroupEndAsync(request));
}

void awaitAll(std::atomic<int>* arrived, int ranks) {
  for (++*arrived; *arrived < ranks;) std::this_thread::yield();
}

TEST(WorldFinalize, WaitsForGroupsThatAreUnderWay) {
  for (const int ranks : {1, 2, 3}) {
    World(ranks).open([](const Rank& me) {
      const size_t count = size_t{1} << 20;
      std::vector<int32_t> in(count, me.rank + 1), out(count), from(1);
      const int next = (me.rank + 1) % me.size, before = (me.rank + me.size - 1) % me.size;
      rondoRequest_t sums = nullptr, ring = nullptr;
      RONDO_OK(rondoGroupStart());
      RONDO_OK(
          rondoAllReduce(in.data(), out.data(), count, rondoInt32, rondoSum, me.comm, nullptr));
      RONDO_OK(rondoGroupEndAsync(&sums));
      RONDO_OK(rondoGroupStart());
      RONDO_OK(rondoSend(&me.rank, 1, rondoInt32, next, me.comm, nullptr));
      RONDO_OK(rondoRecv(from.data(), 1, rondoInt32, before, me.comm, nullptr));
      RONDO_OK(rondoGroupEndAsync(&ring));
      RONDO_OK(rondoCommFinalize(me.comm));
      EXPECT_EQ(out, std::vector<int32_t>(count, me.size * (me.size + 1) / 2));
      EXPECT_EQ(from[0], before);
      EXPECT_EQ(rondoBarrier(me.comm, nullptr), rondoInvalidUsage);
      RONDO_OK(rondoWait(&sums));
      int done = 0;
      RONDO_OK(rondoTest(&ring, &done));
      EXPECT_EQ(done, 1);
      RONDO_OK(rondoCommDestroy(me.comm));
    });
  }
  EXPECT_EQ(Segment::own().poolUsed(), 0u);
}

/// A peer that computes makes its call yet, however long all others have been finalizing.
TEST(WorldFinalize, WaitsForARankThatIsLate) {
  World(3).open([](const Rank& me) {
    int value = 0, sum = 0;
    if (me.rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(150));
    rondoRequest_t request = nullptr;
    RONDO_OK(rondoGroupStart());
    RONDO_OK(rondoAllReduce(&me.rank, &sum, 1, rondoInt32, rondoSum, me.comm, nullptr));
    if (me.rank == 2) {
      RONDO_OK(rondoSend(&me.size, 1, rondoInt32, 0, me.comm, nullptr));
    } else if (me.rank == 0) {
      RONDO_OK(rondoRecv(&value, 1, rondoInt32, 2, me.comm, nullptr));
    }
    RONDO_OK(rondoGroupEndAsync(&request));
    RONDO_OK(rondoCommFinalize(me.comm));
    RONDO_OK(rondoWait(&request));
    EXPECT_EQ(sum, 3);
    EXPECT_EQ(value, me.rank == 0 ? 3 : 0);
    RONDO_OK(rondoCommDestroy(me.comm));
  });
}

/// Every rank has some groups under way when it finalizes, and none of them is without an end.
TEST(WorldFinalize, FindsNothingWrongWhereAllEnds) {
  for (int round = 0; round < 40; ++round) {
    World(3).open([round](const Rank& me) {
      const size_t count = round % 2 == 0 ? 3 : 40000;
      std::vector<std::vector<int32_t>> in(4, std::vector<int32_t>(count, me.rank)), out(in);
      std::vector<rondoRequest_t> requests(4);
      if (me.rank == round % 3) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      for (size_t i = 0; i < requests.size(); ++i) {
        RONDO_OK(rondoGroupStart());
        for (int peer = 0; peer < me.size; ++peer) {
          if (peer == me.rank) continue;
          RONDO_OK(rondoSend(in[i].data(), count, rondoInt32, peer, me.comm, nullptr));
          RONDO_OK(rondoRecv(out[i].data(), count, rondoInt32, peer, me.comm, nullptr));
        }
        RONDO_OK(rondoGroupEndAsync(&requests[i]));
      }
      RONDO_OK(rondoCommFinalize(me.comm));
      RONDO_OK(rondoWaitAll(requests.size(), requests.data()));
      RONDO_OK(rondoCommDestroy(me.comm));
    });
  }
}

/// One message, as a group of its own.
void beginOne(bool sends, int peer, int32_t* value, rondoComm_t comm,
              std::vector<rondoRequest_t>* requests) {
  requests->push_back(nullptr);
  RONDO_OK(rondoGroupStart());
  if (sends) {
    RONDO_OK(rondoSend(value, 1, rondoInt32, peer, comm, nullptr));
  } else {
    RONDO_OK(rondoRecv(value, 1, rondoInt32, peer, comm, nullptr));
  }
  RONDO_OK(rondoGroupEndAsync(&requests->back()));
}

/// Thousands of groups, each of which ends with the one move that it makes, while rank 2 looks in
/// vain all the time.
TEST(WorldFinalize, GroupsThatEndOneAfterTheOtherAreNoStandstill) {
  constexpr int kRounds = 2000;
  World(3).open([](const Rank& me) {
    int32_t value = 0;
    std::vector<rondoRequest_t> requests;
    if (me.rank == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      beginOne(true, 0, &value, me.comm, &requests);
      beginOne(false, 1, &value, me.comm, &requests);
    } else {
      if (me.rank == 0) beginOne(false, 2, &value, me.comm, &requests);
      for (int round = 0; round < kRounds; ++round) {
        beginOne(me.rank == 0, 1 - me.rank, &value, me.comm, &requests);
        beginOne(me.rank == 1, 1 - me.rank, &value, me.comm, &requests);
      }
      if (me.rank == 1) beginOne(true, 2, &value, me.comm, &requests);
    }
    EXPECT_EQ(rondoCommFinalize(me.comm), rondoSuccess) << rondoGetLastError(me.comm);
    EXPECT_EQ(rondoWaitAll(requests.size(), requests.data()), rondoSuccess);
    RONDO_OK(rondoCommDestroy(me.comm));
  });
}

TEST(WorldFinalize, ASendThatNobodyReceivesIsAnError) {
  for (const int ranks : {2, 3}) {
    std::atomic<int> over{0};
    World(ranks).open([&](const Rank& me) {
      if (me.rank == 0) {
        rondoRequest_t request = nullptr;
        beginSend(1, me.comm, &request);
        expectNoEnd(me.comm, request,
                    {"rondoSend: rank 1 (", "has finalized it and takes no part in this call"});
        over = 1;
      } else {
        // Rank 1 may find what has come of it (world_stray_test.cc).
        const rondoResult_t result = rondoCommFinalize(me.comm);
        EXPECT_TRUE(result == rondoSuccess || (me.rank == 1 && result == rondoMismatch)) << result;
        while (over == 0) std::this_thread::yield();
        RONDO_OK(rondoCommDestroy(me.comm));
      }
    });
  }
}

/// None of them can finish first.
TEST(WorldFinalize, SendsThatNobodyReceivesAllAroundAreAnErrorOnAll) {
  for (const int ranks : {2, 3}) {
    std::atomic<int> begun{0};
    World(ranks).open([&](const Rank& me) {
      rondoRequest_t request = nullptr;
      beginSend((me.rank + 1) % me.size, me.comm, &request);
      awaitAll(&begun, me.size);
      expectNoEnd(me.comm, request,
                  {"rondoSend: rank ", "has finalized it and takes no part in this call"});
    });
  }
}

TEST(WorldFinalize, ACollectiveThatARankNeverMakesIsAnErrorOnTheOthers) {
  std::atomic<int> begun{0};
  World(3).open([&](const Rank& me) {
    int sum = 0, never = 0;
    rondoRequest_t request = nullptr;
    RONDO_OK(rondoGroupStart());
    if (me.rank == 1) {
      RONDO_OK(rondoRecv(&never, 1, rondoInt32, 0, me.comm, nullptr));
    } else {
      RONDO_OK(rondoAllReduce(&me.rank, &sum, 1, rondoInt32, rondoSum, me.comm, nullptr));
    }
    RONDO_OK(rondoGroupEndAsync(&request));
    awaitAll(&begun, me.size);
    expectNoEnd(me.comm, request,
                {me.rank == 1 ? "rondoRecv: rank " : "rondoAllReduce: rank ",
                 "has finalized it and takes no part in this call"});
  });
}

/// Whoever still calls learns that the others will not.
TEST(WorldFinalize, CallsThatWaitForARankThatIsGoneAreErrors) {
  for (const bool destroys : {false, true}) {
    for (const bool collective : {false, true}) {
      std::atomic<int> over{0}, gone{0};
      World(2).open([&](const Rank& me) {
        int value = 0;
        if (me.rank == 1) {
          RONDO_OK(destroys ? rondoCommDestroy(me.comm) : rondoCommFinalize(me.comm));
          gone = 1;
          while (over == 0) std::this_thread::yield();
          EXPECT_EQ(rondoCommDestroy(me.comm), destroys ? rondoInvalidUsage : rondoSuccess);
          return;
        }
        // A barrier's message that came before the end would be an error of the other rank.
        while (collective && gone == 0) std::this_thread::yield();
        EXPECT_EQ(collective ? rondoBarrier(me.comm, nullptr)
                             : rondoRecv(&value, 1, rondoInt32, 1, me.comm, nullptr),
                  rondoRemoteError);
        expectWords(rondoGetLastError(me.comm),
                    {"rank 1 (", destroys ? "has let go of it and takes no part in this call"
                                          : "has finalized it and takes no part in this call"});
        over = 1;
        RONDO_OK(rondoCommDestroy(me.comm));
      });
    }
  }
}

TEST(WorldFinalize, AnotherThreadsAbortEndsIt) {
  std::atomic<int> over{0};
  World(2).open([&](const Rank& me) {
    if (me.rank == 1) {
      while (over == 0) std::this_thread::yield();
      RONDO_OK(rondoCommDestroy(me.comm));
      return;
    }
    rondoRequest_t request = nullptr;
    beginSend(1, me.comm, &request);
    std::thread aborter([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_EQ(rondoCommAbort(me.comm), rondoSuccess) << rondoGetLastError(nullptr);
    });
    const rondoResult_t result = rondoCommFinalize(me.comm);
    EXPECT_TRUE(result == rondoRemoteError) << result;
    expectWords(rondoGetLastError(nullptr), {"rondoCommFinalize: rondoSend: rank 0 aborted"});
    aborter.join();
    EXPECT_EQ(rondoWait(&request), rondoRemoteError);
    over = 1;
  });
  EXPECT_EQ(Segment::own().poolUsed(), 0u);
}

TEST(WorldFinalize, ATimeoutEndsIt) {
  const Env limit("RONDO_TIMEOUT_MS", "100");
  std::atomic<int> over{0};
  World(2).open([&](const Rank& me) {
    if (me.rank == 1) {
      while (over == 0) std::this_thread::yield();
      RONDO_OK(rondoCommDestroy(me.comm));
      return;
    }
    rondoRequest_t request = nullptr;
    beginSend(1, me.comm, &request);
    expectNoEnd(me.comm, request,
                {"config.timeout of 100 ms", "a send of 1048576 bytes to rank 1"});
    over = 1;
  });
}

/// What the peers wait for may stand in it.
TEST(WorldFinalize, IsRefusedInAGroupWhileAnotherIsUnderWay) {
  std::atomic<bool> refused{false};
  World(2).open([&](const Rank& me) {
    rondoRequest_t request = nullptr;
    std::vector<int32_t> value(kLong);
    if (me.rank == 0) {
      beginSend(1, me.comm, &request);
    }
    RONDO_OK(rondoGroupStart());
    if (me.rank == 0) {
      EXPECT_EQ(rondoCommFinalize(me.comm), rondoInvalidUsage);
      expectWords(rondoGetLastError(nullptr), {"this thread has a group open"});
      refused = true;
    } else {
      while (!refused) std::this_thread::yield();
      RONDO_OK(rondoRecv(value.data(), kLong, rondoInt32, 0, me.comm, nullptr));
    }
    RONDO_OK(rondoBarrier(me.comm, nullptr));
    RONDO_OK(rondoGroupEnd());
    EXPECT_EQ(value.back(), 7 * me.rank);
    if (me.rank == 0) {
      RONDO_OK(rondoWait(&request));
    }
    RONDO_OK(rondoCommFinalize(me.comm));
    RONDO_OK(rondoCommDestroy(me.comm));
  });
}

}  // namespace
}  // namespace rondo::testing
