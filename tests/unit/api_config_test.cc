// Making a communicator with wrong ranks, ids, configurations and environment variables.

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "api/comm_create.h"
#include "api/option_faults.h"
#include "support/refusal.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

const auto kMark = reinterpret_cast<rondoComm_t>(uintptr_t{0x40});

rondoUniqueId newId() {
  rondoUniqueId id{};
  EXPECT_EQ(rondoGetUniqueId(&id), rondoSuccess) << rondoGetLastError(nullptr);
  return id;
}

/// Tries to make a communicator of one rank; what must fail leaves the output alone.
rondoResult_t make(const rondoConfig_t* config) {
  rondoComm_t comm = kMark;
  const rondoResult_t result = rondoCommInitRankConfig(&comm, 1, newId(), 0, config);
  if (result == rondoSuccess) {
    EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
  } else {
    EXPECT_EQ(comm, kMark) << "written though the call failed";
  }
  return result;
}

void expectConfigRefused(const rondoConfig_t& config, std::initializer_list<std::string> parts) {
  expectRefused(make(&config), rondoInvalidArgument, "rondoCommInitRankConfig", parts);
}

TEST(ApiInit, NullAndRanksOutOfRange) {
  expectRefused(rondoGetUniqueId(nullptr), rondoInvalidArgument, "rondoGetUniqueId",
                {"argument id is NULL", "allowed"});
  expectRefused(rondoCommInitRank(nullptr, 1, newId(), 0), rondoInvalidArgument,
                "rondoCommInitRank", {"argument comm is NULL", "allowed"});
  rondoComm_t comm = kMark;
  for (const int nranks : {0, -1, INT32_MIN}) {
    expectRefused(rondoCommInitRank(&comm, nranks, newId(), 0), rondoInvalidArgument,
                  "rondoCommInitRank",
                  {"argument nranks is " + std::to_string(nranks), "allowed: from 1"});
  }
  for (const int rank : {-1, 3, INT32_MAX, INT32_MIN}) {
    expectRefused(rondoCommInitRank(&comm, 3, newId(), rank), rondoInvalidArgument,
                  "rondoCommInitRank",
                  {"argument rank is " + std::to_string(rank), "allowed: 0 to 2"});
  }
  EXPECT_EQ(comm, kMark);
}

TEST(ApiInit, BytesThatAreNoId) {
  rondoComm_t comm = kMark;
  for (const int byte : {0, 0xff, 0x55}) {
    rondoUniqueId id;
    std::memset(&id, byte, sizeof id);
    expectRefused(rondoCommInitRank(&comm, 2, id, 0), rondoInvalidArgument, "rondoCommInitRank",
                  {"id", "allowed"});
  }
  for (const size_t at : {0, 4, 9}) {
    rondoUniqueId id = newId();
    id.internal[at] = static_cast<char>(id.internal[at] ^ 0x11);
    const rondoResult_t result = rondoCommInitRank(&comm, 1, id, 0);
    EXPECT_NE(result, rondoSuccess) << "byte " << at;
    EXPECT_STRNE(rondoGetLastError(nullptr), "");
  }
  EXPECT_EQ(comm, kMark);
}

TEST(ApiInit, OneRanksBadConfigurationIsToldToAll) {
  const rondoUniqueId id = newId();
  onRanks(3, [&](int rank) {
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    if (rank == 1) config.version = 9;
    rondoComm_t comm = kMark;
    expectRefused(rondoCommInitRankConfig(&comm, 3, id, rank, &config), rondoInvalidArgument,
                  "rondoCommInitRankConfig", {"rank 1", "config.version is 9", "allowed: 1 to 5"});
    EXPECT_EQ(comm, kMark);
  });
}

TEST(ApiConfig, NullAndTheInitializerAreFine) {
  EXPECT_EQ(make(nullptr), rondoSuccess) << rondoGetLastError(nullptr);
  const rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  EXPECT_EQ(make(&config), rondoSuccess) << rondoGetLastError(nullptr);
}

