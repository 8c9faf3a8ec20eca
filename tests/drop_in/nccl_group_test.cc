// Groups of one thread that drives all ranks. On host memory, which this library takes beside
// NCCL's device memory, so that the rules are tested without GPUs.

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "drop_in/nccl_world.h"

namespace nccl_test {
namespace {

constexpr int kRanks = 3;

/// Per rank, a buffer of `count` ints that begins as 100 * rank, 100 * rank + 1 ...
std::vector<std::vector<int>> buffers(size_t count) {
  std::vector<std::vector<int>> all(kRanks, std::vector<int>(count));
  for (int r = 0; r < kRanks; ++r) {
    std::iota(all[static_cast<size_t>(r)].begin(), all[static_cast<size_t>(r)].end(), 100 * r);
  }
  return all;
}

class NcclGroup : public ::testing::Test {
 protected:
  World world{kRanks};
  std::vector<std::vector<int>> in = buffers(2 * kRanks);
  std::vector<std::vector<int>> out = buffers(2 * kRanks);

  /// call(rank) on all ranks in one group.
  template <class Call>
  void group(const Call& call) {
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (int r = 0; r < kRanks; ++r) EXPECT_EQ(call(r), ncclSuccess) << ncclGetLastError(nullptr);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  }
  int* src(int r) { return in[static_cast<size_t>(r)].data(); }
  int* dst(int r) { return out[static_cast<size_t>(r)].data(); }
};

// Rank 0 waits in a group of a send and a receive: once rank 1 has what it sends, it is in there
// until rank 1 sends.
TEST_F(NcclGroup, ACommunicatorInUseByAnotherThreadIsNotDestroyed) {
  std::thread other([&] {
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclSend(src(0), 1, kInt32, 1, world[0], nullptr), ncclSuccess);
    EXPECT_EQ(ncclRecv(dst(0), 1, kInt32, 1, world[0], nullptr), ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  });
  EXPECT_EQ(ncclRecv(dst(1), 1, kInt32, 0, world[1], nullptr), ncclSuccess);
  EXPECT_EQ(dst(1)[0], 0);
  expectRefused(ncclCommDestroy(world[0]), ncclInvalidUsage, {"in use by another thread"});
  EXPECT_EQ(ncclSend(src(1), 1, kInt32, 0, world[1], nullptr), ncclSuccess);
  other.join();
  EXPECT_EQ(dst(0)[0], 100);
  // It is as it was, and is destroyed with the world.
  EXPECT_TRUE(world.works());
}

// What refuses it is seen by a thread of the library, not by the call.
TEST(NcclBackground, AFinalizeThatFailsSaysSoWhenAsked) {
  ncclConfig_t config = plainConfig();
  config.blocking = 0;
  World world(2, &config);
  ncclResult_t state = ncclInternalError;
  const auto settles = [&](ncclComm_t comm) {
    for (state = ncclInProgress; state == ncclInProgress; std::this_thread::yield()) {
      if (ncclCommGetAsyncError(comm, &state) != ncclSuccess) return false;
    }
    return true;
  };
  for (int r = 0; r < 2; ++r) ASSERT_TRUE(settles(world[r]));
  int sent = 7, came = 0, back = 0;
  std::thread other([&] {
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(ncclSend(&sent, 1, kInt32, 1, world[0], nullptr), ncclSuccess);
    EXPECT_EQ(ncclRecv(&back, 1, kInt32, 1, world[0], nullptr), ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  });
  EXPECT_EQ(ncclRecv(&came, 1, kInt32, 0, world[1], nullptr), ncclSuccess);
  EXPECT_EQ(ncclCommFinalize(world[0]), ncclInProgress);
  EXPECT_TRUE(settles(world[0]));
  EXPECT_EQ(state, ncclInvalidUsage);
  EXPECT_NE(std::string(ncclGetLastError(world[0])).find("in use by another thread"),
            std::string::npos);
  EXPECT_EQ(ncclSend(&came, 1, kInt32, 0, world[1], nullptr), ncclSuccess);
  other.join();
  EXPECT_EQ(back, 7);
  // It is as it was, and the next one is what is told of.
  for (int r = 0; r < 2; ++r) {
    EXPECT_EQ(ncclCommFinalize(world[r]), ncclInProgress);
    EXPECT_TRUE(settles(world[r]));
    EXPECT_EQ(state, ncclSuccess);
  }
}

TEST_F(NcclGroup, EveryCollectiveGivesItsResult) {
  group([&](int r) { return ncclAllReduce(src(r), dst(r), 2, kInt32, kMax, world[r], nullptr); });
  for (int r = 0; r < kRanks; ++r) EXPECT_EQ(dst(r)[1], 201);

  group([&](int r) {
    return ncclReduce(src(r), r == 1 ? dst(r) : nullptr, 2, kInt32, kSum, 1, world[r], nullptr);
  });
  EXPECT_EQ(dst(1)[0], 300);
  EXPECT_EQ(dst(1)[1], 303);

  group([&](int r) {
    return ncclBroadcast(r == 2 ? src(r) : nullptr, dst(r), 2, kInt32, 2, world[r], nullptr);
  });
  for (int r = 0; r < kRanks; ++r) EXPECT_EQ(dst(r)[1], 201);
  out = buffers(2 * kRanks);
  group([&](int r) { return ncclBcast(dst(r), 2, kInt32, 1, world[r], nullptr); });
  for (int r = 0; r < kRanks; ++r) EXPECT_EQ(dst(r)[1], 101);

  group([&](int r) { return ncclAllGather(src(r), dst(r), 2, kInt32, world[r], nullptr); });
  for (int r = 0; r < kRanks; ++r) {
    for (int s = 0; s < kRanks; ++s) EXPECT_EQ(dst(r)[2 * s + 1], 100 * s + 1);
  }
  group(
      [&](int r) { return ncclReduceScatter(src(r), dst(r), 2, kInt32, kSum, world[r], nullptr); });
  for (int r = 0; r < kRanks; ++r) EXPECT_EQ(dst(r)[1], 300 + 3 * (2 * r + 1));

  group([&](int r) { return ncclAlltoAll(src(r), dst(r), 2, kInt32, world[r], nullptr); });
  for (int r = 0; r < kRanks; ++r) {
    for (int s = 0; s < kRanks; ++s) EXPECT_EQ(dst(r)[2 * s], 100 * s + 2 * r);
  }
  group([&](int r) { return ncclGather(src(r), dst(r), 2, kInt32, 0, world[r], nullptr); });
  for (int s = 0; s < kRanks; ++s) EXPECT_EQ(dst(0)[2 * s + 1], 100 * s + 1);
  group([&](int r) { return ncclScatter(src(r), dst(r), 2, kInt32, 2, world[r], nullptr); });
  for (int r = 0; r < kRanks; ++r) EXPECT_EQ(dst(r)[1], 200 + 2 * r + 1);
}

// Receives before sends, towards both neighbours, and to itself.
TEST_F(NcclGroup, SendsAndReceivesStandInAnyOrder) {
  group([&](int r) {
    const int next = (r + 1) % kRanks, before = (r + kRanks - 1) % kRanks;
    EXPECT_EQ(ncclRecv(dst(r), 2, kInt32, before, world[r], nullptr), ncclSuccess);
    EXPECT_EQ(ncclRecv(dst(r) + 2, 1, kInt32, r, world[r], nullptr), ncclSuccess);
    EXPECT_EQ(ncclSend(src(r) + 4, 1, kInt32, r, world[r], nullptr), ncclSuccess);
    return ncclSend(src(r), 2, kInt32, next, world[r], nullptr);
  });
  for (int r = 0; r < kRanks; ++r) {
    const int before = (r + kRanks - 1) % kRanks;
    EXPECT_EQ(dst(r)[1], 100 * before + 1);
    EXPECT_EQ(dst(r)[2], 100 * r + 4);
  }
}

// Each rank's calls on two communicators come in another order, and one group holds them all.
TEST_F(NcclGroup, SeveralCommunicatorsInterleaved) {
  World other(kRanks);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int r = 0; r < kRanks; ++r) {
    for (int turn = 0; turn < 2; ++turn) {
      const bool first = (r + turn) % 2 == 0;
      int* const at = dst(r) + (first ? 0 : 1);
      *at = r + 1;
      EXPECT_EQ(ncclAllReduce(at, at, 1, kInt32, first ? kSum : kProd, first ? world[r] : other[r],
                              nullptr),
                ncclSuccess);
    }
  }
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess) << ncclGetLastError(nullptr);
  for (int r = 0; r < kRanks; ++r) {
    EXPECT_EQ(dst(r)[0], 6);
    EXPECT_EQ(dst(r)[1], 6);
  }
}

TEST_F(NcclGroup, NestsAndOnlyTheOutermostEndRuns) {
  ncclGroupStart();
  for (int r = 0; r < kRanks; ++r) {
    ncclGroupStart();
    EXPECT_EQ(ncclAllReduce(src(r), dst(r), 1, kInt32, kSum, world[r], nullptr), ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
    EXPECT_EQ(dst(r)[0], 100 * r) << "ran before the end";
  }
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  for (int r = 0; r < kRanks; ++r) EXPECT_EQ(dst(r)[0], 300);
}

TEST_F(NcclGroup, AWrongCallFailsTheGroupAndNothingOfItRuns) {
  ncclGroupStart();
  for (int r = 0; r < kRanks; ++r) {
    EXPECT_EQ(ncclAllReduce(src(r), dst(r), 1, kInt32, kSum, world[r], nullptr), ncclSuccess);
  }
  EXPECT_EQ(ncclAllReduce(src(0), dst(0), 1, kInt32, kSum, nullptr, nullptr), ncclInvalidArgument);
  expectRefused(ncclGroupEnd(), ncclInvalidArgument, {"ncclGroupEnd", "comm is NULL"});
  for (int r = 0; r < kRanks; ++r) EXPECT_EQ(dst(r)[0], 100 * r);

  ncclGroupStart();  // found by Rondo, which says so at the end
  ncclAllReduce(nullptr, dst(0), 1, kInt32, kSum, world[0], nullptr);
  expectRefused(ncclGroupEnd(), ncclInvalidArgument, {"sendbuff is NULL"});
  EXPECT_TRUE(world.works());
}

TEST_F(NcclGroup, InitThatFailsInAGroupLeavesNull) {
  ncclUniqueId id{};
  ncclComm_t comms[2] = {};
  ncclGroupStart();
  EXPECT_EQ(ncclCommInitRank(&comms[0], 2, id, 0), ncclSuccess);
  EXPECT_EQ(ncclCommInitRank(&comms[1], 2, id, 2), ncclInvalidArgument);
  expectRefused(ncclGroupEnd(), ncclInvalidArgument, {"ncclCommInitRank", "rank is 2", "0 to 1"});
  EXPECT_EQ(comms[0], nullptr);
  EXPECT_EQ(comms[1], nullptr);
}

TEST_F(NcclGroup, EndsWithoutStartAreRefused) {
  expectRefused(ncclGroupEnd(), ncclInvalidUsage, {"no open group"});
  ncclSimInfo_t info{sizeof(ncclSimInfo_t), 0x74685283, 22809, -1.0f};
  expectRefused(ncclGroupSimulateEnd(&info), ncclInvalidUsage, {"no open group"});
}

ncclSimInfo_t simInfo() { return {sizeof(ncclSimInfo_t), 0x74685283, 22809, -1.0f}; }

TEST_F(NcclGroup, SimulateEndEstimatesAndRunsNothing) {
  const auto estimate = [&](int ranks, size_t calls) {
    ncclSimInfo_t info = simInfo();
    ncclGroupStart();
    for (int r = 0; r < ranks; ++r) {
      for (size_t i = 0; i < calls; ++i) {
        ncclAllReduce(src(r) + i, dst(r) + i, 1, kInt32, i == 0 ? kSum : kMax, world[r], nullptr);
      }
    }
    EXPECT_EQ(ncclGroupSimulateEnd(&info), ncclSuccess) << ncclGetLastError(nullptr);
    return info.estimatedTime;
  };
  EXPECT_EQ(estimate(0, 0), 0.0f);
  const float one = estimate(1, 1);
  EXPECT_GT(one, 0.01f) << "microseconds";
  EXPECT_LT(one, 1000.0f);
  EXPECT_EQ(estimate(kRanks, 1), one) << "ranks call at the same time";
  EXPECT_GE(estimate(1, 2), one);
  EXPECT_EQ(out, buffers(2 * kRanks)) << "something ran";
  EXPECT_TRUE(world.works());
}

TEST_F(NcclGroup, SimulateEndAddsUpCommunicators) {
  World other(kRanks);
  const auto estimate = [&](bool first, bool second) {
    ncclSimInfo_t info = simInfo();
    ncclGroupStart();
    if (first) ncclAllReduce(src(0), dst(0), 2, kInt32, kSum, world[0], nullptr);
    if (second) ncclAllReduce(src(0), dst(0), 2, kInt32, kSum, other[0], nullptr);
    EXPECT_EQ(ncclGroupSimulateEnd(&info), ncclSuccess) << ncclGetLastError(nullptr);
    return info.estimatedTime;
  };
  EXPECT_FLOAT_EQ(estimate(true, true), estimate(true, false) + estimate(false, true));
  EXPECT_TRUE(other.works());
}

TEST_F(NcclGroup, SimulateEndRefusesAndDropsTheGroup) {
  ncclSimInfo_t wrong[3] = {simInfo(), simInfo(), simInfo()};
  wrong[0].magic = 1;
  wrong[1].size -= 8;
  for (ncclSimInfo_t* info : {&wrong[0], &wrong[1], static_cast<ncclSimInfo_t*>(nullptr)}) {
    ncclGroupStart();
    ncclAllReduce(src(0), dst(0), 1, kInt32, kSum, world[0], nullptr);
    expectRefused(ncclGroupSimulateEnd(info), ncclInvalidArgument, {"NCCL_SIM_INFO_INITIALIZER"});
  }
  EXPECT_EQ(wrong[0].estimatedTime, -1.0f);

  ncclSimInfo_t info = simInfo();
  ncclGroupStart();
  ncclAllReduce(nullptr, dst(0), 1, kInt32, kSum, world[0], nullptr);
  expectRefused(ncclGroupSimulateEnd(&info), ncclInvalidArgument, {"sendbuff is NULL"});
  ncclGroupStart();
  ncclAllReduce(src(0), dst(0), 1, kInt32, kSum, nullptr, nullptr);
  expectRefused(ncclGroupSimulateEnd(&info), ncclInvalidArgument, {"comm is NULL"});
  ncclGroupStart();
  ncclSend(src(0), 1, kInt32, 1, world[0], nullptr);
  expectRefused(ncclGroupSimulateEnd(&info), ncclInvalidUsage,
                {"ncclGroupSimulateEnd", "nothing predicts sends and receives on host memory"});
  ncclUniqueId id{};
  ncclComm_t comm = nullptr;
  ncclGroupStart();
  EXPECT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclSuccess);
  expectRefused(ncclGroupSimulateEnd(&info), ncclInvalidUsage, {"makes or ends communicators"});
  EXPECT_EQ(comm, nullptr);
  EXPECT_EQ(info.estimatedTime, -1.0f);
  EXPECT_TRUE(world.works());
}

// What was to be estimated is not run by the outer end.
TEST_F(NcclGroup, SimulateEndInsideAnotherGroupIsRefused) {
  ncclSimInfo_t info = simInfo();
  ncclGroupStart();
  ncclGroupStart();
  for (int r = 0; r < kRanks; ++r) {
    ncclAllReduce(src(r), dst(r), 1, kInt32, kSum, world[r], nullptr);
  }
  expectRefused(ncclGroupSimulateEnd(&info), ncclInvalidUsage, {"inside another one"});
  expectRefused(ncclGroupEnd(), ncclInvalidUsage, {"ncclGroupEnd", "inside another one"});
  EXPECT_EQ(info.estimatedTime, -1.0f);
  EXPECT_EQ(out, buffers(2 * kRanks)) << "something ran";
  EXPECT_TRUE(world.works());
}

TEST_F(NcclGroup, PremultipliedSumsAndAverages) {
  std::vector<double> data{1.0, 2.0, 4.0};
  std::vector<ncclRedOp_t> ops(kRanks);
  for (int r = 0; r < kRanks; ++r) {
    double scalar = r + 0.5;  // read before the call returns
    ASSERT_EQ(ncclRedOpCreatePreMulSum(&ops[static_cast<size_t>(r)], &scalar, kFloat64, kScalarHost,
                                       world[r]),
              ncclSuccess);
  }
  group([&](int r) {
    double* const at = &data[static_cast<size_t>(r)];
    return ncclAllReduce(at, at, 1, kFloat64, ops[static_cast<size_t>(r)], world[r], nullptr);
  });
  EXPECT_EQ(data, std::vector<double>(kRanks, 0.5 + 3.0 + 10.0));
  for (int r = 0; r < kRanks; ++r) {
    EXPECT_EQ(ncclRedOpDestroy(ops[static_cast<size_t>(r)], world[r]), ncclSuccess);
    expectRefused(ncclRedOpDestroy(kSum, world[r]), ncclInvalidArgument, {"op is 0"});
  }
  group([&](int r) {
    data[static_cast<size_t>(r)] = r * 3.0;
    double* const at = &data[static_cast<size_t>(r)];
    return ncclAllReduce(at, at, 1, kFloat64, kAvg, world[r], nullptr);
  });
  EXPECT_EQ(data, std::vector<double>(kRanks, 3.0));
}

}  // namespace
}  // namespace nccl_test
