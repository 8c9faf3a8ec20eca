// Calls of one period: on both sides of the length that travels in a header and of the one that may
// be posted in place, with messages that come at once, late, or too late for the short way, which
// the Runner then takes over in mid-call.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "p2p/faulty_ports.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

constexpr int kRoot = 1;

int32_t value(int rank, size_t i) { return 1000 * rank + static_cast<int32_t>(i); }

/// Rank r's block of an uneven call.
size_t lengthOf(int rank, size_t count) { return count - static_cast<size_t>(rank % 2); }

void checkReductions(const Rank& me, const std::vector<int32_t>& src, size_t count) {
  std::vector<int32_t> dst(count, -1);
  ASSERT_EQ(rondoAllReduce(src.data(), dst.data(), count, rondoInt32, rondoSum, me.comm, nullptr),
            rondoSuccess);
  const int ranks = me.size;
  const auto sum = [ranks](size_t i) {
    return 1000 * (ranks * (ranks - 1) / 2) + ranks * static_cast<int32_t>(i);
  };
  for (size_t i = 0; i < count; ++i) ASSERT_EQ(dst[i], sum(i)) << "all-reduce " << i;
  dst.assign(count, -1);
  ASSERT_EQ(
      rondoReduce(src.data(), dst.data(), count, rondoInt32, rondoSum, kRoot, me.comm, nullptr),
      rondoSuccess);
  for (size_t i = 0; i < count; ++i) {
    ASSERT_EQ(dst[i], me.rank == kRoot ? sum(i) : -1) << "reduce " << i;
  }
}

void checkMoves(const Rank& me, const std::vector<int32_t>& src, size_t count) {
  const auto n = static_cast<size_t>(me.size);
  std::vector<int32_t> all(n * count, -1), back(count, -1);
  ASSERT_EQ(rondoGather(src.data(), all.data(), count, rondoInt32, kRoot, me.comm, nullptr),
            rondoSuccess);
  for (size_t i = 0; i < all.size(); ++i) {
    const int32_t wanted = value(static_cast<int>(i / count), i % count);
    ASSERT_EQ(all[i], me.rank == kRoot ? wanted : -1) << "gather " << i;
  }
  ASSERT_EQ(rondoScatter(all.data(), back.data(), count, rondoInt32, kRoot, me.comm, nullptr),
            rondoSuccess);
  ASSERT_EQ(back, src) << "scatter";
  ASSERT_EQ(rondoBroadcast(src.data(), back.data(), count, rondoInt32, kRoot, me.comm, nullptr),
            rondoSuccess);
  for (size_t i = 0; i < count; ++i) ASSERT_EQ(back[i], value(kRoot, i)) << "broadcast " << i;
}

void checkUneven(const Rank& me, const std::vector<int32_t>& src, size_t count) {
  const auto n = static_cast<size_t>(me.size);
  std::vector<size_t> counts(n), displs(n);
  for (size_t r = 0; r < n; ++r) {
    counts[r] = lengthOf(static_cast<int>(r), count);
    displs[r] = r * (count + 1);
  }
  const size_t mine = counts[static_cast<size_t>(me.rank)];
  std::vector<int32_t> all(n * (count + 1), -1), back(count + 1, -1);
  ASSERT_EQ(rondoGatherV(src.data(), mine, all.data(), counts.data(), displs.data(), rondoInt32,
                         kRoot, me.comm, nullptr),
            rondoSuccess);
  for (size_t r = 0; r < n; ++r) {
    for (size_t i = 0; i <= count; ++i) {
      const int32_t wanted = i < counts[r] ? value(static_cast<int>(r), i) : -1;
      ASSERT_EQ(all[displs[r] + i], me.rank == kRoot ? wanted : -1) << "gatherv " << r;
    }
  }
  ASSERT_EQ(rondoScatterV(all.data(), counts.data(), displs.data(), back.data(), mine, rondoInt32,
                          kRoot, me.comm, nullptr),
            rondoSuccess);
  for (size_t i = 0; i <= count; ++i) {
    ASSERT_EQ(back[i], i < mine ? value(me.rank, i) : -1) << "scatterv " << i;
  }
}

