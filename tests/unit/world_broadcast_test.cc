// Broadcast from every root, and the barrier.

#include <gtest/gtest.h>

#include <atomic>
#include <random>

#include "support/buffer.h"
#include "support/values.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

void checkBroadcast(const Rank& me, int root, rondoDataType_t type, size_t count, bool inPlace,
                    uint32_t shared, size_t skew) {
  const size_t bytes = count * typeSize(type);
  Buffer send(bytes, (shared >> me.rank & 1) != 0, skew);
  Buffer recv(bytes, (shared >> (me.rank + 8) & 1) != 0, 0);
  repeat(send.data(), bytes, contribution(type, rondoSum, me.rank));
  // sendbuff counts at the root only: elsewhere it may be anything.
  const bool root0 = me.rank == root;
  char* out = root0 && inPlace ? send.data() : recv.data();
  const void* in = root0 ? send.data() : me.rank % 2 == 0 ? nullptr : out + 1;
  ASSERT_EQ(rondoBroadcast(in, out, count, type, root, me.comm, nullptr), rondoSuccess)
      << rondoGetLastError(me.comm);
  EXPECT_EQ(firstWrong(out, bytes, contribution(type, rondoSum, root)), bytes)
      << "rank " << me.rank << " of " << me.size << ", root " << root << ", count " << count;
  EXPECT_TRUE(send.intact() && recv.intact());
}

class WorldBroadcast : public ::testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(WorldBroadcast, EveryRoot) {
  const auto [rule, ranks] = GetParam();
  World(ranks).tune(rule).run([](const Rank& me) {
    std::mt19937 random(static_cast<unsigned>(me.size) + 3);  // the same on all ranks
    for (int root = 0; root < me.size; ++root) {
      for (const size_t count : {0, 1, 2, 13, 14, 1023, 1024, 1025, 8192, 40003}) {
        const rondoDataType_t type = kAllTypes[random() % std::size(kAllTypes)];
        const bool inPlace = random() % 2 == 0;
        const auto shared = static_cast<uint32_t>(random() % 3 == 0 ? 0 : random());
        checkBroadcast(me, root, type, count, inPlace, shared, random() % 9);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(World, WorldBroadcast,
                         ::testing::Combine(::testing::Values("", "broadcast:host:0-:ring",
                                                              "broadcast:host:0-:oneshot",
                                                              "broadcast:host:0-:ring/2/1K"),
                                            ::testing::Values(1, 2, 3, 4, 5, 7, 8)));

class WorldBarrier : public ::testing::TestWithParam<int> {};

TEST_P(WorldBarrier, NobodyLeavesBeforeAllEntered) {
  constexpr int kRounds = 200;
  std::vector<std::atomic<int>> entered(kRounds);
  World(GetParam()).run([&](const Rank& me) {
    std::mt19937 random(static_cast<unsigned>(me.rank));
    for (int round = 0; round < kRounds; ++round) {
      if (random() % 40 == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
      }
      entered[static_cast<size_t>(round)].fetch_add(1, std::memory_order_relaxed);
      ASSERT_EQ(rondoBarrier(me.comm, nullptr), rondoSuccess) << rondoGetLastError(me.comm);
      EXPECT_EQ(entered[static_cast<size_t>(round)].load(std::memory_order_relaxed), me.size);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(World, WorldBarrier, ::testing::Values(1, 2, 3, 8, 17));

}  // namespace
}  // namespace rondo::testing
