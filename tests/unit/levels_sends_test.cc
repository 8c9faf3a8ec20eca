// Sends and receives of communicators in levels: by kernels inside a host, by host memory between
// hosts, and in one group by both at once. Without a GPU, as levels_device_test.cc.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "api/device_uneven.h"
#include "support/far_world.h"

namespace rondo::testing {
namespace {

const std::vector<std::vector<int>> kShapes = {
    {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 1, 0}, {0, 0, 0, 1, 1, 1}};

/// Sends so far by kernels inside this host, on all its ranks.
int nearSends(const FarRank& me) {
  me.barrier.arrive_and_wait();
  const int all = me.host->sends();
  me.barrier.arrive_and_wait();
  return all;
}

/// Waits for the rank's streams, but not for ever: what waits in a circle is ended, and a failure.
void finish(const FarRank& me) {
#ifdef __SANITIZE_THREAD__
  constexpr std::chrono::seconds kPatience{100};
#else
  constexpr std::chrono::seconds kPatience{20};
#endif
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!me.stream.idle() || !me.other.idle()) {
    if (std::chrono::steady_clock::now() > end) {
      ADD_FAILURE() << "rank " << me.rank << " waits for ever";
      EXPECT_EQ(rondoCommRevoke(me.comm), rondoSuccess);
      break;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  me.stream.synchronize();
  me.other.synchronize();
}

/// As a call of its own, or collected by an open group.
void transfer(const FarRank& me, const Transfer& each, PretendedStream& stream) {
  me.good(runOnDevice(me.comm, TransferCall{"rondoTest", {&each, 1}, stream.handle()}));
}

/// What one rank sends another in one group.
struct Message {
  int from, to;
  size_t count;
  bool otherStream;
  size_t offset = 0;  ///< Of its data in the receiver's buffer.
};

/// The same on all ranks: messages of every pair, each rank to itself too, some of nothing.
std::vector<Message> randomMessages(uint32_t seed, int ranks) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t n) { return static_cast<int>(random() % n); };
  const size_t lengths[] = {0, 1, 3, 1000, 40'001, 300'007};
  std::vector<Message> all;
  std::vector<size_t> ends(static_cast<size_t>(ranks), 0);
  for (int i = 0; i < 6 * ranks; ++i) {
    const auto n = static_cast<uint32_t>(ranks);
    Message each{below(n), below(n), lengths[below(6)], below(2) == 1};
    each.offset = ends[static_cast<size_t>(each.to)];
    ends[static_cast<size_t>(each.to)] += each.count;
    all.push_back(each);
  }
  return all;
}

/// Those of one host's ranks; of a rank to itself where it has others with that host's.
int nearOf(const std::vector<Message>& all, const std::vector<int>& hosts, int host) {
  const auto isNear = [&](const Message& each) {
    return each.count > 0 && hosts[static_cast<size_t>(each.from)] == host &&
           hosts[static_cast<size_t>(each.to)] == host;
  };
  const auto meets = [&](int rank) {
    return std::any_of(all.begin(), all.end(), [&](const Message& each) {
      return isNear(each) && each.from != each.to && (each.from == rank || each.to == rank);
    });
  };
  return static_cast<int>(std::count_if(all.begin(), all.end(), [&](const Message& each) {
    return isNear(each) && (each.from != each.to || meets(each.from));
  }));
}

void exchange(const FarRank& me, const std::vector<Message>& all, Ints& out, Ints& got) {
  ASSERT_EQ(rondoGroupStart(), rondoSuccess);
  for (const Message& each : all) {
    PretendedStream& stream = each.otherStream ? me.other : me.stream;
    if (each.from == me.rank) {
      transfer(me, transferOf(each.to, true, out.data() + each.to, each.count), stream);
    }
    if (each.to == me.rank) {
      transfer(me, transferOf(each.from, false, got.data() + each.offset, each.count), stream);
    }
  }
  ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(me.comm);
}

void expectMessages(const FarRank& me, const std::vector<Message>& all, const Ints& got) {
  for (const Message& each : all) {
    if (each.to != me.rank) continue;
    const auto want = [&](size_t i) {
      return element(each.from, static_cast<size_t>(each.to) + i);
    };
    EXPECT_EQ(wrong(got.data() + each.offset, each.count, want), 0u)
        << each.count << " from " << each.from << " to " << each.to;
  }
}

TEST(LevelsSends, GroupsOfAnyMixture) {
  for (const auto& hosts : kShapes) {
    onHosts(
        hosts,
        [&hosts](const FarRank& me) {
          Ints out = dataOf(me.rank, 300'100);
          for (uint32_t seed = 0; seed < 6; ++seed) {
            const std::vector<Message> all = randomMessages(seed, me.size);
            Ints got(36 * 300'007, -1);
            const int before = nearSends(me);
            exchange(me, all, out, got);
            finish(me);
            expectMessages(me, all, got);
            const int host = hosts[static_cast<size_t>(me.rank)];
            EXPECT_EQ(nearSends(me) - before, nearOf(all, hosts, host)) << seed;
          }
          EXPECT_EQ(out, dataOf(me.rank, 300'100));
        },
        kLevels);
  }
}

/// To all ranks, each length another, many pieces each, and again before the others are done.
TEST(LevelsSends, LongOnesToSeveralRanksInARow) {
  for (const auto& hosts : {kShapes.front(), kShapes.back()}) {
    onHosts(
        hosts,
        [](const FarRank& me) {
          const auto countOf = [&](int from, int to) {
            return size_t{300'001} + static_cast<size_t>(from * me.size + to) * 10'013;
          };
          std::vector<Message> all;
          std::vector<size_t> ends(static_cast<size_t>(me.size), 0);
          for (int from = 0; from < me.size; ++from) {
            for (int to = 0; to < me.size; ++to) {
              size_t& end = ends[static_cast<size_t>(to)];
              all.push_back({from, to, countOf(from, to), false, end});
              end += countOf(from, to);
            }
          }
          constexpr int kRounds = 3;
          Ints out = dataOf(me.rank, 1'000'000);
          std::vector<Ints> got(kRounds, Ints(ends[static_cast<size_t>(me.rank)], -1));
          for (Ints& each : got) exchange(me, all, out, each);
          finish(me);
          for (const Ints& each : got) expectMessages(me, all, each);
        },
        kLevels);
  }
}

/// Rank 0 has one transfer with its neighbour and one with a rank of another host in a group; what
/// it receives there comes only after what it sends, by way of the two others' calls.
struct Chain {
  int second, third;
  Ints data = Ints(kCount), got = Ints(kCount);
  static constexpr size_t kCount = 400'000;  // more than is on its way at once

  Chain(int neighbour, int far, bool nearFirst)
      : second(nearFirst ? neighbour : far), third(nearFirst ? far : neighbour) {}
  void enqueue(const FarRank& me) {
    const auto pass = [&](int from, int to) {
      me.good(me.transfer({transferOf(from, false, got.data(), kCount)}));
      me.good(me.transfer({transferOf(to, true, got.data(), kCount)}));
    };
    if (me.rank == 0) {
      me.good(me.transfer({transferOf(third, false, got.data(), kCount),
                           transferOf(second, true, data.data(), kCount)}));
    } else if (me.rank == second) {
      pass(0, third);
    } else if (me.rank == third) {
      pass(second, 0);
    }
  }
  void expect(const FarRank& me, const Ints& want) const {
    const bool takesPart = me.rank == 0 || me.rank == second || me.rank == third;
    const size_t bad = wrong(got.data(), kCount, [&](size_t i) { return want[i]; });
    EXPECT_EQ(takesPart ? bad : 0, 0u);
  }
};

// Launches one after the other would wait for each other in a circle, whichever is the first.
TEST(LevelsSends, NearAndFarOnesOfAGroupDoNotWaitForEachOther) {
  const auto run = [](const FarRank& me, int neighbour, int far, bool nearFirst) {
    Chain chain(neighbour, far, nearFirst);
    chain.data = dataOf(0, Chain::kCount);
    chain.enqueue(me);
    finish(me);
    chain.expect(me, dataOf(0, Chain::kCount));
  };
  for (const bool nearFirst : {false, true}) {
    onHosts(
        {0, 0, 1, 1}, [&](const FarRank& me) { run(me, 1, 3, nearFirst); }, kLevels);
    onHosts(
        {0, 1, 0, 1}, [&](const FarRank& me) { run(me, 2, 1, nearFirst); }, kLevels);
  }
}

// The group begins when what is on each of its streams has ended, and these go on when it has.
TEST(LevelsSends, EveryStreamOfAGroupWaits) {
  onHosts(
      {0, 0, 1, 1},
      [](const FarRank& me) {
        constexpr size_t kCount = 50'000;
        const int near = me.rank ^ 1, far = me.rank ^ 2;
        for (const bool both : {true, false}) {
          Ints out(kCount, -1), first(kCount, -1), second(kCount, -1), seen;
          const Ints data = dataOf(me.rank, kCount);
          me.other.enqueue([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            out = data;
          });
          ASSERT_EQ(rondoGroupStart(), rondoSuccess);
          transfer(me, transferOf(near, false, first.data(), kCount), me.stream);
          transfer(me, transferOf(near, true, out.data(), kCount), me.other);
          if (both) {
            transfer(me, transferOf(far, true, out.data(), kCount), me.other);
            transfer(me, transferOf(far, false, second.data(), kCount), me.stream);
          }
          ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(me.comm);
          // Both results, on the stream that the group was not launched on.
          me.other.enqueue([&] {
            seen = first;
            if (both) seen.insert(seen.end(), second.begin(), second.end());
          });
          finish(me);
          const auto want = [&](size_t i) { return element(i < kCount ? near : far, i % kCount); };
          ASSERT_EQ(seen.size(), both ? 2 * kCount : kCount);
          EXPECT_EQ(wrong(seen.data(), seen.size(), want), 0u);
        }
      },
      kLevels);
}

// The far part ends on a stream of the runner's: what comes next on the caller's waits for it.
TEST(LevelsSends, WhatComesNextWaitsForBothParts) {
  onHosts(
      {0, 0, 1, 1},
      [](const FarRank& me) {
        constexpr size_t kCount = 50'000;
        const int near = me.rank ^ 1, far = me.rank ^ 2;
        Ints out = dataOf(me.rank, kCount), first(kCount, -1), second(kCount, -1), seen;
        for (int round = 0; round < 10; ++round) {
          second.assign(kCount, -1);
          if (me.rank == round % 4) std::this_thread::sleep_for(std::chrono::milliseconds(5));
          me.good(me.transfer({transferOf(near, false, first.data(), kCount),
                               transferOf(far, true, out.data(), kCount),
                               transferOf(near, true, out.data(), kCount),
                               transferOf(far, false, second.data(), kCount)}));
          me.stream.enqueue([&] { seen = second; });
          finish(me);
          EXPECT_EQ(wrong(seen.data(), kCount, [&](size_t i) { return element(far, i); }), 0u);
        }
      },
      kLevels);
}

TEST(LevelsSends, GraphsOfBothAreReplayed) {
  onHosts(
      {0, 0, 1, 1},
      [](const FarRank& me) {
        constexpr size_t kCount = 300'001;
        Ints out(kCount), fromNear(kCount), fromFar(kCount), own(kCount);
        const int near = me.rank ^ 1, far = me.rank ^ 2;
        Chain one(1, 3, false), other(1, 3, true);
        std::vector<PretendedStream::Work> graph;
        me.stream.captureInto(&graph);
        me.good(me.transfer({transferOf(far, false, fromFar.data(), kCount),
                             transferOf(near, true, out.data(), kCount),
                             transferOf(me.rank, true, out.data(), kCount),
                             transferOf(far, true, out.data(), kCount),
                             transferOf(me.rank, false, own.data(), kCount),
                             transferOf(near, false, fromNear.data(), kCount)}));
        one.enqueue(me);
        other.enqueue(me);
        me.stream.captureInto(nullptr);
        for (int replay = 0; replay < 5; ++replay) {
          const auto value = [&](int rank, size_t i) { return element(rank, i) ^ replay << 8; };
          for (size_t i = 0; i < kCount; ++i) out[i] = value(me.rank, i);
          const Ints sent = dataOf(replay, Chain::kCount);
          for (Chain* each : {&one, &other})
            std::copy(sent.begin(), sent.end(), each->data.begin());
          fromNear.assign(kCount, -1);
          fromFar.assign(kCount, -1);
          own.assign(kCount, -1);
          me.stream.replay(graph);
          finish(me);
          EXPECT_EQ(wrong(fromNear.data(), kCount, [&](size_t i) { return value(near, i); }), 0u);
          EXPECT_EQ(wrong(fromFar.data(), kCount, [&](size_t i) { return value(far, i); }), 0u);
          EXPECT_EQ(wrong(own.data(), kCount, [&](size_t i) { return value(me.rank, i); }), 0u);
          one.expect(me, sent);
          other.expect(me, sent);
        }
        // To the neighbour and to itself, on both ranks; of each chain one.
        EXPECT_EQ(nearSends(me), 5 * (4 + (me.rank < 2 ? 2 : 0)));
      },
      kLevels);
}

TEST(LevelsSends, ToItselfAndOfNothing) {
  onHosts(
      {0, 0, 1, 1},
      [](const FarRank& me) {
        Ints out = dataOf(me.rank, 1000), got(1000, -1);
        me.good(me.transfer({transferOf(me.rank, true, out.data(), 600),
                             transferOf(me.rank, false, got.data(), 600),
                             transferOf(me.rank, true, out.data() + 600, 400),
                             transferOf(me.rank, false, got.data() + 600, 400)}));
        finish(me);
        EXPECT_EQ(got, out);
        for (const int peer : {me.rank ^ 1, me.rank ^ 2}) {
          me.good(me.transfer({transferOf(peer, me.rank % 2 == 0, out.data(), 0)}));
        }
        finish(me);
        EXPECT_EQ(nearSends(me), 0);
      },
      kLevels);
}

TEST(LevelsSends, CollectivesThatAreMadeOfThem) {
  for (const auto& hosts : kShapes) {
    onHosts(
        hosts,
        [&hosts](const FarRank& me) {
          constexpr size_t kCount = 20'003;
          const auto n = static_cast<size_t>(me.size), mine = static_cast<size_t>(me.rank);
          const Ints in = dataOf(me.rank, n * kCount);
          Ints gathered(n * kCount, -1), scattered(kCount, -1), swapped(n * kCount, -1);
          const int root = me.size - 1;
          const int places = me.host->ranks();
          const bool besideRoot = hosts[mine] == hosts[n - 1];
          int before = nearSends(me);
          me.good(me.collective(Collective::Gather, in, gathered.data(), kCount, root));
          finish(me);
          // On the root's host its own too, which is in its neighbours' launch.
          EXPECT_EQ(nearSends(me) - before, besideRoot ? places : 0);
          before = nearSends(me);
          me.good(me.collective(Collective::Scatter, in, scattered.data(), kCount, root));
          finish(me);
          EXPECT_EQ(nearSends(me) - before, besideRoot ? places : 0);
          UnevenBlocks blocks;
          for (size_t r = 0; r < n; ++r) {
            blocks.counts.push_back(kCount);
            blocks.displs.push_back(r * kCount);
          }
          blocks.total = blocks.extent = n * kCount;
          before = nearSends(me);
          me.good(runOnDevice(
              me.comm,
              UnevenDeviceCall{"rondoTest", Collective::AllToAll, in.data(), swapped.data(),
                               rondoInt32, rondoSum, 0, me.stream.handle(), blocks, blocks}));
          finish(me);
          EXPECT_EQ(nearSends(me) - before, places * places);
          const auto slotOf = [&](size_t i) {
            return me.rank == root ? element(static_cast<int>(i / kCount), i % kCount) : -1;
          };
          EXPECT_EQ(wrong(gathered.data(), n * kCount, slotOf), 0u);
          const auto partOf = [&](size_t i) { return element(root, mine * kCount + i); };
          EXPECT_EQ(wrong(scattered.data(), kCount, partOf), 0u);
          const auto blockOf = [&](size_t i) {
            return element(static_cast<int>(i / kCount), mine * kCount + i % kCount);
          };
          EXPECT_EQ(wrong(swapped.data(), n * kCount, blockOf), 0u);
        },
        kLevels);
  }
}

// What a broadcast passes on inside a host is no message that somebody waits for, and the other way
// round: the neighbour receives what was sent before the broadcast only after it.
TEST(LevelsSends, WhatABroadcastPassesOnIsNotMixedUpWithThem) {
  onHosts(
      {0, 0, 1, 1},
      [](const FarRank& me) {
        constexpr size_t kCount = 30'000;
        Ints out = dataOf(5, kCount), got(kCount, -1), sent(kCount, -1);
        const Ints in = dataOf(0, kCount);
        const DeviceCall broadcast{"rondoTest",      Collective::Broadcast,
                                   in.data(),        sent.data(),
                                   kCount,           rondoInt32,
                                   rondoSum,         0,
                                   me.other.handle()};
        if (me.rank == 0) {
          ASSERT_EQ(rondoGroupStart(), rondoSuccess);
          transfer(me, transferOf(1, true, out.data(), kCount), me.stream);
          me.good(runOnDevice(me.comm, broadcast));
          ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(me.comm);
        } else {
          me.good(runOnDevice(me.comm, broadcast));
          finish(me);
          if (me.rank == 1) transfer(me, transferOf(0, false, got.data(), kCount), me.stream);
        }
        finish(me);
        EXPECT_EQ(wrong(sent.data(), kCount, [](size_t i) { return element(0, i); }), 0u);
        if (me.rank != 1) return;
        EXPECT_EQ(wrong(got.data(), kCount, [](size_t i) { return element(5, i); }), 0u);
      },
      kLevels);
}

// Of a far one: kernels inside a host do not compare lengths, as on one host.
TEST(LevelsSends, LengthsThatDifferAreToldWithTheCommunicatorsRanks) {
  std::atomic<int> named{0};
  onHosts(
      {0, 0, 1, 1},
      [&](const FarRank& me) {
        Ints data(6000), other(6000);
        const int near = me.rank ^ 1, far = me.rank ^ 2;
        const rondoResult_t result =
            me.transfer({transferOf(far, me.rank < 2, data.data(), me.rank == 1 ? 6000 : 5000),
                         transferOf(near, me.rank % 2 == 0, other.data(), 100)});
        // Ranks 1 and 3 may be told before another one calls.
        EXPECT_TRUE(result == rondoSuccess || (me.rank % 2 == 0 && result == rondoMismatch));
        expectBroken(me, rondoMismatch, "");
        const std::string why = rondoGetLastError(me.comm);
        if (why.find("rank 3 receives 20000 bytes from rank 1") != why.npos) ++named;
      },
      kLevels);
  EXPECT_GE(named.load(), 1);
}

// Neither partner of rank 0 comes, nor the one of rank 2.
TEST(LevelsSends, AbortEndsBothPartsOfAGroup) {
  for (const int who : {0, 1, 3}) {
    onHosts(
        {0, 0, 1, 1},
        [who](const FarRank& me) {
          Ints data(600'000), got(600'000), more(600'000);
          if (me.rank % 2 == 0) {
            me.good(me.transfer({transferOf(me.rank + 1, false, got.data(), 600'000),
                                 transferOf(me.rank + 1, true, data.data(), 600'000),
                                 transferOf(3 - me.rank, false, more.data(), 600'000)}));
          }
          me.barrier.arrive_and_wait();
          if (me.rank == who) {
            EXPECT_EQ(rondoCommRevoke(me.comm), rondoSuccess);
          }
          expectBroken(me, rondoRemoteError, "");
        },
        kLevels);
  }
}

TEST(LevelsSends, NoneIsEnqueuedOnceAKernelInsideTheHostGaveUp) {
  std::deque<std::atomic<bool>> broken(4);
  FarWorld world = kLevels;
  world.broken = &broken;
  onHosts(
      {0, 0, 1, 1},
      [&](const FarRank& me) {
        Ints data(10);
        me.barrier.arrive_and_wait();
        if (me.rank == 1) {
          broken[1] = true;
          for (const int peer : {0, 3}) {
            EXPECT_EQ(me.transfer({transferOf(peer, true, data.data(), 10)}), rondoRemoteError);
            EXPECT_NE(std::string(rondoGetLastError(me.comm)).find("a pretended kernel gave up"),
                      std::string::npos);
          }
        }
        me.barrier.arrive_and_wait();
        EXPECT_EQ(nearSends(me), 0);
      },
      world);
}

}  // namespace
}  // namespace rondo::testing
