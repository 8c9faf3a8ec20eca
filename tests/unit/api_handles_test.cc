// Communicators that are null, destroyed, finalized, or used by two threads at once.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "support/collective_case.h"
#include "support/quiet_fork.h"
#include "support/refusal.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

/// Every call that takes a communicator, with good other arguments; check(call, result) each time.
void eachCall(rondoComm_t comm,
              const std::function<void(const std::string&, rondoResult_t)>& check) {
  int32_t in = 5, out = -7;
  check("rondoAllReduce", rondoAllReduce(&in, &out, 1, rondoInt32, rondoSum, comm, nullptr));
  check("rondoAllReduce", rondoAllReduce(nullptr, nullptr, 0, rondoInt32, rondoSum, comm, nullptr));
  check("rondoAllReduce", rondoAllReduce(nullptr, &out, 9, 99, 99, comm, nullptr));
  check("rondoBroadcast", rondoBroadcast(&in, &out, 1, rondoInt32, 0, comm, nullptr));
  check("rondoBroadcast", rondoBroadcast(&in, &out, 1, rondoInt32, -9, comm, nullptr));
  check("rondoBarrier", rondoBarrier(comm, nullptr));
  for (int k = 0; k < kCalls; ++k) {
    // What they say of the arguments must not matter: counts that no communicator is there for.
    for (const size_t count : {size_t{0}, size_t{1}, SIZE_MAX}) {
      const Case c{static_cast<Call>(k), rondoInt32, rondoSum, count, 0, false, true, 0};
      Side side;
      side.sendCounts = side.recvCounts = side.sendDispls = side.recvDispls = {count, count};
      check(callName(c.call), invoke(c, side, &in, &out, 0, comm));
      check(callName(c.call), invoke(c, side, nullptr, nullptr, 0, comm));
    }
  }
  EXPECT_EQ(out, -7);
  EXPECT_EQ(in, 5);
}

void eachQuestion(rondoComm_t comm,
                  const std::function<void(const std::string&, rondoResult_t)>& check) {
  int number = -7;
  check("rondoCommCount", rondoCommCount(comm, &number));
  check("rondoCommUserRank", rondoCommUserRank(comm, &number));
  check("rondoCommLocalRank", rondoCommLocalRank(comm, &number));
  check("rondoCommLocalSize", rondoCommLocalSize(comm, &number));
  check("rondoCommCuDevice", rondoCommCuDevice(comm, &number));
  check("rondoCommCount", rondoCommCount(comm, nullptr));
  EXPECT_EQ(number, -7);
  check("rondoCommFinalize", rondoCommFinalize(comm));
  check("rondoCommDestroy", rondoCommDestroy(comm));
  check("rondoCommAbort", rondoCommAbort(comm));
}

void refusedEverywhere(rondoComm_t comm, rondoResult_t code, const std::string& part) {
  const auto check = [&](const std::string& call, rondoResult_t result) {
    expectRefused(result, code, call, {part, "allowed: a communicator that is alive"});
  };
  eachCall(comm, check);
  eachQuestion(comm, check);
}

TEST(ApiHandles, Null) {
  refusedEverywhere(nullptr, rondoInvalidArgument, "argument comm is NULL");
}

TEST(ApiHandles, Destroyed) {
  for (const int ranks : {1, 2}) {
    World(ranks).open([](const Rank& me) {
      EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
      refusedEverywhere(me.comm, rondoInvalidUsage, "a destroyed communicator");
      EXPECT_STREQ(rondoGetLastError(me.comm), rondoGetLastError(nullptr));
    });
  }
}

TEST(ApiHandles, DestroyedOnesStayDeadWhileNewOnesAreMade) {
  rondoComm_t dead = nullptr;
  World(1).open([&](const Rank& me) { dead = me.comm; });
  ASSERT_EQ(rondoCommDestroy(dead), rondoSuccess);
  for (int i = 0; i < 50; ++i) {
    World(1).run([&](const Rank& me) { EXPECT_NE(me.comm, dead); });
  }
  refusedEverywhere(dead, rondoInvalidUsage, "a destroyed communicator");
}

TEST(ApiHandles, SomethingElse) {
  alignas(64) static char zeros[4096];
  refusedEverywhere(reinterpret_cast<rondoComm_t>(zeros), rondoInvalidUsage, "not a communicator");
}

