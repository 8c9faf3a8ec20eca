// NCCL's codes for what is wrong, and Rondo's sentences behind them.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "drop_in/nccl_world.h"

namespace nccl_test {
namespace {

class NcclErrors : public ::testing::Test {
 protected:
  World world{1};
  int value = 5, result = -7;
};

TEST_F(NcclErrors, ArgumentsOfCollectives) {
  expectRefused(ncclAllReduce(&value, &result, 1, kInt32, kSum, nullptr, nullptr),
                ncclInvalidArgument, {"ncclAllReduce", "comm is NULL"});
  expectRefused(ncclAllReduce(nullptr, &result, 1, kInt32, kSum, world[0], nullptr),
                ncclInvalidArgument, {"sendbuff is NULL"});
  // Types and operators that Rondo has and NCCL has not are errors here.
  for (const int type : {-1, 12, 34, 99}) {
    expectRefused(ncclAllReduce(&value, &result, 1, type, kSum, world[0], nullptr),
                  ncclInvalidArgument, {"datatype is " + std::to_string(type), "0 to 11"});
  }
  for (const int op : {-1, 5, 32, 39, 1023, 5000}) {
    expectRefused(ncclAllReduce(&value, &result, 1, kInt32, op, world[0], nullptr),
                  ncclInvalidArgument, {"op is " + std::to_string(op)});
  }
  expectRefused(ncclBroadcast(&value, &result, 1, kInt32, 1, world[0], nullptr),
                ncclInvalidArgument, {"root is 1", "0 to 0"});
  expectRefused(ncclSend(&value, 1, kInt32, -1, world[0], nullptr), ncclInvalidArgument,
                {"peer is -1"});
  EXPECT_EQ(result, -7);
}

// Nobody is waited for, but what is wrong is said.
TEST_F(NcclErrors, ACallWithoutElementsIsNothingIfItsArgumentsAreRight) {
  World two(2);
  EXPECT_EQ(ncclAllReduce(nullptr, nullptr, 0, kInt32, kSum, two[0], nullptr), ncclSuccess);
  EXPECT_EQ(ncclRecv(nullptr, 0, kInt32, 1, two[0], nullptr), ncclSuccess);
  EXPECT_EQ(ncclReduce(nullptr, nullptr, 0, kInt32, 2, 2, two[0], nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclRecv(nullptr, 0, kInt32, 2, two[0], nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclAllReduce(nullptr, nullptr, 0, 12, kSum, two[0], nullptr), ncclInvalidArgument);
  EXPECT_TRUE(two.works());
}

// NCCL has no word for it.
TEST_F(NcclErrors, CallsThatDiffer) {
  World two(2);
  int data[2][2] = {};
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int r = 0; r < 2; ++r) {
    const auto count = static_cast<size_t>(r + 1);
    EXPECT_EQ(ncclAllReduce(data[r], data[r], count, kInt32, kSum, two[r], nullptr), ncclSuccess);
  }
  expectRefused(ncclGroupEnd(), ncclInvalidUsage, {"with count 1", "with count 2"});
  for (int r = 0; r < 2; ++r) {
    ncclResult_t state = ncclSuccess;
    EXPECT_EQ(ncclCommGetAsyncError(two[r], &state), ncclSuccess);
    EXPECT_EQ(state, ncclInvalidUsage);
  }
}

TEST_F(NcclErrors, ArgumentsOfInit) {
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclGetUniqueId(nullptr), ncclInvalidArgument);
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  expectRefused(ncclCommInitRank(nullptr, 1, id, 0), ncclInvalidArgument, {"comm is NULL"});
  expectRefused(ncclCommInitRank(&comm, 0, id, 0), ncclInvalidArgument, {"nranks is 0"});
  expectRefused(ncclCommInitRank(&comm, 2, id, 2), ncclInvalidArgument, {"rank is 2"});
  expectRefused(ncclCommInitRankScalable(&comm, 2, 0, 3, &id, nullptr), ncclInvalidArgument,
                {"nId is 3"});
  expectRefused(ncclCommInitAll(&comm, 0, nullptr), ncclInvalidArgument, {"ndev is 0"});
  expectRefused(ncclCommInitAll(nullptr, 1, nullptr), ncclInvalidArgument, {"comm is NULL"});
  const ncclUniqueId nobodys{};
  EXPECT_NE(ncclCommInitRank(&comm, 2, nobodys, 1), ncclSuccess);
  EXPECT_EQ(comm, nullptr);
}

TEST_F(NcclErrors, ConfigurationsOfEveryVersion) {
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  struct {
    ncclConfig_t config = plainConfig();
    unsigned char tail[96];
  } given;
  const auto init = [&] {
    EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    return ncclCommInitRankConfig(&comm, 1, id, 0, &given.config);
  };
  std::memset(given.tail, 0, sizeof given.tail);
  for (const size_t size : {24, 40, 48, 56, 64, 72, 80, 88, 96}) {
    given.config.size = size;
    ASSERT_EQ(init(), ncclSuccess) << size << ": " << ncclGetLastError(nullptr);
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  }
  for (const size_t size : {0, 8, 23, 44, 81, 4096}) {
    given.config.size = size;
    expectRefused(init(), ncclInvalidArgument, {"config.size is " + std::to_string(size)});
  }
  given.config.size = 96;
  given.tail[4] = 1;
  expectRefused(init(), ncclInvalidArgument, {"config bytes 84 to 87"});
  // What lies behind a shorter structure is not read.
  given.config.size = 24;
  given.config.maxCTAs = -5;
  given.config.cgaClusterSize = 0x5a5a5a5a;  // padding in 2.14
  ASSERT_EQ(init(), ncclSuccess) << ncclGetLastError(nullptr);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  given.config.cgaClusterSize = NCCL_CONFIG_UNDEF_INT;
  given.config.size = 80;
  expectRefused(init(), ncclInvalidArgument, {"config.maxCTAs is -5", "1 to 1024"});
  given.config = plainConfig();
  given.config.blocking = 2;
  expectRefused(init(), ncclInvalidArgument, {"config.blocking is 2"});
  given.config = plainConfig();
  given.config.minCTAs = 8;
  given.config.maxCTAs = 4;
  expectRefused(init(), ncclInvalidArgument, {"minCTAs is 8"});
  given.config = plainConfig();
  given.config.CTAPolicy = 4;
  expectRefused(init(), ncclInvalidArgument, {"config.CTAPolicy is 4", "0 to 3"});
  for (const int policy : {0, 1, 2, 3}) {
    given.config.CTAPolicy = policy;
    ASSERT_EQ(init(), ncclSuccess) << ncclGetLastError(nullptr);
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  }
  given.config = plainConfig();
  given.config.magic = 7;
  expectRefused(init(), ncclInvalidArgument, {"config.magic is 0x7"});
  given.config = plainConfig();
  for (const unsigned version : {0u, 7u, 21399u}) {
    given.config.version = version;
    expectRefused(init(), ncclInvalidArgument,
                  {"config.version is " + std::to_string(version), "21400"});
  }
  given.config.version = 99999;
  ASSERT_EQ(init(), ncclSuccess) << ncclGetLastError(nullptr);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST_F(NcclErrors, TheNameOfTheConfigurationAppears) {
  ncclUniqueId id;
  ncclComm_t comm = nullptr;
  ncclConfig_t config = plainConfig();
  config.commName = "experts";
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ASSERT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclSuccess);
  ASSERT_EQ(ncclCommFinalize(comm), ncclSuccess);
  EXPECT_NE(ncclAllReduce(&value, &result, 1, kInt32, kSum, comm, nullptr), ncclSuccess);
  EXPECT_NE(std::string(ncclGetLastError(comm)).find("\"experts\""), std::string::npos);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST_F(NcclErrors, QuestionsAndSplits) {
  expectRefused(ncclCommCount(world[0], nullptr), ncclInvalidArgument, {"count is NULL"});
  int count = 0;
  expectRefused(ncclCommCount(nullptr, &count), ncclInvalidArgument, {"comm is NULL"});
  EXPECT_EQ(ncclCommGetAsyncError(world[0], nullptr), ncclInvalidArgument);
  ncclComm_t part = nullptr;
  expectRefused(ncclCommSplit(world[0], -2, 0, &part, nullptr), ncclInvalidArgument,
                {"color is -2"});
  expectRefused(ncclCommSplit(world[0], 0, 0, nullptr, nullptr), ncclInvalidArgument,
                {"newcomm is NULL"});
  expectRefused(ncclCommSplit(nullptr, 0, 0, &part, nullptr), ncclInvalidArgument,
                {"comm is NULL"});
}

// Symmetric ones are collective, so in a group they are made at its end; what cannot be registered
// (this is host memory) is a handle all the same.
TEST_F(NcclErrors, WindowsOfAGroupAreMadeAtItsEnd) {
  World two{2};
  ncclWindow_t windows[2] = {};
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  for (int r = 0; r < 2; ++r) {
    ASSERT_EQ(ncclCommWindowRegister(two[r], &value, sizeof value, &windows[r], 1), ncclSuccess);
    EXPECT_EQ(windows[r], nullptr);
  }
  ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
  for (int r = 0; r < 2; ++r) {
    ASSERT_NE(windows[r], nullptr);
    EXPECT_EQ(ncclCommWindowDeregister(two[1 - r], windows[r]), ncclInvalidUsage);
    EXPECT_EQ(ncclCommWindowDeregister(two[r], windows[r]), ncclSuccess);
  }
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclCommWindowRegister(two[0], nullptr, 4, &windows[0], 1), ncclInvalidArgument);
  expectRefused(ncclGroupEnd(), ncclInvalidArgument, {"ncclCommWindowRegister", "buff"});
}

TEST_F(NcclErrors, RegistrationsAreHandlesThatAreGivenBackOnce) {
  void* handle = nullptr;
  ncclWindow_t window = nullptr;
  ASSERT_EQ(ncclCommRegister(world[0], &value, sizeof value, &handle), ncclSuccess);
  ASSERT_EQ(ncclCommWindowRegister(world[0], &value, sizeof value, &window, 1), ncclSuccess);
  EXPECT_NE(handle, nullptr);
  EXPECT_NE(window, nullptr);
  EXPECT_EQ(ncclCommWindowDeregister(world[0], reinterpret_cast<ncclWindow_t>(handle)),
            ncclInvalidUsage);
  EXPECT_EQ(ncclCommDeregister(world[0], handle), ncclSuccess);
  EXPECT_EQ(ncclCommDeregister(world[0], handle), ncclInvalidUsage);
  EXPECT_EQ(ncclCommWindowDeregister(world[0], window), ncclSuccess);
  EXPECT_EQ(ncclCommDeregister(world[0], nullptr), ncclSuccess);
  expectRefused(ncclCommWindowRegister(world[0], &value, 4, &window, 8), ncclInvalidArgument,
                {"winFlags is 8"});
  expectRefused(ncclCommRegister(world[0], nullptr, 4, &handle), ncclInvalidArgument, {"buff"});
  void* memory = nullptr;
  EXPECT_EQ(ncclMemAlloc(nullptr, 4), ncclInvalidArgument);
  EXPECT_EQ(ncclMemAlloc(&memory, 0), ncclInvalidArgument);
  EXPECT_EQ(ncclMemFree(nullptr), ncclSuccess);
}

TEST_F(NcclErrors, CodeOnTheDeviceIsRefusedAndTeamsAreCounted) {
  int anything = 0;
  expectRefused(ncclDevCommCreate(world[0], &anything, &anything), ncclInvalidUsage,
                {"ncclDevCommCreate", "no communicators for code on the device"});
  expectRefused(ncclDevCommDestroy(world[0], &anything), ncclInvalidUsage, {"ncclDevCommDestroy"});
  World three(3);
  const ncclTeam_t team = ncclTeamWorld(three[2]);
  EXPECT_EQ(team.nRanks, 3);
  EXPECT_EQ(team.rank, 2);
  EXPECT_EQ(team.stride, 1);
  EXPECT_EQ(ncclTeamLsa(three[2]).nRanks, 1);
  EXPECT_EQ(ncclTeamRankToWorld(three[2], team, 1), 1);
}

}  // namespace
}  // namespace nccl_test
