// The settings of joining by id, through the C API.

#include <gtest/gtest.h>

#include "p2p/boot_id.h"
#include "support/refusal.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

TEST(ApiBoot, TheNetworkThatIsAskedForIsTheIds) {
  const Env env("RONDO_NET_IF", "lo");
  rondoUniqueId id;
  ASSERT_EQ(rondoGetUniqueId(&id), rondoSuccess) << rondoGetLastError(nullptr);
  const std::string at = addressText(readId(id).endpoints[0].address);
  EXPECT_TRUE(at == "127.0.0.1" || at == "::1") << at;
  onRanks(3, [&](int rank) {
    rondoComm_t comm = nullptr;
    ASSERT_EQ(rondoCommInitRank(&comm, 3, id, rank), rondoSuccess) << rondoGetLastError(nullptr);
    EXPECT_EQ(rondoCommDestroy(comm), rondoSuccess);
  });
}

TEST(ApiBoot, BadSettingsAreRefusedByBothCallsAndOnAllRanks) {
  rondoUniqueId ids[5];
  for (rondoUniqueId& id : ids) ASSERT_EQ(rondoGetUniqueId(&id), rondoSuccess);
  const auto expectAllRefused = [](const rondoUniqueId& id, const char* setting, const char* bad,
                                   const char* allowed) {
    onRanks(2, [&](int rank) {
      rondoComm_t comm = nullptr;
      expectRefused(rondoCommInitRank(&comm, 2, id, rank), rondoInvalidArgument,
                    "rondoCommInitRank",
                    {"rank 0", setting, std::string("\"") + bad + "\"", allowed});
    });
  };
  const char* const numbers[] = {"0", "-1", "soon", "2000000000"};
  for (size_t i = 0; i < 4; ++i) {
    const Env env("RONDO_BOOT_TIMEOUT_MS", numbers[i]);
    expectAllRefused(ids[i], "RONDO_BOOT_TIMEOUT_MS", numbers[i], "allowed: a number from 1");
  }
  const Env env("RONDO_NET_IF", "nosuch0");
  expectAllRefused(ids[4], "RONDO_NET_IF", "nosuch0", "allowed: NAME[,NAME...]");
  rondoUniqueId none;
  expectRefused(rondoGetUniqueId(&none), rondoInvalidArgument, "rondoGetUniqueId",
                {"RONDO_NET_IF is \"nosuch0\"", "allowed: NAME[,NAME...]", "lo"});
}

TEST(ApiBoot, TheTimeLimitIsTheOneAskedFor) {
  const Env env("RONDO_BOOT_TIMEOUT_MS", "300");
  rondoUniqueId id;
  ASSERT_EQ(rondoGetUniqueId(&id), rondoSuccess) << rondoGetLastError(nullptr);
  rondoComm_t comm = nullptr;
  for (const int rank : {0, 1}) {  // the late one is told the same
    expectRefused(rondoCommInitRank(&comm, 2, id, rank), rondoSystemError, "rondoCommInitRank",
                  {"rank 1 of 2 did not join within 300 ms"});
  }
}

}  // namespace
}  // namespace rondo::testing