TEST(ApiConfig, Sizes) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  // Fields that an older header does not have may hold anything.
  config.blocking = 77;
  config.size = offsetof(rondoConfig_t, blocking);
  config.version = 3;
  EXPECT_EQ(make(&config), rondoSuccess) << rondoGetLastError(nullptr);
  // What was padding then is no timeout.
  config = RONDO_CONFIG_INITIALIZER;
  config.version = 4;
  config.timeout = -7;
  EXPECT_EQ(make(&config), rondoSuccess) << rondoGetLastError(nullptr);
  config.version = 3;
  config.hostId = config.tune = reinterpret_cast<const char*>(uintptr_t{1});
  for (const size_t size : {offsetof(rondoConfig_t, name), offsetof(rondoConfig_t, hostId)}) {
    config.size = size;
    EXPECT_EQ(make(&config), rondoSuccess) << rondoGetLastError(nullptr);
  }
  // Cut inside a field, or no configuration at all.
  for (const size_t size : {size_t{0}, size_t{1}, size_t{12}, size_t{17}, size_t{20}, size_t{39},
                            size_t{1} << 20, SIZE_MAX}) {
    config.size = size;
    expectConfigRefused(config, {"config.size is " + std::to_string(size), "allowed"});
  }
}

TEST(ApiConfig, Timeouts) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  for (const int timeout : {-1, INT32_MIN}) {
    config.timeout = timeout;
    expectConfigRefused(config,
                        {"config.timeout is " + std::to_string(timeout), "allowed: from 0"});
  }
  config.timeout = INT32_MAX;
  EXPECT_EQ(make(&config), rondoSuccess) << rondoGetLastError(nullptr);
}

struct Newer {
  rondoConfig_t known;
  unsigned char tail[24];
};

TEST(ApiConfig, ANewersTailMustBeZero) {
  Newer newer{RONDO_CONFIG_INITIALIZER, {}};
  newer.known.size = sizeof newer;
  EXPECT_EQ(make(&newer.known), rondoSuccess) << rondoGetLastError(nullptr);
  for (const size_t at : {0, 23}) {
    newer.tail[at] = 1;
    expectConfigRefused(
        newer.known, {"config byte " + std::to_string(sizeof(rondoConfig_t) + at), "allowed: 0"});
    newer.tail[at] = 0;
  }
}

TEST(ApiConfig, Versions) {
  for (const uint32_t version : {0u, 6u, 0xffffffffu}) {
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.version = version;
    expectConfigRefused(config,
                        {"config.version is " + std::to_string(version), "allowed: 1 to 5"});
  }
}

TEST(ApiConfig, Devices) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  for (const int device : {-3, INT32_MIN}) {
    config.device = device;
    expectConfigRefused(config, {"config.device is " + std::to_string(device), "allowed"});
  }
  config.device = RONDO_DEVICE_NONE;
  EXPECT_EQ(make(&config), rondoSuccess);
}

TEST(ApiConfig, TuneRules) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  for (const char* rule :
       {"x", "allreduce", "allreduce:host:0-1K", "allreduce:host:0-1K:ring:more",
        "sum:host:0-:ring", "allreduce:gpu:0-:ring", "allreduce:host:64K:ring",
        "allreduce:host:-64K:ring", "allreduce:host:1K-x:ring", "allreduce:host:2K-1K:ring",
        "allreduce:host:0-:ring/", "allreduce:host:0-:ring:", "allreduce:host:0-:fast",
        "allreduce:host:0-:ring/0", "allreduce:host:0-:ring/x", "allreduce:host:0-:ring/1/1",
        "allreduce:host:0-:ring/1/1K/2", "broadcast:host:0-:twoshot",
        "allreduce:host:0-:ring,oops"}) {
    config.tune = rule;
    const std::string last = std::string(rule).substr(std::string(rule).rfind(',') + 1);
    expectConfigRefused(
        config, {": config.tune rule \"" + last + "\"",
                 "allowed: COLLECTIVE:host:FROM-TO:ALGORITHM[/LANES[/CHUNK]], for example "});
    const Env env("RONDO_TUNE", rule);
    expectRefused(make(nullptr), rondoInvalidArgument, "rondoCommInitRankConfig",
                  {": RONDO_TUNE rule \"" + last + "\"",
                   "allowed: COLLECTIVE:host:FROM-TO:ALGORITHM[/LANES[/CHUNK]], for example "});
  }
  config.tune = "allreduce:host:0-64K:oneshot,,broadcast:host:1M-:ring/2/32K,";
  EXPECT_EQ(make(&config), rondoSuccess) << rondoGetLastError(nullptr);
}

