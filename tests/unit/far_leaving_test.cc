// Kernels between hosts that get nothing do not wait for those who get it: what they gave arrives
// all the same, and nothing takes its place before. On pretended devices.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "support/far_world.h"

namespace rondo::testing {
namespace {

constexpr size_t kCount = 60'001;  // of several chunks, fewer than there are slots

/// Whether all that is on the stream ends though the other rank does nothing.
bool endsAlone(const FarRank& me) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!me.stream.idle() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return me.stream.idle();
}

/// Rank 0 makes its call and gives its buffer other values; later rank 1 makes its own.
void givesAndLeaves(const FarRank& me, const std::function<void(Ints&)>& call, Ints data) {
  if (me.rank == 0) {
    call(data);
    EXPECT_TRUE(endsAlone(me));
    std::fill(data.begin(), data.end(), -2);
  }
  me.barrier.arrive_and_wait();
  if (me.rank == 1) call(data);
  me.stream.synchronize();
}

TEST(FarLeaving, TheRootOfABroadcast) {
  onHosts({0, 1}, [](const FarRank& me) {
    for (const size_t count : {size_t{1}, size_t{700}, kCount}) {  // in lines, one chunk, several
      Ints got(count, -1);
      givesAndLeaves(
          me,
          [&](Ints& data) {
            me.good(me.collective(Collective::Broadcast, data, got.data(), count));
          },
          dataOf(me.rank, count));
      EXPECT_EQ(wrong(got.data(), count, [&](size_t i) { return element(0, i); }), 0u) << count;
    }
  });
}

TEST(FarLeaving, WhoGivesToAReduce) {
  onHosts({0, 1}, [](const FarRank& me) {
    Ints sum(kCount, -1);
    givesAndLeaves(
        me,
        [&](Ints& data) {
          me.good(me.collective(Collective::Reduce, data, sum.data(), kCount, 1));
        },
        dataOf(me.rank, kCount));
    const auto value = [&](size_t i) { return me.rank == 1 ? sumOf(2, i) : -1; };
    EXPECT_EQ(wrong(sum.data(), kCount, value), 0u);
  });
}

TEST(FarLeaving, WhoSends) {
  onHosts({0, 1}, [](const FarRank& me) {
    for (int again = 0; again < 3; ++again) {
      Ints got(kCount, -1);
      givesAndLeaves(
          me,
          [&](Ints& data) {
            me.good(me.transfer({transferOf(1 - me.rank, me.rank == 0,
                                            me.rank == 0 ? data.data() : got.data(), kCount)}));
          },
          dataOf(me.rank + again, kCount));
      const auto value = [&](size_t i) { return me.rank == 1 ? element(again, i) : -1; };
      EXPECT_EQ(wrong(got.data(), kCount, value), 0u);
    }
  });
}

/// Short sends in a row, each a launch: those behind wait for those that left.
TEST(FarLeaving, ManySendsInARow) {
  onHosts({0, 1}, [](const FarRank& me) {
    constexpr size_t kSends = 64, kEach = 17;
    Ints all = me.rank == 0 ? dataOf(0, kSends * kEach) : Ints(kSends * kEach, -1);
    if (me.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (size_t k = 0; k < kSends; ++k) {
      me.good(me.transfer({transferOf(1 - me.rank, me.rank == 0, all.data() + k * kEach, kEach)}));
    }
    me.stream.synchronize();
    EXPECT_EQ(wrong(all.data(), all.size(), [](size_t i) { return element(0, i); }), 0u);
  });
}

/// In lines, in one place, in places of all lanes, and back, while numbers wrap and lines are
/// cleared.
TEST(FarLeaving, SendsOfAllLengthsInTurn) {
  onHosts({0, 1}, [](const FarRank& me) {
    me.comm->impl->deviceRunner()->startEpochsAt(0xfffffff4u);
    me.barrier.arrive_and_wait();
    std::mt19937 agreed(11), own(static_cast<unsigned>(me.rank));
    for (int k = 0; k < 48; ++k) {
      constexpr size_t kMost[] = {1, 512, 513, 9'000, 200'000};
      const size_t most = kMost[agreed() % std::size(kMost)],
                   count = most - agreed() % 2 * (most / 2);
      const bool both = agreed() % 2 == 0, sends = both || agreed() % 2 == (me.rank == 0 ? 0u : 1u);
      Ints out = dataOf(me.rank + k, count), in(count + 1, -1);
      if (own() % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(own() % 4));
      std::vector<Transfer> all;
      if (sends) all.push_back(transferOf(1 - me.rank, true, out.data(), count));
      if (both || !sends) all.push_back(transferOf(1 - me.rank, false, in.data(), count));
      me.good(runOnDevice(me.comm, {"rondoTest", all, me.stream.handle()}));
      me.stream.synchronize();
      if (!both && sends) continue;
      ASSERT_EQ(wrong(in.data(), count, [&](size_t i) { return element(1 - me.rank + k, i); }), 0u)
          << count << ", call " << k;
      EXPECT_EQ(in.back(), -1);
    }
  });
}

/// Calls of all kinds and lengths, ranks that come late to some, and numbers that wrap.
TEST(FarLeaving, WhatFollowsWaitsForTheMemory) {
  onHosts({0, 1, 1, 2}, [](const FarRank& me) {
    me.comm->impl->deviceRunner()->startEpochsAt(0xffffffd0u);
    me.barrier.arrive_and_wait();
    std::mt19937 agreed(7), own(static_cast<unsigned>(me.rank));
    for (int k = 0; k < 60; ++k) {
      constexpr Collective kKinds[] = {Collective::Broadcast, Collective::Broadcast,
                                       Collective::Reduce, Collective::AllReduce,
                                       Collective::AllGather};
      const Collective kind = kKinds[agreed() % std::size(kKinds)];
      const int root = static_cast<int>(agreed() % 4);
      const size_t count = agreed() % 3 == 0 ? 1 + agreed() % 700 : 1 + agreed() % 100'000;
      const size_t slots = kind == Collective::AllGather ? 4 : 1;
      const Ints in = dataOf(me.rank + k, count);
      Ints out(count * slots, -1);
      if (own() % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(own() % 8));
      me.good(me.collective(kind, in, out.data(), count, root));
      // Streams go on; only what is looked at is waited for.
      me.stream.synchronize();
      const auto sum = [&](size_t i) {
        int32_t all = 0;
        for (int r = 0; r < 4; ++r) all += element(r + k, i);
        return all;
      };
      const auto value = [&](size_t i) {
        switch (kind) {
          case Collective::Broadcast:
            return element(root + k, i);
          case Collective::AllGather:
            return element(static_cast<int>(i / count) + k, i % count);
          case Collective::Reduce:
            return me.rank == root ? sum(i) : -1;
          default:
            return sum(i);
        }
      };
      ASSERT_EQ(wrong(out.data(), out.size(), value), 0u)
          << collectiveName(kind) << " of " << count << ", call " << k;
    }
  });
}

/// More chunks than there are places, and blocks of a kernel that come late.
TEST(FarLeaving, LongOnesInARow) {
  onHosts({0, 1, 1}, [](const FarRank& me) {
    constexpr size_t kLong = 2'000'000;
    for (int k = 0; k < 4; ++k) {
      const Ints in = dataOf(me.rank + k, kLong);
      Ints out(kLong, -1);
      const int root = k % 3;
      me.good(me.collective(Collective::Broadcast, in, out.data(), kLong, root));
      me.stream.synchronize();
      EXPECT_EQ(wrong(out.data(), kLong, [&](size_t i) { return element(root + k, i); }), 0u);
    }
  });
}

/// It has given everything when its communicator has ended, though nobody has taken it yet.
TEST(FarLeaving, ACommunicatorThatEndsAtOnce) {
  // the long one is more than the network takes before anybody asks for it
  for (const size_t count : {size_t{5}, size_t{1'000'000}}) {
    onHosts({0, 1}, [count](const FarRank& me) {
      const size_t sent = std::min(count, size_t{200'000});
      Ints data = dataOf(0, count), got(count, -1), second(sent, -1);
      if (me.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      me.good(me.collective(Collective::Broadcast, data, got.data(), count));
      me.good(me.transfer({transferOf(1 - me.rank, me.rank == 0,
                                      me.rank == 0 ? data.data() : second.data(), sent)}));
      if (me.rank == 0) {
        EXPECT_TRUE(endsAlone(me));
        return;  // and its communicator ends
      }
      me.stream.synchronize();
      EXPECT_EQ(wrong(got.data(), count, [](size_t i) { return element(0, i); }), 0u);
      EXPECT_EQ(wrong(second.data(), sent, [](size_t i) { return element(0, i); }), 0u);
    });
  }
}

/// Nor does its end wait for what nobody will take: the other one has ended its communicator.
TEST(FarLeaving, WhatNobodyIsThereToTake) {
  constexpr size_t kMuch = 900'000;  // more than the network takes before anybody asks for it
  for (const bool sends : {false, true}) {
    onHosts({0, 1}, [sends](const FarRank& me) {
      if (me.rank == 1) return;
      Ints data = dataOf(0, kMuch), got(kMuch);
      if (sends) {
        me.good(me.transfer({transferOf(1, true, data.data(), kMuch)}));
      } else {
        me.good(me.collective(Collective::Broadcast, data, got.data(), kMuch));
      }
      EXPECT_TRUE(endsAlone(me));
    });
  }
}

}  // namespace
}  // namespace rondo::testing