/// Every collective on each of these counts.
void checkAll(World& world, const std::vector<size_t>& counts) {
  world.run([&counts](const Rank& me) {
    for (const size_t count : counts) {
      std::vector<int32_t> src(count);
      for (size_t i = 0; i < count; ++i) src[i] = value(me.rank, i);
      checkReductions(me, src, count);
      checkMoves(me, src, count);
      checkUneven(me, src, count);
      if (::testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST(ShortCalls, AtOnce) {
  for (const int ranks : {2, 3}) {
    World world(ranks);
    // 96 bytes are the most that travel in a header, 4096 the least that is posted in place.
    checkAll(world, {1, 2, 23, 24, 25, 1023, 1024, 5001});
  }
}

/// Memory that peers read where it is: such messages are the Runner's.
TEST(ShortCalls, MemoryOfAllRanks) {
  for (const char* tune : {"allgather:host:0-:ring", "allgather:host:0-:direct"}) {
    World(2).tune(tune).run([](const Rank& me) {
      constexpr size_t kMost = 5001;
      void *from = nullptr, *to = nullptr;
      ASSERT_EQ(rondoMemAlloc(&from, kMost * sizeof(int32_t)), rondoSuccess);
      ASSERT_EQ(rondoMemAlloc(&to, 2 * kMost * sizeof(int32_t)), rondoSuccess);
      auto* const src = static_cast<int32_t*>(from);
      auto* const dst = static_cast<int32_t*>(to);
      for (const size_t count : {size_t{24}, size_t{1023}, size_t{1024}, kMost}) {
        for (size_t i = 0; i < count; ++i) src[i] = value(me.rank, i);
        std::fill(dst, dst + 2 * count, -1);
        ASSERT_EQ(rondoAllGather(src, dst, count, rondoInt32, me.comm, nullptr), rondoSuccess);
        // Nobody reads src any more.
        std::fill(src, src + count, -2);
        for (size_t i = 0; i < 2 * count; ++i) {
          ASSERT_EQ(dst[i], value(static_cast<int>(i / count), i % count)) << count << ' ' << i;
        }
      }
      EXPECT_EQ(rondoMemFree(from), rondoSuccess);
      EXPECT_EQ(rondoMemFree(to), rondoSuccess);
    });
  }
}

/// Some messages, of one rank, come after more polls than the short way makes: the Runner goes on
/// with the steps that are left.
TEST(ShortCalls, Late) {
  World world(3);
  world.decorate([](Channels& channels, int rank) {
    if (rank != kRoot) return;
    injectFaults(channels, rank, [](const PortId&) {
      Faults faults;
      faults.mostDelay = 120;
      return faults;
    });
  });
  checkAll(world, {2, 24, 1000, 3000});
}

/// A short message of another call is noticed, wherever it is found.
TEST(ShortCalls, AnotherCallsMessage) {
  World(2).run([](const Rank& me) {
    int32_t src = 1, dst = 0;
    const rondoResult_t result =
        me.rank == 0 ? rondoAllReduce(&src, &dst, 1, rondoInt32, rondoSum, me.comm, nullptr)
                     : rondoAllReduce(&src, &dst, 1, rondoInt32, rondoMax, me.comm, nullptr);
    EXPECT_EQ(result, rondoMismatch);
    const std::string why = rondoGetLastError(me.comm);
    EXPECT_NE(why.find("op sum"), std::string::npos) << why;
    EXPECT_NE(why.find("op max"), std::string::npos) << why;
  });
}

/// A rank whose part is empty is silent, and the others wait for its call after their own steps.
/// Where they are then is asked after a while.
TEST(ShortCalls, ALongWaitForASilentRank) {
  World(2).run([](const Rank& me) {
    const size_t counts[] = {1, 0}, displs[] = {0, 1};
    int32_t src = 7, dst = 0;
    if (me.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ASSERT_EQ(
        rondoAllGatherV(&src, counts[me.rank], &dst, counts, displs, rondoInt32, me.comm, nullptr),
        rondoSuccess);
    EXPECT_EQ(dst, 7);
  });
}

}  // namespace
}  // namespace rondo::testing