TEST(ApiConfig, NoMultiprocessorsIsABudget) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  for (const int bad : {RONDO_SM_BUDGET_AT_MOST(0), RONDO_SM_BUDGET_AT_MOST(1025),
                        std::numeric_limits<int>::min(), 1025}) {
    config.smBudget = bad;
    expectConfigRefused(config,
                        {"config.smBudget is " + std::to_string(bad),
                         "RONDO_SM_BUDGET_AT_MOST(1) to (1024)", "RONDO_SM_BUDGET_NONE (-1)"});
  }
  config.smBudget = RONDO_SM_BUDGET_NONE;
  EXPECT_EQ(make(&config), rondoSuccess) << rondoGetLastError(nullptr);
  const Env budget("RONDO_SM_BUDGET", "12");
  const Options given = checkConfig("call", &config).options;
  EXPECT_TRUE(given.noSms && given.smBudget == 0) << given.smBudget;
  EXPECT_EQ(checkConfig("call", nullptr).options.smBudget, 12u);
  const Env none("RONDO_SM_BUDGET", "none");
  EXPECT_TRUE(checkConfig("call", nullptr).options.noSms);
  config.smBudget = 5;
  EXPECT_FALSE(checkConfig("call", &config).options.noSms) << "the program has the last word";
}

TEST(ApiConfig, ABudgetMayBeAnUpperBound) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  for (const int most : {1, 32, 1024}) {
    config.smBudget = RONDO_SM_BUDGET_AT_MOST(most);
    EXPECT_EQ(make(&config), rondoSuccess) << rondoGetLastError(nullptr);
    const Options given = checkConfig("call", &config).options;
    EXPECT_EQ(given.smBudgetMost, static_cast<uint64_t>(most));
    EXPECT_TRUE(given.smBudget == 0 && !given.noSms) << given.smBudget;
  }
  const Env budget("RONDO_SM_BUDGET", "12");
  EXPECT_EQ(checkConfig("call", &config).options.smBudget, 12u) << "it bounds the user's, too";
}

TEST(ApiEnvironment, WhatTheBackgroundMayRegister) {
  const struct {
    const char* value;
    bool off;
    uint64_t bytes;
  } good[] = {{"auto", false, 0}, {"off", true, 0}, {"3M", false, 3u << 20}};
  for (const auto& row : good) {
    const Env env("RONDO_REGISTER", row.value);
    const Options options = checkConfig("call", nullptr).options;
    EXPECT_EQ(options.noRegister, row.off) << row.value;
    EXPECT_EQ(options.registerBytes, row.bytes) << row.value;
  }
}

TEST(ApiEnvironment, BadValuesAreNamed) {
  const struct {
    const char *name, *value, *allowed;
  } bad[] = {{"RONDO_EXPLAIN", "yes", "0 or 1"},
             {"RONDO_EXPLAIN", "2", "0 or 1"},
             {"RONDO_POOL_BYTES", "1K", "a number from 262144"},
             {"RONDO_POOL_BYTES", "-1", "a number from 262144"},
             {"RONDO_POOL_BYTES", "16MX", "a number from 262144"},
             {"RONDO_POOL_BYTES", "99999999999999999999", "a number from 262144"},
             {"RONDO_POOL_BYTES", "17179869184G", "a number from 262144"},
             {"RONDO_SM_BUDGET", "1025", "a number from 0 to 1024, or none"},
             {"RONDO_SM_BUDGET", "all", "a number from 0 to 1024, or none"},
             {"RONDO_NET_ZERO_COPY", "yes", "auto, on or off"},
             {"RONDO_DEPENDENT_LAUNCH", "yes", "on, eager or off"},
             {"RONDO_REGISTER", "on", "auto, off, or a number of bytes from 1"},
             {"RONDO_REGISTER", "0", "auto, off, or a number of bytes from 1"},
             {"RONDO_SPIN_BOUND_MS", "soon", "a number from 0"},
             {"RONDO_TIMEOUT_MS", "-1", "a number from 0"},
             {"RONDO_CPU", "sse9", "plain, avx2, avx512 or avx512vbmi"},
             {"RONDO_TUNE", "fast", "allowed: COLLECTIVE:"},
             {"RONDO_GROUPS", "0,0", "the communicator has 1 rank;"},
             {"RONDO_GROUPS", "socket", "off, l3, numa, package"}};
  for (const auto& row : bad) {
    const Env env(row.name, row.value);
    expectRefused(make(nullptr), rondoInvalidArgument, "rondoCommInitRankConfig",
                  {row.name, std::string("\"") + row.value + "\"", "allowed", row.allowed});
    const std::string said = rondoGetLastError(nullptr);
    for (const OptionRow& option : optionTable()) {
      if (option.name != std::string(row.name) || row.value == std::string("0,0")) continue;
      EXPECT_EQ(said, "rondoCommInitRankConfig: " + faultOf(option));
    }
  }
}

