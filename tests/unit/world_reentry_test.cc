// Calls made while the same thread waits in another one: a wait polls MPI, whose progress may come
// back to Rondo, as it does below librondo_mpi.so.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/world.h"

namespace rondo::testing {
namespace {

#define RONDO_OK(call) ASSERT_EQ(call, rondoSuccess) << rondoGetLastError(nullptr)

/// A sum of 1 on each rank.
struct Sum {
  int32_t in = 1, out = 0;
  rondoResult_t on(rondoComm_t comm) {
    return rondoAllReduce(&in, &out, 1, rondoInt32, rondoSum, comm, nullptr);
  }
  rondoResult_t begin(rondoComm_t comm, rondoRequest_t* request) {
    rondoGroupStart();
    on(comm);
    return rondoGroupEndAsync(request);
  }
};

/// What this thread's next wait begins, once.
thread_local std::function<void()>* next = nullptr;
void beginNext() {
  if (std::function<void()>* const begin = std::exchange(next, nullptr)) (*begin)();
}

/// More than any of these waits on a slow day. What hangs for so long is a failure, and ends.
constexpr const char* kLongestMs = "60000";

/// False if rank 0's call has not waited, or its wait has begun nothing.
bool awaitBegun(const std::atomic<bool>& begun) {
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(std::atoi(kLongestMs));
  while (!begun) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

/// `call` of all ranks, in whose wait rank 0 begins a sum on `other`: the others come to both
/// afterwards.
void whileRankZeroWaits(const Rank& me, rondoComm_t other, std::atomic<bool>* begun,
                        const std::function<void()>& call) {
  Sum beside;
  rondoRequest_t request = nullptr;
  rondoResult_t result = rondoInternalError;
  std::function<void()> begin = [&] {
    result = beside.begin(other, &request);
    *begun = true;
  };
  if (me.rank == 0) next = &begin;
  if (me.rank != 0) {
    ASSERT_TRUE(awaitBegun(*begun)) << "rank 0's wait has begun nothing";
  }
  call();
  next = nullptr;  // `begin` ends here
  if (me.rank != 0) begin();
  ASSERT_EQ(result, rondoSuccess) << rondoGetLastError(nullptr);
  RONDO_OK(rondoWait(&request));
  EXPECT_EQ(beside.out, me.size);
}

class WorldReentry : public ::testing::TestWithParam<int> {
 protected:
  /// Runs `call` on a communicator of each rank as above.
  void run(const std::function<void(const Rank&)>& call) {
    const Env limit("RONDO_TIMEOUT_MS", kLongestMs);
    std::atomic<bool> begun{false};
    World(GetParam()).whileWaiting(beginNext).run([&](const Rank& me) {
      rondoComm_t other = nullptr;
      RONDO_OK(rondoCommDup(me.comm, &other, nullptr));
      whileRankZeroWaits(me, other, &begun, [&] { call(me); });
      Sum after;
      RONDO_OK(after.on(me.comm));
      EXPECT_EQ(after.out, me.size);
      RONDO_OK(rondoCommDestroy(other));
    });
  }
};

TEST_P(WorldReentry, AGroupBeginsWhileACallWaits) {
  run([](const Rank& me) {
    Sum sum;
    RONDO_OK(sum.on(me.comm));
    EXPECT_EQ(sum.out, me.size);
  });
}

TEST_P(WorldReentry, AGroupBeginsWhileACallWaitsBehindARequest) {
  run([](const Rank& me) {
    Sum first, second;
    rondoRequest_t request = nullptr;
    RONDO_OK(first.begin(me.comm, &request));
    RONDO_OK(second.on(me.comm));
    RONDO_OK(rondoWait(&request));
    EXPECT_EQ(first.out, me.size);
    EXPECT_EQ(second.out, me.size);
  });
}

TEST_P(WorldReentry, AGroupBeginsWhileATransferWaitsBehindARequest) {
  run([](const Rank& me) {
    Sum first;
    rondoRequest_t request = nullptr;
    int32_t token = me.rank;
    RONDO_OK(first.begin(me.comm, &request));
    const int to = (me.rank + 1) % me.size, from = (me.rank + me.size - 1) % me.size;
    RONDO_OK(rondoSendRecv(&me.rank, 1, to, &token, 1, from, rondoInt32, me.comm, nullptr));
    RONDO_OK(rondoWait(&request));
    EXPECT_EQ(first.out, me.size);
    EXPECT_EQ(token, from);
  });
}

TEST_P(WorldReentry, AGroupBeginsWhileAGroupWaits) {
  run([](const Rank& me) {
    Sum first, second;
    rondoGroupStart();
    first.on(me.comm);
    second.on(me.comm);
    RONDO_OK(rondoGroupEnd());
    EXPECT_EQ(first.out, me.size);
    EXPECT_EQ(second.out, me.size);
  });
}

/// All ranks' blocks of 100 numbers, `back` to front in the result or not.
void gatherBlocks(const Rank& me, rondoComm_t comm, bool back) {
  const auto ranks = static_cast<size_t>(me.size);
  const std::vector<int32_t> in(100, me.rank);
  std::vector<int32_t> out(ranks * 100, -1);
  const std::vector<size_t> counts(ranks, 100);
  std::vector<size_t> displs;
  for (size_t r = 0; r < ranks; ++r) displs.push_back(100 * (back ? ranks - 1 - r : r));
  RONDO_OK(rondoAllGatherV(in.data(), 100, out.data(), counts.data(), displs.data(), rondoInt32,
                           comm, nullptr));
  for (size_t r = 0; r < ranks; ++r) {
    for (size_t i = 0; i < 100; ++i) ASSERT_EQ(out[displs[r] + i], static_cast<int32_t>(r));
  }
}

// Each has displacements of its own, though all have the same lengths.
TEST_P(WorldReentry, AnUnevenCallRunsWhileAnotherWaits) {
  const Env limit("RONDO_TIMEOUT_MS", kLongestMs);
  std::atomic<bool> begun{false};
  World(GetParam()).whileWaiting(beginNext).run([&](const Rank& me) {
    rondoComm_t other = nullptr;
    RONDO_OK(rondoCommDup(me.comm, &other, nullptr));
    std::function<void()> inner = [&] {
      begun = true;
      gatherBlocks(me, other, true);
    };
    if (me.rank == 0) next = &inner;
    if (me.rank != 0) {
      ASSERT_TRUE(awaitBegun(begun)) << "rank 0's wait has begun nothing";
      inner();
    }
    gatherBlocks(me, me.comm, false);
    next = nullptr;  // `inner` ends here
    RONDO_OK(rondoCommDestroy(other));
  });
}

/// What another library does between the calls of a program's group.
TEST_P(WorldReentry, AGroupThatIsSetAsideKeepsWhatItCollected) {
  World(GetParam()).run([](const Rank& me) {
    Sum collected, beside;
    rondoGroupStart();
    rondoGroupStart();
    collected.on(me.comm);
    rondoGroup_t aside = nullptr;
    RONDO_OK(rondoGroupSetAside(&aside));
    ASSERT_NE(aside, nullptr);
    RONDO_OK(beside.on(me.comm));
    EXPECT_EQ(beside.out, me.size);
    EXPECT_EQ(collected.out, 0);
    RONDO_OK(rondoGroupTakeBack(aside));
    RONDO_OK(rondoGroupEnd());
    RONDO_OK(rondoGroupEnd());
    EXPECT_EQ(collected.out, me.size);
    EXPECT_EQ(rondoGroupEnd(), rondoInvalidUsage);
  });
}

TEST(GroupSetAside, KeepsItsFailure) {
  rondoGroupStart();
  int32_t word = 0;
  rondoAllReduce(&word, &word, 1, rondoInt32, rondoSum, nullptr, nullptr);
  rondoGroup_t aside = nullptr;
  RONDO_OK(rondoGroupSetAside(&aside));
  rondoGroupStart();
  RONDO_OK(rondoGroupEnd());
  RONDO_OK(rondoGroupTakeBack(aside));
  EXPECT_EQ(rondoGroupEnd(), rondoInvalidArgument);
}

TEST(GroupSetAside, WhereNoneIsOpen) {
  rondoGroup_t aside = reinterpret_cast<rondoGroup_t>(&aside);
  RONDO_OK(rondoGroupSetAside(&aside));
  EXPECT_EQ(aside, nullptr);
  RONDO_OK(rondoGroupTakeBack(aside));
  EXPECT_EQ(rondoGroupSetAside(nullptr), rondoInvalidArgument);
}

TEST(GroupSetAside, DoesNotComeBackInsideAnotherGroup) {
  rondoGroupStart();
  rondoGroup_t aside = nullptr;
  RONDO_OK(rondoGroupSetAside(&aside));
  rondoGroupStart();
  EXPECT_EQ(rondoGroupTakeBack(aside), rondoInvalidUsage);
  RONDO_OK(rondoGroupEnd());
  RONDO_OK(rondoGroupTakeBack(aside));
  RONDO_OK(rondoGroupEnd());
}

INSTANTIATE_TEST_SUITE_P(World, WorldReentry, ::testing::Values(2, 3));

}  // namespace
}  // namespace rondo::testing