// What a child has, its parent goes on using.
TEST(ApiHandles, AForkedChildHasNoneOfItsParents) {
  World(1).run([](const Rank& me) {
    void* memory = nullptr;
    EXPECT_EQ(rondoMemAlloc(&memory, 100), rondoSuccess);
    const pid_t child = test::quietFork();
    if (child == 0) {
      refusedEverywhere(me.comm, rondoInvalidUsage, "that this one was forked from");
      void* other = nullptr;
      expectRefused(rondoMemAlloc(&other, 1), rondoInvalidUsage, "rondoMemAlloc", {"was forked"});
      expectRefused(rondoMemFree(memory), rondoInvalidUsage, "rondoMemFree", {"was forked"});
      rondoUniqueId id;
      rondoComm_t comm = nullptr;
      EXPECT_EQ(rondoGetUniqueId(&id), rondoSuccess);
      expectRefused(rondoCommInitRank(&comm, 1, id, 0), rondoInvalidUsage, "rondoCommInitRank",
                    {"was forked", "after exec"});
      _exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    float in = 3, out = 0;
    EXPECT_EQ(rondoAllReduce(&in, &out, 1, rondoFloat32, rondoSum, me.comm, nullptr), rondoSuccess);
    EXPECT_EQ(out, 3);
    EXPECT_EQ(rondoMemFree(memory), rondoSuccess);
  });
}

TEST(ApiHandles, Finalized) {
  World(2).open([](const Rank& me) {
    EXPECT_EQ(rondoCommFinalize(me.comm), rondoSuccess);
    eachCall(me.comm, [&](const std::string& call, rondoResult_t result) {
      expectRefused(result, rondoInvalidUsage, call, {"was finalized", "rondoCommDestroy"});
      EXPECT_STREQ(rondoGetLastError(me.comm), rondoGetLastError(nullptr));
    });
    int rank = -1;
    EXPECT_EQ(rondoCommUserRank(me.comm, &rank), rondoSuccess);
    EXPECT_EQ(rank, me.rank);
    EXPECT_EQ(rondoCommFinalize(me.comm), rondoSuccess);
    EXPECT_EQ(rondoCommDestroy(me.comm), rondoSuccess);
    refusedEverywhere(me.comm, rondoInvalidUsage, "a destroyed communicator");
  });
}

TEST(ApiHandles, TheSentenceOfALiveOneIsItsOwn) {
  World(1).run([](const Rank& me) {
    EXPECT_STREQ(rondoGetLastError(me.comm), "");
    EXPECT_EQ(rondoBarrier(me.comm, reinterpret_cast<rondoStream_t>(8)), rondoInvalidArgument);
    std::string first = rondoGetLastError(me.comm);
    EXPECT_NE(rondoMemFree(&first), rondoSuccess);
    EXPECT_EQ(rondoGetLastError(me.comm), first);
    EXPECT_NE(rondoGetLastError(nullptr), first);
    EXPECT_EQ(rondoBarrier(me.comm, nullptr), rondoSuccess);
    EXPECT_EQ(rondoGetLastError(me.comm), first) << "success does not clear it";
  });
}

TEST(WorldHandles, TwoThreadsAtOnce) {
  std::atomic<bool> busy{false}, seen{false};
  World(2).run([&](const Rank& me) {
    if (me.rank == 1) {  // keeps rank 0 waiting until rank 0's second thread has had its answers
      while (!seen) std::this_thread::yield();
      EXPECT_EQ(rondoBarrier(me.comm, nullptr), rondoSuccess);
      return;
    }
    std::thread second([&, comm = me.comm] {
      while (!busy) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      eachCall(comm, [](const std::string& call, rondoResult_t result) {
        expectRefused(result, rondoInvalidUsage, call,
                      {"in use by another thread", "allowed: one thread at a time"});
      });
      expectRefused(rondoCommDestroy(comm), rondoInvalidUsage, "rondoCommDestroy",
                    {"in use by another thread", "rondoCommAbort"});
      expectRefused(rondoCommFinalize(comm), rondoInvalidUsage, "rondoCommFinalize",
                    {"in use by another thread"});
      int count = 0;
      EXPECT_EQ(rondoCommCount(comm, &count), rondoSuccess);
      EXPECT_EQ(count, 2);
      seen = true;
    });
    busy = true;
    EXPECT_EQ(rondoBarrier(me.comm, nullptr), rondoSuccess) << rondoGetLastError(me.comm);
    second.join();
  });
}

/// The end of a call and an abort each write one word and read the other's: the handle is freed by
/// one of them, whatever they see first.
TEST(WorldHandles, AnAbortMeetsTheEndsOfCalls) {
  for (int round = 0; round < 300; ++round) {
    World(1).open([round](const Rank& me) {
      std::atomic<int> calls{0};
      std::thread caller([&, comm = me.comm] {
        while (rondoBarrier(comm, nullptr) == rondoSuccess) calls.fetch_add(1);
      });
      while (calls < round % 7) std::this_thread::yield();
      EXPECT_EQ(rondoCommAbort(me.comm), rondoSuccess);
      caller.join();
      expectRefused(rondoBarrier(me.comm, nullptr), rondoInvalidUsage, "rondoBarrier",
                    {"a destroyed communicator"});
    });
  }
}

}  // namespace
}  // namespace rondo::testing