TEST(ApiEnvironment, WhatAJobTakesHasNoFault) {
  for (const OptionRow& option : optionTable()) EXPECT_EQ(faultOf(option), "") << option.name;
  const Env pool("RONDO_POOL_BYTES", "16MiB"), keep("RONDO_REGISTER", "2GB"),
      groups("RONDO_GROUPS", "0,0,1"), cpu("RONDO_CPU", "plain"),
      tune("RONDO_TUNE", "allreduce:host:0B-64KB:oneshot/2/32KiB");
  for (const OptionRow& option : optionTable()) EXPECT_EQ(faultOf(option), "") << option.name;
  const Options options = readOptions();
  EXPECT_EQ(options.poolBytes, 16u << 20);
  EXPECT_EQ(options.registerBytes, uint64_t{2} << 30);
}

TEST(ApiEnvironment, EmptyIsUnsetAndConfigurationOverrides) {
  const Env tune("RONDO_TUNE", "nonsense"), cpu("RONDO_CPU", ""), pool("RONDO_POOL_BYTES", "1G");
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.tune = "allreduce:host:0-:ring";
  EXPECT_EQ(make(&config), rondoSuccess) << rondoGetLastError(nullptr);
  EXPECT_NE(make(nullptr), rondoSuccess);
}

TEST(ApiEnvironment, RanksThatDifferAreToldSo) {
  const rondoUniqueId id = newId();
  onRanks(2, [&](int rank) {
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    if (rank == 1) config.tune = "allreduce:host:0-:ring";
    rondoComm_t comm = kMark;
    expectRefused(rondoCommInitRankConfig(&comm, 2, id, rank, &config), rondoInvalidUsage,
                  "rondoCommInitRankConfig",
                  {"ranks differ in config.tune (or RONDO_TUNE): rank 1 has "
                   "config.tune=\"allreduce:host:0-:ring\", rank 0 has RONDO_TUNE=\"\""});
  });
  const rondoUniqueId other = newId();
  onRanks(2, [&](int rank) {
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.reproducible = rank;
    rondoComm_t comm = kMark;
    expectRefused(rondoCommInitRankConfig(&comm, 2, other, rank, &config), rondoInvalidUsage,
                  "rondoCommInitRankConfig",
                  {"ranks differ in config.reproducible (or RONDO_REPRODUCIBLE): rank 1 has "
                   "config.reproducible=\"1\", rank 0 has RONDO_REPRODUCIBLE=\"0\""});
  });
}

TEST(ApiEnvironment, AHostIdOfTheConfigurationMakesAnotherHost) {
  const rondoUniqueId id = newId();
  onRanks(3, [&](int rank) {
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.hostId = rank == 0 ? "left" : "right";
    rondoComm_t comm = kMark;
    ASSERT_EQ(rondoCommInitRankConfig(&comm, 3, id, rank, &config), rondoSuccess)
        << rondoGetLastError(nullptr);
    int localSize = 0;
    EXPECT_EQ(rondoCommLocalSize(comm, &localSize), rondoSuccess);
    EXPECT_EQ(localSize, rank == 0 ? 1 : 2);
    EXPECT_EQ(rondoBarrier(comm, nullptr), rondoSuccess);
    EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
  });
}

}  // namespace
}  // namespace rondo::testing
