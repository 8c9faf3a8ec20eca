// rondoCommRegister and rondoCommDeregister where there is no device: sentences, and the
// communicator goes on.

#include <gtest/gtest.h>

#include "api/rondo_register.h"
#include "support/refusal.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

TEST(WorldRegister, HostMemoryOnly) {
  World(2).run([](const Rank& rank) {
    int32_t in = rank.rank + 1, out = 0;
    rondoRegistration_t number = 77;
    const auto refused = [&](const char* call, rondoResult_t result) {
      expectRefused(result, rondoUnsupported, call, {"has host memory only"});
    };
    refused("rondoCommRegister",
            rondoCommRegister(rank.comm, &in, sizeof in, RONDO_REGISTER_DEFAULT, &number));
    refused("rondoCommDeregister", rondoCommDeregister(rank.comm, 1));
    EXPECT_EQ(number, 77u);
    EXPECT_EQ(rondoAllReduce(&in, &out, 1, rondoInt32, rondoSum, rank.comm, nullptr), rondoSuccess);
    EXPECT_EQ(out, 3);
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    expectRefused(rondoCommRegister(rank.comm, &in, sizeof in, 0, &number), rondoInvalidUsage,
                  "rondoCommRegister", {"a group is open"});
    ASSERT_EQ(rondoGroupEnd(), rondoSuccess);
  });
}

TEST(WorldRegister, NoCommunicator) {
  rondoRegistration_t number = 77;
  expectRefused(rondoCommRegister(nullptr, nullptr, 0, 0, &number), rondoInvalidArgument,
                "rondoCommRegister", {"comm is NULL"});
  expectRefused(rondoCommDeregister(nullptr, 1), rondoInvalidArgument, "rondoCommDeregister",
                {"comm is NULL"});
}

}  // namespace
}  // namespace rondo::testing
