// config.blocking 0: communicators that are made in the background, and those that never are.

#include <gtest/gtest.h>

#include <chrono>

#include "support/refusal.h"
#include "support/world.h"
#include "unit/boot_ranks.h"

namespace rondo::testing {
namespace {

using test::runningThreads;
using test::settledDescriptors;
using test::soon;

rondoConfig_t inBackground() {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.blocking = 0;
  return config;
}

rondoUniqueId newId() {
  rondoUniqueId id{};
  EXPECT_EQ(rondoGetUniqueId(&id), rondoSuccess) << rondoGetLastError(nullptr);
  return id;
}

rondoResult_t stateOf(rondoComm_t comm) {
  rondoResult_t state = rondoInternalError;
  EXPECT_EQ(rondoCommGetAsyncError(comm, &state), rondoSuccess) << rondoGetLastError(nullptr);
  return state;
}

rondoResult_t awaitEnd(rondoComm_t comm) {
  rondoResult_t state = rondoInProgress;
  test::soon([&] { return (state = stateOf(comm)) != rondoInProgress; });
  return state;
}

int64_t msOf(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               start)
      .count();
}

TEST(InitBackground, OneThreadIsEveryRank) {
  const rondoUniqueId id = newId();
  const rondoConfig_t config = inBackground();
  rondoComm_t comms[3] = {};
  for (int rank = 0; rank < 3; ++rank) {
    ASSERT_EQ(rondoCommInitRankConfig(&comms[rank], 3, id, rank, &config), rondoInProgress)
        << rondoGetLastError(nullptr);
    if (rank < 2) {
      EXPECT_EQ(stateOf(comms[0]), rondoInProgress);
    }
  }
  for (rondoComm_t comm : comms) {
    ASSERT_EQ(awaitEnd(comm), rondoSuccess) << rondoGetLastError(comm);
  }
  onRanks(3, [&](int rank) {
    int sum = 0;
    EXPECT_EQ(rondoAllReduce(&rank, &sum, 1, rondoInt32, rondoSum, comms[rank], nullptr),
              rondoSuccess);
    EXPECT_EQ(sum, 3);
    rondoComm_t twin = nullptr;
    EXPECT_EQ(rondoCommDup(comms[rank], &twin, nullptr), rondoSuccess) << "children are blocking";
    EXPECT_EQ(rondoCommDestroy(twin), rondoSuccess);
    EXPECT_EQ(rondoCommDestroy(comms[rank]), rondoSuccess);
  });
}

TEST(InitBackground, CallsMeanwhileAreRefused) {
  const rondoConfig_t config = inBackground();
  rondoComm_t comm = nullptr;
  ASSERT_EQ(rondoCommInitRankConfig(&comm, 2, newId(), 0, &config), rondoInProgress);
  const auto refused = [&](rondoResult_t result, const char* call) {
    expectRefused(result, rondoInvalidUsage, call,
                  {"is still being made", "allowed: rondoCommGetAsyncError", "rondoCommAbort"});
  };
  int answer = 0;
  rondoComm_t child = nullptr;
  rondoRedOp_t op = 0;
  rondoUniqueId id;
  refused(rondoBarrier(comm, nullptr), "rondoBarrier");
  refused(rondoAllReduce(&answer, &answer, 1, rondoInt32, rondoSum, comm, nullptr),
          "rondoAllReduce");
  refused(rondoSend(&answer, 1, rondoInt32, 1, comm, nullptr), "rondoSend");
  refused(rondoCommCount(comm, &answer), "rondoCommCount");
  refused(rondoCommUserRank(comm, &answer), "rondoCommUserRank");
  refused(rondoCommCuDevice(comm, &answer), "rondoCommCuDevice");
  refused(rondoCommFinalize(comm), "rondoCommFinalize");
  refused(rondoCommRevoke(comm), "rondoCommRevoke");
  refused(rondoCommDestroy(comm), "rondoCommDestroy");
  refused(rondoCommDup(comm, &child, nullptr), "rondoCommDup");
  refused(rondoCommShrink(comm, nullptr, 0, &child, nullptr, 0), "rondoCommShrink");
  refused(rondoCommGrow(comm, 3, nullptr, -1, &child, nullptr), "rondoCommGrow");
  refused(rondoCommGetUniqueId(comm, &id), "rondoCommGetUniqueId");
  refused(rondoRedOpCreatePreMulSum(&op, &answer, rondoInt32, rondoScalarHostImmediate, comm),
          "rondoRedOpCreatePreMulSum");
  EXPECT_EQ(rondoCommAbort(comm), rondoSuccess);
  expectRefused(rondoBarrier(comm, nullptr), rondoInvalidUsage, "rondoBarrier", {"destroyed"});
}

TEST(InitBackground, AbortEndsOneWhosePeersNeverComeAndLeavesNothing) {
  const rondoConfig_t config = inBackground();
  rondoUniqueId ids[3];
  for (rondoUniqueId& id : ids) id = newId();  // the service that answers for them runs on
  const int threads = runningThreads(), descriptors = settledDescriptors();
  for (int i = 0; i < 3; ++i) {
    rondoComm_t comm = nullptr;
    ASSERT_EQ(rondoCommInitRankConfig(&comm, 8, ids[i], i, &config), rondoInProgress);
    usleep(i == 2 ? 0 : 30000);
    EXPECT_EQ(stateOf(comm), rondoInProgress);
    EXPECT_LT(msOf([&] { EXPECT_EQ(rondoCommAbort(comm), rondoSuccess); }), 1000);
  }
  // A thread that was joined may still be listed.
  EXPECT_TRUE(soon([&] { return runningThreads() <= threads; }));
  EXPECT_LE(settledDescriptors(), descriptors);
}

TEST(InitBackground, TheOthersLearnOfAnAbort) {
  const rondoConfig_t config = inBackground();
  const rondoUniqueId id = newId();
  rondoComm_t comms[2] = {};
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_EQ(rondoCommInitRankConfig(&comms[rank], 3, id, rank, &config), rondoInProgress);
  }
  usleep(20000);
  EXPECT_EQ(rondoCommAbort(comms[0]), rondoSuccess);
  EXPECT_EQ(awaitEnd(comms[1]), rondoRemoteError);
  const std::string sentence = rondoGetLastError(comms[1]);
  EXPECT_NE(sentence.find("rank 0 of 3 called rondoCommAbort"), std::string::npos) << sentence;
  expectRefused(rondoBarrier(comms[1], nullptr), rondoRemoteError, "rondoBarrier",
                {"could not be made", "rank 0", "allowed: rondoCommDestroy"});
  EXPECT_EQ(rondoCommDestroy(comms[1]), rondoSuccess);
  // The late one is told, too.
  rondoComm_t late = nullptr;
  ASSERT_EQ(rondoCommInitRankConfig(&late, 3, id, 2, &config), rondoInProgress);
  EXPECT_EQ(awaitEnd(late), rondoRemoteError);
  EXPECT_EQ(rondoCommAbort(late), rondoSuccess) << "abort frees it as well";
}

