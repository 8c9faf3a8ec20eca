// A communicator whose ranks are all in one process, and one thread that drives them.

#include <gtest/gtest.h>

#include <vector>

#include "support/refusal.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

std::vector<int> noDevices(int n) {
  return std::vector<int>(static_cast<size_t>(n), RONDO_DEVICE_NONE);
}

struct All {
  explicit All(int n) : comms(static_cast<size_t>(n)) {
    result = rondoCommInitAll(comms.data(), n, noDevices(n).data(), nullptr);
  }
  ~All() {
    for (rondoComm_t comm : comms) {
      if (comm != nullptr) rondoCommDestroy(comm);
    }
  }
  All(const All&) = delete;
  All& operator=(const All&) = delete;
  std::vector<rondoComm_t> comms;
  rondoResult_t result;
};

TEST(InitAll, MakesEveryRankInOrder) {
  for (const int n : {1, 2, 5}) {
    All all(n);
    ASSERT_EQ(all.result, rondoSuccess) << rondoGetLastError(nullptr);
    for (int r = 0; r < n; ++r) {
      int rank = -1, count = -1, device = -1;
      EXPECT_EQ(rondoCommUserRank(all.comms[static_cast<size_t>(r)], &rank), rondoSuccess);
      EXPECT_EQ(rondoCommCount(all.comms[static_cast<size_t>(r)], &count), rondoSuccess);
      EXPECT_EQ(rondoCommCuDevice(all.comms[static_cast<size_t>(r)], &device), rondoSuccess);
      EXPECT_EQ(rank, r);
      EXPECT_EQ(count, n);
      EXPECT_EQ(device, RONDO_DEVICE_NONE);
    }
  }
}

// Rank 0's call stands before rank 1's in one thread, on two communicators in opposite orders.
TEST(InitAll, OneThreadDrivesAllRanksOfSeveralCommunicatorsInAGroup) {
  constexpr int kRanks = 3;
  All a(kRanks), b(kRanks);
  ASSERT_EQ(a.result, rondoSuccess);
  ASSERT_EQ(b.result, rondoSuccess);
  std::vector<int32_t> sums(kRanks), products(kRanks);
  ASSERT_EQ(rondoGroupStart(), rondoSuccess);
  for (int i = 0; i < kRanks; ++i) {
    const auto up = static_cast<size_t>(i), down = static_cast<size_t>(kRanks - 1 - i);
    sums[up] = i + 1;
    products[down] = kRanks - i;
    EXPECT_EQ(rondoAllReduce(&sums[up], &sums[up], 1, rondoInt32, rondoSum, a.comms[up], nullptr),
              rondoSuccess);
    EXPECT_EQ(rondoAllReduce(&products[down], &products[down], 1, rondoInt32, rondoProd,
                             b.comms[down], nullptr),
              rondoSuccess);
  }
  ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(nullptr);
  EXPECT_EQ(sums, std::vector<int32_t>(kRanks, 6));
  EXPECT_EQ(products, std::vector<int32_t>(kRanks, 6));
}

TEST(InitAll, TheConfigurationHoldsForAll) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.device = RONDO_DEVICE_NONE;
  config.name = "whole";
  rondoComm_t comms[2] = {};
  ASSERT_EQ(rondoCommInitAll(comms, 2, nullptr, &config), rondoSuccess);
  EXPECT_NE(rondoAllReduce(nullptr, nullptr, 1, rondoInt32, rondoSum, comms[1], nullptr),
            rondoSuccess);
  ASSERT_EQ(rondoCommFinalize(comms[1]), rondoSuccess);
  expectRefused(rondoBarrier(comms[1], nullptr), rondoInvalidUsage, "rondoBarrier", {"\"whole\""});
  for (rondoComm_t comm : comms) EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
}

// The one thread would have to ask each of them; they are there when the call returns.
TEST(InitAll, WaitsAlsoWhereTheConfigurationSaysNotTo) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.blocking = 0;
  std::vector<rondoComm_t> comms(2);
  ASSERT_EQ(rondoCommInitAll(comms.data(), 2, noDevices(2).data(), &config), rondoSuccess)
      << rondoGetLastError(nullptr);
  for (const rondoComm_t comm : comms) {
    rondoResult_t state = rondoInProgress;
    EXPECT_EQ(rondoCommGetAsyncError(comm, &state), rondoSuccess);
    EXPECT_EQ(state, rondoSuccess);
  }
  for (const rondoComm_t comm : comms) EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
}

TEST(InitAll, RefusesWhatIsWrongAndMakesNothing) {
  const char* call = "rondoCommInitAll";
  rondoComm_t comms[2] = {nullptr, nullptr};
  expectRefused(rondoCommInitAll(nullptr, 2, nullptr, nullptr), rondoInvalidArgument, call,
                {"comms is NULL"});
  expectRefused(rondoCommInitAll(comms, 0, nullptr, nullptr), rondoInvalidArgument, call,
                {"nranks is 0", "from 1"});
  const int wrong[2] = {RONDO_DEVICE_NONE, -9};
  expectRefused(rondoCommInitAll(comms, 2, wrong, nullptr), rondoInvalidArgument, call,
                {"device is -9"});
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.size = 3;
  expectRefused(rondoCommInitAll(comms, 2, nullptr, &config), rondoInvalidArgument, call,
                {"config.size is 3"});
  EXPECT_EQ(comms[0], nullptr);
  EXPECT_EQ(comms[1], nullptr);
}

}  // namespace
}  // namespace rondo::testing
