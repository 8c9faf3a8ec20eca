// How communicators come and go: in groups of one thread, in the background, out of each other.

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>

#include "drop_in/nccl_world.h"

namespace nccl_test {
namespace {

/// Polls as programs do; false if that takes more than ten seconds.
bool settles(ncclComm_t comm, ncclResult_t* state) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  do {
    if (ncclCommGetAsyncError(comm, state) != ncclSuccess) return false;
    if (*state != ncclInProgress) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

TEST(NcclLife, OneThreadMakesAllRanksInAGroup) {
  for (const int n : {1, 2, 4}) {
    World world(n);
    ASSERT_EQ(world.made, ncclSuccess) << ncclGetLastError(nullptr);
    for (int r = 0; r < n; ++r) {
      int rank = -1, count = -1;
      EXPECT_EQ(ncclCommUserRank(world[r], &rank), ncclSuccess);
      EXPECT_EQ(ncclCommCount(world[r], &count), ncclSuccess);
      EXPECT_EQ(rank, r);
      EXPECT_EQ(count, n);
    }
    EXPECT_TRUE(world.works());
  }
}

TEST(NcclLife, InitAllAndThreadsAndSeveralIdsDoTheSame) {
  ncclComm_t all[2] = {};
  ASSERT_EQ(ncclCommInitAll(all, 2, nullptr), ncclSuccess) << ncclGetLastError(nullptr);
  int rank = -1;
  EXPECT_EQ(ncclCommUserRank(all[1], &rank), ncclSuccess);
  EXPECT_EQ(rank, 1);
  for (ncclComm_t comm : all) EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);

  ncclUniqueId ids[2];
  for (ncclUniqueId& id : ids) ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::vector<std::thread> threads;
  for (int r = 0; r < 3; ++r) {
    threads.emplace_back([r, &ids] {
      ncclComm_t comm = nullptr;
      ASSERT_EQ(ncclCommInitRankScalable(&comm, 3, r, 2, ids, nullptr), ncclSuccess);
      int value = r + 1;
      EXPECT_EQ(ncclAllReduce(&value, &value, 1, kInt32, kProd, comm, nullptr), ncclSuccess);
      EXPECT_EQ(value, 6);
      EXPECT_EQ(ncclCommFinalize(comm), ncclSuccess);
      EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// One rank after the other, by one thread: only the last completes the communicator.
TEST(NcclLife, NonBlockingInitReturnsAtOnceAndIsPolled) {
  ncclConfig_t config = plainConfig();
  config.blocking = 0;
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t comms[2] = {};
  ASSERT_EQ(ncclCommInitRankConfig(&comms[0], 2, id, 0, &config), ncclInProgress);
  ASSERT_NE(comms[0], nullptr);
  ncclResult_t state = ncclSuccess;
  EXPECT_EQ(ncclCommGetAsyncError(comms[0], &state), ncclSuccess);
  EXPECT_EQ(state, ncclInProgress);
  int rank = -1;
  expectRefused(ncclCommUserRank(comms[0], &rank), ncclInvalidArgument, {"in progress"});
  ASSERT_EQ(ncclCommInitRankConfig(&comms[1], 2, id, 1, &config), ncclInProgress);
  for (ncclComm_t comm : comms) {
    ASSERT_TRUE(settles(comm, &state));
    EXPECT_EQ(state, ncclSuccess);
  }
  int data[2] = {3, 4};
  ncclGroupStart();
  for (int r = 0; r < 2; ++r) {
    EXPECT_EQ(ncclAllReduce(&data[r], &data[r], 1, kInt32, kSum, comms[r], nullptr), ncclSuccess);
  }
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  EXPECT_EQ(data[0], 7);
  EXPECT_EQ(data[1], 7);
  for (ncclComm_t comm : comms) {
    EXPECT_EQ(ncclCommFinalize(comm), ncclInProgress);
    ASSERT_TRUE(settles(comm, &state));
    EXPECT_EQ(state, ncclSuccess);
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  }
}

TEST(NcclLife, NonBlockingInitInAGroupIsInProgressAtItsEnd) {
  ncclConfig_t config = plainConfig();
  config.blocking = 0;
  World world(3, &config);
  EXPECT_EQ(world.made, ncclInProgress);
  for (int r = 0; r < 3; ++r) {
    ncclResult_t state = ncclInternalError;
    ASSERT_TRUE(settles(world[r], &state));
    EXPECT_EQ(state, ncclSuccess);
  }
  EXPECT_TRUE(world.works());
}

long threads() {
  const std::filesystem::directory_iterator all("/proc/self/task");
  return std::distance(begin(all), end(all));
}

// Its peer never comes: abort does not wait for it.
TEST(NcclLife, AbortEndsAnInitThatIsInProgress) {
  { const World world(2); }  // what the library keeps is there from then on
  ncclConfig_t config = plainConfig();
  config.blocking = 0;
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t comm = nullptr;
  const long before = threads();
  ASSERT_EQ(ncclCommInitRankConfig(&comm, 2, id, 0, &config), ncclInProgress);
  EXPECT_GT(threads(), before);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  ncclResult_t state = ncclSuccess;
  expectRefused(ncclCommGetAsyncError(comm, &state), ncclInvalidArgument, {"destroyed"});
  // Nor does anything of it in the background.
  while (threads() > before && std::chrono::steady_clock::now() - begin < std::chrono::seconds(5)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_LE(threads(), before);
}

// A thread that asks for the last error sees those of others, also later ones.
TEST(NcclLife, WhoNeverFailedSeesTheLastFailureOfTheProcess) {
  std::barrier<> turn(2);
  std::thread asks([&] {
    for (const char* const each : {"ncclCommCount", "ncclCommUserRank"}) {
      turn.arrive_and_wait();
      EXPECT_EQ(std::string(ncclGetLastError(nullptr)).rfind(each, 0), 0u)
          << ncclGetLastError(nullptr);
      turn.arrive_and_wait();
    }
  });
  int value = 0;
  for (const auto call : {ncclCommCount, ncclCommUserRank}) {
    EXPECT_EQ(call(nullptr, &value), ncclInvalidArgument);
    turn.arrive_and_wait();
    turn.arrive_and_wait();
  }
  asks.join();
}

TEST(NcclLife, ANonBlockingInitThatFailsSaysSoWhenAsked) {
  ncclConfig_t config = plainConfig();
  config.blocking = 0;
  ncclUniqueId id{};  // nobody made it
  ncclComm_t comm = nullptr;
  ASSERT_EQ(ncclCommInitRankConfig(&comm, 2, id, 1, &config), ncclInProgress);
  ncclResult_t state = ncclSuccess;
  ASSERT_TRUE(settles(comm, &state));
  EXPECT_NE(state, ncclSuccess);
  EXPECT_STRNE(ncclGetLastError(comm), "");
  int rank = 0;
  expectRefused(ncclCommUserRank(comm, &rank), ncclInvalidUsage, {"could not be made"});
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(NcclLife, OneThreadSplitsInAGroup) {
  World world(4);
  ncclComm_t parts[4] = {};
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int r = 0; r < 4; ++r) {
    const int color = r == 3 ? kNoColor : r % 2;
    EXPECT_EQ(ncclCommSplit(world[r], color, -r, &parts[r], nullptr), ncclSuccess);
  }
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  EXPECT_EQ(parts[3], nullptr);
  const int ranks[3] = {1, 0, 0}, sizes[3] = {2, 1, 2};  // ordered by key: 2 before 0
  for (int r = 0; r < 3; ++r) {
    int rank = -1, count = -1;
    EXPECT_EQ(ncclCommUserRank(parts[r], &rank), ncclSuccess);
    EXPECT_EQ(ncclCommCount(parts[r], &count), ncclSuccess);
    EXPECT_EQ(rank, ranks[r]) << r;
    EXPECT_EQ(count, sizes[r]) << r;
    EXPECT_EQ(ncclCommDestroy(parts[r]), ncclSuccess);
  }
  EXPECT_TRUE(world.works());
}

// The splits of one parent run in the order of their calls, on all ranks.
TEST(NcclLife, SplitsAParentTwiceInOneGroup) {
  for (const int blocking : {1, 0}) {
    ncclConfig_t config = plainConfig();
    config.blocking = blocking;
    World world(2, &config);
    for (int r = 0; r < 2; ++r) {
      ncclResult_t made = ncclInternalError;
      ASSERT_TRUE(settles(world[r], &made));
    }
    ncclComm_t both[2] = {}, alone[2] = {};
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (int r = 0; r < 2; ++r) {
      EXPECT_EQ(ncclCommSplit(world[r], 0, 0, &both[r], &config), ncclSuccess);
      EXPECT_EQ(ncclCommSplit(world[r], r, 0, &alone[r], &config), ncclSuccess);
    }
    EXPECT_EQ(ncclGroupEnd(), blocking ? ncclSuccess : ncclInProgress) << ncclGetLastError(nullptr);
    for (int r = 0; r < 2; ++r) {
      ncclResult_t state = ncclInternalError;
      for (ncclComm_t comm : {both[r], alone[r], world[r]}) {
        ASSERT_TRUE(settles(comm, &state));
        EXPECT_EQ(state, ncclSuccess) << ncclGetLastError(comm);
      }
      int count = 0;
      EXPECT_EQ(ncclCommCount(both[r], &count), ncclSuccess);
      EXPECT_EQ(count, 2);
      EXPECT_EQ(ncclCommCount(alone[r], &count), ncclSuccess);
      EXPECT_EQ(count, 1);
      EXPECT_EQ(ncclCommDestroy(both[r]), ncclSuccess);
      EXPECT_EQ(ncclCommDestroy(alone[r]), ncclSuccess);
    }
    EXPECT_TRUE(world.works());
  }
}

// What one thread ends is not made busy again by another.
TEST(NcclLife, AbortMeetsFinalize) {
  ncclConfig_t config = plainConfig();
  config.blocking = 0;
  for (int round = 0; round < 30; ++round) {
    ncclUniqueId id;
    ncclComm_t comm = nullptr;
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    ASSERT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInProgress);
    ncclResult_t state = ncclInternalError;
    ASSERT_TRUE(settles(comm, &state));
    std::atomic<bool> go{false};
    std::thread other([&] {
      while (!go) std::this_thread::yield();
      EXPECT_EQ(ncclCommAbort(comm), ncclSuccess) << ncclGetLastError(nullptr);
    });
    go = true;
    const ncclResult_t finalized = ncclCommFinalize(comm);
    EXPECT_TRUE(finalized == ncclInProgress || finalized == ncclInvalidArgument) << finalized;
    other.join();
    expectRefused(ncclCommGetAsyncError(comm, &state), ncclInvalidArgument, {"destroyed"});
  }
}

// A watchdog's, beside calls of the thread that the communicator is for; what the thread sanitizer
// sees of it counts.
TEST(NcclLife, AbortMeetsCalls) {
  for (int round = 0; round < 30; ++round) {
    World world(2);
    ASSERT_EQ(world.made, ncclSuccess);
    std::atomic<int> calls{0};
    std::vector<std::thread> threads;
    for (int r = 0; r < 2; ++r) {
      threads.emplace_back([&, r] {
        int value = 1;
        while (ncclAllReduce(&value, &value, 1, kInt32, kMax, world[r], nullptr) == ncclSuccess) {
          ++calls;
        }
      });
    }
    while (calls < 50) std::this_thread::yield();
    EXPECT_EQ(ncclCommAbort(world[round % 2]), ncclSuccess) << ncclGetLastError(nullptr);
    for (std::thread& thread : threads) thread.join();
    world[round % 2] = nullptr;
  }
}

// What the others have done stays right, and they are told nothing that concerns them not: programs
// end by aborts, one rank before the other.
TEST(NcclLife, AnAbortIsOneRanksOwn) {
  World world(2);
  ASSERT_TRUE(world.works());
  EXPECT_EQ(ncclCommAbort(world[1]), ncclSuccess) << ncclGetLastError(nullptr);
  world[1] = nullptr;
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // six looks of the progress thread
  ncclResult_t state = ncclInternalError;
  EXPECT_EQ(ncclCommGetAsyncError(world[0], &state), ncclSuccess);
  EXPECT_EQ(state, ncclSuccess) << ncclGetLastError(world[0]);
  int value = 1;
  expectRefused(ncclAllReduce(&value, &value, 1, kInt32, kMax, world[0], nullptr), ncclRemoteError,
                {"let go of it"});
}

TEST(NcclLife, AbortsOfAGroupAreDoneAtItsEnd) {
  for (const bool fails : {false, true}) {
    World world(2), other(2);
    ASSERT_TRUE(world.works() && other.works());
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclCommAbort(world[0]), ncclSuccess);
    EXPECT_EQ(ncclCommAbort(other[0]), ncclSuccess);
    if (fails) {
      EXPECT_NE(ncclAllReduce(nullptr, nullptr, 1, 99, kSum, world[1], nullptr), ncclSuccess);
    }
    EXPECT_EQ(ncclGroupEnd() == ncclSuccess, !fails) << ncclGetLastError(nullptr);
    for (World* each : {&world, &other}) {
      int value = 1;
      expectRefused(ncclAllReduce(&value, &value, 1, kInt32, kMax, (*each)[1], nullptr),
                    ncclRemoteError, {"let go of it"});
      (*each)[0] = nullptr;
    }
  }
}

// The parent's configuration says whether a split waits, not the child's.
TEST(NcclLife, ASplitWaitsAsItsParentDoes) {
  ncclConfig_t config = plainConfig();
  config.blocking = 0;
  World world(2);
  ncclComm_t parts[2] = {};
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int r = 0; r < 2; ++r) {
    EXPECT_EQ(ncclCommSplit(world[r], 0, 0, &parts[r], &config), ncclSuccess);
  }
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  for (ncclComm_t part : parts) {
    int count = 0;
    EXPECT_EQ(ncclCommCount(part, &count), ncclSuccess);
    EXPECT_EQ(count, 2);
    EXPECT_EQ(ncclCommFinalize(part), ncclInProgress) << "as its own configuration has it";
    ncclResult_t state = ncclInternalError;
    ASSERT_TRUE(settles(part, &state));
    EXPECT_EQ(ncclCommDestroy(part), ncclSuccess);
  }
}

TEST(NcclLife, WhatCouldNotBeMadeIsNull) {
  World world(1);
  ncclConfig_t bad = plainConfig();
  bad.blocking = 7;
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  const auto garbage = reinterpret_cast<ncclComm_t>(uintptr_t{64});
  ncclComm_t made = garbage;
  EXPECT_EQ(ncclCommInitRankConfig(&made, 1, id, 0, &bad), ncclInvalidArgument);
  EXPECT_EQ(made, nullptr);
  made = garbage;
  EXPECT_EQ(ncclCommSplit(world[0], 0, 0, &made, &bad), ncclInvalidArgument);
  EXPECT_EQ(made, nullptr);
  made = garbage;
  EXPECT_EQ(ncclCommShrink(world[0], nullptr, 0, &made, nullptr, 0), ncclInvalidArgument);
  EXPECT_EQ(made, nullptr);
}

TEST(NcclLife, ANonBlockingSplitKeepsItsParentBusy) {
  ncclConfig_t config = plainConfig();
  config.blocking = 0;
  World world(2, &config);
  ncclComm_t parts[2] = {};
  for (int r = 0; r < 2; ++r) {
    ncclResult_t made = ncclInternalError;
    ASSERT_TRUE(settles(world[r], &made));
  }
  EXPECT_EQ(ncclCommSplit(world[0], 0, 0, &parts[0], &config), ncclInProgress);
  ncclResult_t state = ncclSuccess;
  EXPECT_EQ(ncclCommGetAsyncError(world[0], &state), ncclSuccess);
  EXPECT_EQ(state, ncclInProgress);
  EXPECT_EQ(ncclCommSplit(world[1], 0, 0, &parts[1], &config), ncclInProgress);
  for (int r = 0; r < 2; ++r) {
    ASSERT_TRUE(settles(world[r], &state));
    EXPECT_EQ(state, ncclSuccess);
    int count = 0;  // the parent is ready once the child can be used
    EXPECT_EQ(ncclCommCount(parts[r], &count), ncclSuccess) << ncclGetLastError(nullptr);
    EXPECT_EQ(count, 2);
  }
  EXPECT_TRUE(world.works());
  for (ncclComm_t part : parts) EXPECT_EQ(ncclCommDestroy(part), ncclSuccess);
}

// The parent's calls come after the split, which is waited for although it need not be.
TEST(NcclLife, ANonBlockingSplitAndCallsOfItsParentInOneGroup) {
  ncclConfig_t config = plainConfig();
  config.blocking = 0;
  World world(2, &config);
  for (int r = 0; r < 2; ++r) {
    ncclResult_t made = ncclInternalError;
    ASSERT_TRUE(settles(world[r], &made));
  }
  ncclComm_t parts[2] = {};
  int data[2] = {3, 4};
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int r = 0; r < 2; ++r) {
    EXPECT_EQ(ncclCommSplit(world[r], 0, 1 - r, &parts[r], &config), ncclSuccess);
    int* const at = &data[r];
    EXPECT_EQ(ncclAllReduce(at, at, 1, kInt32, kSum, world[r], nullptr), ncclSuccess);
  }
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  for (int r = 0; r < 2; ++r) {
    EXPECT_EQ(data[r], 7);
    int rank = -1;
    EXPECT_EQ(ncclCommUserRank(parts[r], &rank), ncclSuccess) << ncclGetLastError(nullptr);
    EXPECT_EQ(rank, 1 - r);
    EXPECT_EQ(ncclCommDestroy(parts[r]), ncclSuccess);
  }
}

TEST(NcclLife, ShrinkLeavesRanksOut) {
  World world(3);
  int excluded[1] = {1};
  ncclComm_t left[2] = {};
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclCommShrink(world[0], excluded, 1, &left[0], nullptr, 0), ncclSuccess);
  EXPECT_EQ(ncclCommShrink(world[2], excluded, 1, &left[1], nullptr, 0), ncclSuccess);
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  for (int r = 0; r < 2; ++r) {
    int rank = -1, count = -1;
    EXPECT_EQ(ncclCommUserRank(left[r], &rank), ncclSuccess);
    EXPECT_EQ(ncclCommCount(left[r], &count), ncclSuccess);
    EXPECT_EQ(rank, r);
    EXPECT_EQ(count, 2);
    EXPECT_EQ(ncclCommDestroy(left[r]), ncclSuccess);
  }
  expectRefused(ncclCommShrink(world[0], nullptr, 0, &left[0], nullptr, 0), ncclInvalidArgument,
                {"excludeRanksCount is 0"});
}

TEST(NcclLife, RevokeEndsItForAllAndAsyncErrorTells) {
  World world(2);
  expectRefused(ncclCommRevoke(world[0], 3), ncclInvalidArgument, {"revokeFlags is 3"});
  EXPECT_EQ(ncclCommRevoke(world[0], 0), ncclSuccess);
  ncclResult_t state = ncclSuccess;
  EXPECT_EQ(ncclCommGetAsyncError(world[1], &state), ncclSuccess);
  EXPECT_EQ(state, ncclRemoteError);
  EXPECT_STRNE(ncclGetLastError(world[1]), "");
  // As PyTorch's watchdog asks: a thread of its own, of no communicator.
  std::thread([&] {
    EXPECT_EQ(ncclCommGetAsyncError(world[1], &state), ncclSuccess);
    EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("aborted communicator"),
              std::string::npos)
        << ncclGetLastError(nullptr);
  }).join();
  int value = 0;
  expectRefused(ncclAllReduce(&value, &value, 1, kInt32, kSum, world[1], nullptr), ncclRemoteError,
                {"ncclAllReduce"});
}

// As PyTorch's does: had the question the communicator to itself, a call would fail now and then.
TEST(NcclLife, AWatchdogAsksWhileCallsAreMade) {
  World world(1);
  ncclComm_t comm = world[0];
  std::atomic<bool> over{false};
  std::thread watchdog([&] {
    ncclResult_t state = ncclInternalError;
    while (!over.load()) {
      EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
      EXPECT_EQ(state, ncclSuccess);
    }
  });
  int value = 1, refused = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  while (std::chrono::steady_clock::now() < end) {
    refused += ncclAllReduce(&value, &value, 1, kInt32, kSum, comm, nullptr) != ncclSuccess;
  }
  over.store(true);
  watchdog.join();
  EXPECT_EQ(refused, 0) << ncclGetLastError(comm);
}

TEST(NcclLife, WhatIsDestroyedIsRefusedAndNullIsNothing) {
  EXPECT_EQ(ncclCommDestroy(nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommAbort(nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommFinalize(nullptr), ncclSuccess);
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ASSERT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclSuccess);
  ASSERT_EQ(ncclCommFinalize(comm), ncclSuccess);
  int value = 1;
  expectRefused(ncclAllReduce(&value, &value, 1, kInt32, kSum, comm, nullptr), ncclInvalidUsage,
                {"finalized"});
  ASSERT_EQ(ncclCommDestroy(comm), ncclSuccess);
  expectRefused(ncclCommDestroy(comm), ncclInvalidArgument, {"destroyed"});
  expectRefused(ncclCommAbort(comm), ncclInvalidArgument, {"destroyed"});
  expectRefused(ncclAllReduce(&value, &value, 1, kInt32, kSum, comm, nullptr), ncclInvalidArgument,
                {"ncclAllReduce", "destroyed"});
}

}  // namespace
}  // namespace nccl_test