TEST(InitBackground, FailuresComeByAsyncError) {
  rondoConfig_t config = inBackground();
  {
    const Env env("RONDO_BOOT_TIMEOUT_MS", "200");
    rondoComm_t comm = nullptr;
    ASSERT_EQ(rondoCommInitRankConfig(&comm, 2, newId(), 0, &config), rondoInProgress);
    EXPECT_EQ(awaitEnd(comm), rondoSystemError);
    EXPECT_NE(std::string(rondoGetLastError(comm)).find("rank 1 of 2 did not join within 200 ms"),
              std::string::npos)
        << rondoGetLastError(comm);
    EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
  }
  config.reproducible = 7;
  rondoComm_t comm = nullptr;
  ASSERT_EQ(rondoCommInitRankConfig(&comm, 1, newId(), 0, &config), rondoInProgress);
  EXPECT_EQ(awaitEnd(comm), rondoInvalidArgument);
  EXPECT_NE(std::string(rondoGetLastError(comm)).find("config.reproducible is 7"),
            std::string::npos);
  EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
}

TEST(InitBackground, WrongArgumentsAreRefusedAtOnce) {
  rondoConfig_t config = inBackground();
  const rondoUniqueId id = newId();
  rondoComm_t comm = nullptr;
  const char* const call = "rondoCommInitRankConfig";
  expectRefused(rondoCommInitRankConfig(&comm, 2, id, 2, &config), rondoInvalidArgument, call,
                {"argument rank is 2"});
  expectRefused(rondoCommInitRankConfig(nullptr, 1, id, 0, &config), rondoInvalidArgument, call,
                {"argument comm is NULL"});
  config.blocking = 2;
  expectRefused(rondoCommInitRankConfig(&comm, 1, newId(), 0, &config), rondoInvalidArgument, call,
                {"config.blocking is 2", "allowed: 0 or 1"});
  EXPECT_EQ(comm, nullptr);
}

TEST(InitBackground, ChildrenThatWouldHaveToWaitAreRefused) {
  World(2).run([](const Rank& me) {
    const rondoConfig_t config = inBackground();
    rondoComm_t child = nullptr;
    expectRefused(rondoCommDup(me.comm, &child, &config), rondoUnsupported, "rondoCommDup",
                  {"config.blocking is 0", "allowed here: 1"});
    expectRefused(rondoCommShrink(me.comm, nullptr, 0, &child, &config, 0), rondoUnsupported,
                  "rondoCommShrink", {"config.blocking is 0"});
    EXPECT_EQ(child, nullptr);
  });
}

TEST(InitBackground, AnAbortAtAnyMomentEndsBoth) {
  // One that is aborted before it has reached anybody never came.
  const Env env("RONDO_BOOT_TIMEOUT_MS", "200");
  const rondoConfig_t config = inBackground();
  for (int delay = 0; delay < 3000; delay += 150) {
    const rondoUniqueId id = newId();
    rondoComm_t comms[2] = {};
    for (int rank = 0; rank < 2; ++rank) {
      ASSERT_EQ(rondoCommInitRankConfig(&comms[rank], 2, id, rank, &config), rondoInProgress);
    }
    usleep(static_cast<useconds_t>(delay));
    EXPECT_EQ(rondoCommAbort(comms[0]), rondoSuccess);
    const rondoResult_t state = awaitEnd(comms[1]);
    EXPECT_TRUE(state == rondoSuccess || state == rondoRemoteError || state == rondoSystemError)
        << state << ": " << rondoGetLastError(comms[1]);
    EXPECT_EQ(rondoCommAbort(comms[1]), rondoSuccess);
  }
}

}  // namespace
}  // namespace rondo::testing
