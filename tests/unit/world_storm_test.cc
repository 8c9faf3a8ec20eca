// Random calls in a row, ranks dawdling at random between them: algorithms alternate by size, calls
// overlap where one rank is done and another has not begun, staging is as small as it gets.

#include <gtest/gtest.h>

#include <random>

#include "support/buffer.h"
#include "support/values.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

constexpr const char* kMixed =
    "allreduce:host:0-200:oneshot,allreduce:host:200-3K:ring/2/512,allreduce:host:3K-20K:twoshot/2,"
    "allreduce:host:20K-60K:ring/1,allreduce:host:60K-:oneshot/2,broadcast:host:0-5K:oneshot,"
    "broadcast:host:5K-:ring/2/1000";

void dawdle(std::mt19937& own) {
  switch (own() % 12) {
    case 0:
      return std::this_thread::sleep_for(std::chrono::microseconds(own() % 300));
    case 1:
      return std::this_thread::yield();
    default:
      return;
  }
}

size_t someCount(std::mt19937& shared) {
  const size_t most[] = {1, 30, 200, 2000, 9000, 30000};
  return shared() % most[shared() % 6] + shared() % 2;
}

void storm(const Rank& me, unsigned seed, int calls) {
  std::mt19937 shared(seed);  // what all ranks draw alike
  std::mt19937 own(seed * 31 + static_cast<unsigned>(me.rank));
  for (int i = 0; i < calls; ++i) {
    dawdle(own);
    const size_t count = someCount(shared);
    const rondoDataType_t type = kAllTypes[shared() % std::size(kAllTypes)];
    const rondoRedOp_t op = someOp(type, static_cast<unsigned>(shared()));
    const unsigned what = shared() % 8;
    const int root = static_cast<int>(shared() % static_cast<unsigned>(me.size));
    if (what == 0) {
      ASSERT_EQ(rondoBarrier(me.comm, nullptr), rondoSuccess) << rondoGetLastError(me.comm);
      continue;
    }
    const size_t bytes = count * typeSize(type);
    Buffer send(bytes, own() % 2 == 0, own() % 3), recv(bytes, own() % 2 == 0, own() % 3);
    char* out = own() % 3 == 0 ? send.data() : recv.data();
    repeat(send.data(), bytes, contribution(type, op, me.rank));
    if (what < 3) {
      ASSERT_EQ(rondoBroadcast(send.data(), out, count, type, root, me.comm, nullptr),
                rondoSuccess);
      ASSERT_EQ(firstWrong(out, bytes, contribution(type, op, root)), bytes)
          << "seed " << seed << " call " << i << ": broadcast of " << count;
    } else {
      ASSERT_EQ(rondoAllReduce(send.data(), out, count, type, op, me.comm, nullptr), rondoSuccess);
      ASSERT_EQ(firstWrong(out, bytes, expectedValues(type, op, me.size)), bytes)
          << "seed " << seed << " call " << i << ": all-reduce of " << count << " "
          << typeName(type) << " " << opName(op);
    }
    ASSERT_TRUE(send.intact() && recv.intact()) << "seed " << seed << " call " << i;
  }
}

class WorldStorm : public ::testing::TestWithParam<std::tuple<int, const char*>> {};

TEST_P(WorldStorm, EveryCallIsRight) {
  const auto [ranks, pool] = GetParam();
  const Env bytes("RONDO_POOL_BYTES", pool);
  // RONDO_STORM=N tries N more seeds.
  const char* more = std::getenv("RONDO_STORM");
  const unsigned seeds = 1 + (more != nullptr ? static_cast<unsigned>(std::atoi(more)) : 0);
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    for (const char* rule : {"", kMixed}) {
      World(ranks).tune(rule).run([&](const Rank& me) { storm(me, seed, 60); });
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(World, WorldStorm,
                         ::testing::Combine(::testing::Values(1, 2, 3, 5, 8, 17),
                                            ::testing::Values("300K", "16M")));

TEST(WorldStormOfSizes, OfOneMessageAfterAnother) {
  // The staging ring's end is passed at every offset.
  const Env bytes("RONDO_POOL_BYTES", "256K");
  World(2).tune("allreduce:host:0-:oneshot/1/1K").run([](const Rank& me) {
    for (size_t count = 1; count < 1500; count += 1 + count / 200) {
      std::vector<int8_t> in(count, 1), out(count, 0);
      ASSERT_EQ(rondoAllReduce(in.data(), out.data(), count, rondoInt8, rondoSum, me.comm, nullptr),
                rondoSuccess);
      ASSERT_EQ(out, std::vector<int8_t>(count, 2));
    }
  });
}

TEST(WorldPlans, MoreThanTheCacheHolds) {
  World(2).run([](const Rank& me) {
    for (int pass = 0; pass < 2; ++pass) {
      for (size_t count = 1; count < 1200; ++count) {
        std::vector<int16_t> in(count, 5), out(count, 0);
        ASSERT_EQ(
            rondoAllReduce(in.data(), out.data(), count, rondoInt16, rondoSum, me.comm, nullptr),
            rondoSuccess);
        ASSERT_EQ(out[count - 1], 10);
      }
    }
  });
}

}  // namespace
}  // namespace rondo::testing
