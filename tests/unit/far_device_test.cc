// Device memory on communicators that span hosts, without a GPU: the kernels' code runs on threads
// (tests/support/pretended_device.h), everything else is what a GPU has. Hosts are threads with
// another host id, between which UCX is.

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>

#include "api/device_uneven.h"
#include "coll/far_staging.h"
#include "coll/flight_view.h"
#include "support/far_world.h"

namespace rondo::testing {
namespace {

/// Every collective at this count, one after the other without a wait between.
void everyCollective(const FarRank& me, size_t count) {
  const auto n = static_cast<size_t>(me.size), mine = static_cast<size_t>(me.rank);
  const int root = me.size - 1;
  const Ints in = dataOf(me.rank, count * n);
  Ints sum(count + 1, -1), reduced(count + 1, -1), all(count * n + 1, -1), part(count + 1, -1),
      swapped(count * n + 1, -1), sent(count + 1, -1), scattered(count + 1, -1);
  Ints gathered(count * n + 1, -1), upTo(count + 1, -1), before(count + 1, -1);
  me.good(me.collective(Collective::AllReduce, in, sum.data(), count));
  me.good(me.collective(Collective::Reduce, in, reduced.data(), count, root));
  me.good(me.collective(Collective::AllGather, in, all.data(), count));
  me.good(me.collective(Collective::ReduceScatter, in, part.data(), count));
  me.good(me.collective(Collective::AllToAll, in, swapped.data(), count));
  me.good(me.collective(Collective::Broadcast, in, sent.data(), count, root));
  me.good(me.collective(Collective::Gather, in, gathered.data(), count, root));
  me.good(me.collective(Collective::Scatter, in, scattered.data(), count, root));
  me.good(me.collective(Collective::Scan, in, upTo.data(), count));
  me.good(me.collective(Collective::Exscan, in, before.data(), count));
  me.stream.synchronize();
  EXPECT_EQ(wrong(sum.data(), count, [&](size_t i) { return sumOf(me.size, i); }), 0u);
  EXPECT_EQ(wrong(upTo.data(), count, [&](size_t i) { return sumOf(me.rank + 1, i); }), 0u);
  const auto sumBefore = [&](size_t i) { return me.rank == 0 ? -1 : sumOf(me.rank, i); };
  EXPECT_EQ(wrong(before.data(), count, sumBefore), 0u);
  const bool isRoot = me.rank == root;
  const auto reducedTo = [&](size_t i) { return isRoot ? sumOf(me.size, i) : -1; };
  EXPECT_EQ(wrong(reduced.data(), count, reducedTo), 0u);
  const auto slotOf = [&](size_t i) { return element(static_cast<int>(i / count), i % count); };
  EXPECT_EQ(wrong(all.data(), count * n, slotOf), 0u);
  const auto partOf = [&](size_t i) { return sumOf(me.size, mine * count + i); };
  EXPECT_EQ(wrong(part.data(), count, partOf), 0u);
  const auto blockOf = [&](size_t i) {
    return element(static_cast<int>(i / count), mine * count + i % count);
  };
  EXPECT_EQ(wrong(swapped.data(), count * n, blockOf), 0u);
  EXPECT_EQ(wrong(sent.data(), count, [&](size_t i) { return element(root, i); }), 0u);
  const auto gatheredOf = [&](size_t i) { return isRoot ? slotOf(i) : -1; };
  EXPECT_EQ(wrong(gathered.data(), count * n, gatheredOf), 0u);
  const auto scatteredOf = [&](size_t i) { return element(root, mine * count + i); };
  EXPECT_EQ(wrong(scattered.data(), count, scatteredOf), 0u);
  for (const Ints* each :
       {&sum, &reduced, &all, &part, &swapped, &sent, &gathered, &scattered, &upTo, &before}) {
    EXPECT_EQ(each->back(), -1) << "past the end, count " << count;
  }
}

TEST(FarDevice, EveryCollectiveOfAnyLength) {
  for (const auto& hosts : std::vector<std::vector<int>>{{0, 1}, {0, 1, 1}, {0, 1, 1, 0, 1}}) {
    onHosts(hosts, [](const FarRank& me) {
      // in lines, one block, several, one chunk, several, more than there are slots
      for (const size_t count : {1u, 3u, 341u, 1000u, 40001u, 150001u, 700000u}) {
        everyCollective(me, count);
      }
    });
  }
}

/// Counts of their own: rank r has (r + 2) % 3 units.
TEST(FarDevice, UnevenCounts) {
  onHosts({0, 1, 1}, [](const FarRank& me) {
    constexpr size_t kUnit = 60'007;
    const auto mine = static_cast<size_t>(me.rank);
    UnevenBlocks all;
    for (size_t r = 0; r < 3; ++r) {
      all.counts.push_back((r + 2) % 3 * kUnit);
      all.displs.push_back(all.total);
      all.total = all.extent = all.total + all.counts.back();
    }
    const size_t count = all.counts[mine], place = all.displs[mine];
    UnevenBlocks own = all, nothing = all;
    for (size_t r = 0; r < 3; ++r) {
      if (r != mine) own.counts[r] = 0;
      own.displs[r] = nothing.counts[r] = 0;
    }
    nothing.total = 0;
    UnevenBlocks same = all;  // as many to each as this rank has
    same.counts.assign(3, count);
    same.displs = {0, 1, 2};
    constexpr int kRoot = 2;
    const Ints in = dataOf(me.rank, all.total + kUnit);
    Ints gathered(all.total + 1, -1), rooted(all.total + 1, -1), part(count + 1, -1),
        scattered(count + 1, -1), swapped(all.total + 1, -1);
    const auto run = [&](Collective collective, Ints& out, const UnevenBlocks& src,
                         const UnevenBlocks& dst) {
      me.good(runOnDevice(
          me.comm, UnevenDeviceCall{"rondoTest", collective, in.data(), out.data(), rondoInt32,
                                    rondoSum, kRoot, me.stream.handle(), src, dst}));
    };
    const bool isRoot = me.rank == kRoot;
    run(Collective::AllGather, gathered, own, all);
    run(Collective::Gather, rooted, own, isRoot ? all : nothing);
    run(Collective::ReduceScatter, part, all, own);
    run(Collective::Scatter, scattered, isRoot ? all : nothing, own);
    run(Collective::AllToAll, swapped, same, all);
    me.stream.synchronize();
    const auto blocksOf = [&](size_t i, size_t from) {
      size_t r = 2;
      while (i < all.displs[r]) --r;
      return element(static_cast<int>(r), from + i - all.displs[r]);
    };
    const auto gatheredOf = [&](size_t i) { return blocksOf(i, 0); };
    EXPECT_EQ(wrong(gathered.data(), all.total, gatheredOf), 0u);
    const auto rootedOf = [&](size_t i) { return isRoot ? blocksOf(i, 0) : -1; };
    EXPECT_EQ(wrong(rooted.data(), all.total, rootedOf), 0u);
    EXPECT_EQ(wrong(part.data(), count, [&](size_t i) { return sumOf(3, place + i); }), 0u);
    EXPECT_EQ(wrong(scattered.data(), count, [&](size_t i) { return element(kRoot, place + i); }),
              0u);
    EXPECT_EQ(wrong(swapped.data(), all.total, [&](size_t i) { return blocksOf(i, mine); }), 0u);
    for (const Ints* each : {&gathered, &rooted, &part, &scattered, &swapped}) {
      EXPECT_EQ(each->back(), -1) << "past the end";
    }
  });
}

/// Rank r has (r + p + k) % 3 units for rank p in the k-th call, in the place where it gets p's.
void swapInPlace(const FarRank& me, size_t unit, size_t k) {
  const auto n = static_cast<size_t>(me.size), mine = static_cast<size_t>(me.rank);
  UnevenBlocks blocks;
  for (size_t p = 0; p < n; ++p) {
    blocks.counts.push_back((mine + p + k) % 3 * unit);
    blocks.displs.push_back(blocks.total);
    blocks.total = blocks.extent = blocks.total + blocks.counts.back();
  }
  const auto value = [](size_t from, size_t to, size_t i) {
    return element(static_cast<int>(from * 10 + to), i);
  };
  Ints data(blocks.total + 1, -1);
  for (size_t p = 0; p < n; ++p) {
    for (size_t i = 0; i < blocks.counts[p]; ++i) data[blocks.displs[p] + i] = value(mine, p, i);
  }
  me.good(runOnDevice(
      me.comm, UnevenDeviceCall{"rondoTest", Collective::AllToAll, data.data(), data.data(),
                                rondoInt32, rondoSum, 0, me.stream.handle(), blocks, blocks}));
  me.stream.synchronize();
  for (size_t p = 0; p < n; ++p) {
    EXPECT_EQ(wrong(data.data() + blocks.displs[p], blocks.counts[p],
                    [&](size_t i) { return value(p, mine, i); }),
              0u)
        << "rank " << mine << " from " << p << ", units of " << unit;
  }
  EXPECT_EQ(data.back(), -1);
}

TEST(FarDevice, UnevenAllToAllInPlace) {
  const auto swap = [](const FarRank& me) {
    for (size_t k = 0; k < 3; ++k) {
      for (const size_t unit : {1u, 700u, 70'001u}) swapInPlace(me, unit, k);
    }
  };
  onHosts({0, 1, 1}, swap);
  onHosts({0, 0, 1, 1}, swap, kLevels);
}

TEST(FarDevice, InPlace) {
  onHosts({0, 1, 0}, [](const FarRank& me) {
    constexpr size_t kCount = 100'003;
    const auto n = static_cast<size_t>(me.size), at = static_cast<size_t>(me.rank) * kCount;
    Ints sum = dataOf(me.rank, kCount), part = dataOf(me.rank, kCount * n), all(kCount * n, -1),
         swapped = dataOf(me.rank, kCount * n);
    std::copy(sum.begin(), sum.end(), all.begin() + static_cast<ptrdiff_t>(at));
    const auto run = [&](Collective collective, int32_t* in, int32_t* out) {
      me.good(runOnDevice(me.comm, DeviceCall{"rondoTest", collective, in, out, kCount, rondoInt32,
                                              rondoSum, 0, me.stream.handle()}));
    };
    run(Collective::AllReduce, sum.data(), sum.data());
    run(Collective::ReduceScatter, part.data(), part.data() + at);
    run(Collective::AllGather, all.data() + at, all.data());
    run(Collective::AllToAll, swapped.data(), swapped.data());
    me.stream.synchronize();
    EXPECT_EQ(wrong(sum.data(), kCount, [&](size_t i) { return sumOf(me.size, i); }), 0u);
    EXPECT_EQ(wrong(part.data() + at, kCount, [&](size_t i) { return sumOf(me.size, at + i); }),
              0u);
    EXPECT_EQ(wrong(all.data(), kCount * n,
                    [&](size_t i) { return element(static_cast<int>(i / kCount), i % kCount); }),
              0u);
    EXPECT_EQ(
        wrong(swapped.data(), kCount * n,
              [&](size_t i) { return element(static_cast<int>(i / kCount), at + i % kCount); }),
        0u);
  });
}

TEST(FarDevice, TheRecordSaysThatTheHostServesThem) {
  onHosts({0, 1}, [](const FarRank& me) {
    Ints in = dataOf(me.rank, 100), out(100, -1);
    me.good(me.collective(Collective::AllReduce, in, out.data(), 100));
    expectServed(me, "calls on host memory");
  });
}

TEST(FarDevice, GroupsOfSendsOnSeveralStreams) {
  onHosts({0, 1, 1}, [](const FarRank& me) {
    for (const size_t count : {1u, 777u, 300'000u}) {
      const auto n = static_cast<size_t>(me.size);
      Ints out = dataOf(me.rank, count + n), in(n * count, -1), sum(count, -1);
      ASSERT_EQ(rondoGroupStart(), rondoSuccess);
      for (int k = 0; k < me.size; ++k) {  // receives first; to itself, too
        const auto from = static_cast<size_t>(k);
        const Transfer take = transferOf(k, false, in.data() + from * count, count);
        const Transfer give = transferOf(me.size - 1 - k, true,
                                         out.data() + static_cast<size_t>(me.size - 1 - k), count);
        me.good(me.transfer({take}));
        me.good(runOnDevice(me.comm, {"rondoTest", {&give, 1}, me.other.handle()}));
      }
      me.good(me.collective(Collective::AllReduce, out, sum.data(), count));
      ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(me.comm);
      me.other.synchronize();
      me.stream.synchronize();
      EXPECT_EQ(wrong(in.data(), n * count,
                      [&](size_t i) {
                        return element(static_cast<int>(i / count),
                                       i % count + static_cast<size_t>(me.rank));
                      }),
                0u);
      EXPECT_EQ(wrong(sum.data(), count, [&](size_t i) { return sumOf(me.size, i); }), 0u);
    }
  });
}

TEST(FarDevice, QueuesDoNotWaitForEachOther) {
  constexpr size_t kCount = 400'000;  // several pieces
  onHosts({0, 1, 2}, [](const FarRank& me) { expectQueuesOfTheirOwn(me, kCount); });
}

TEST(FarDevice, GraphsAreReplayedAndCountersWrap) {
  onHosts({0, 1}, [](const FarRank& me) {
    constexpr size_t kCount = 200'000;
    Ints in(kCount), sum(kCount, -1), got(kCount, -1), first(1), second(1);
    for (const uint32_t start : {0u, 0xfffffff9u}) {
      me.barrier.arrive_and_wait();
      me.comm->impl->deviceRunner()->startEpochsAt(start);
      me.barrier.arrive_and_wait();
      std::vector<PretendedStream::Work> graph, small;
      me.stream.captureInto(&graph);
      me.good(me.collective(Collective::AllReduce, in, sum.data(), kCount));
      me.good(me.transfer({transferOf(1 - me.rank, true, in.data(), kCount),
                           transferOf(1 - me.rank, false, got.data(), kCount)}));
      me.stream.captureInto(&small);
      me.good(me.collective(Collective::AllReduce, first, second.data(), 1));
      me.stream.captureInto(nullptr);
      for (int replay = 0; replay < 6; ++replay) {
        const auto value = [&](int rank, size_t i) { return element(rank, i) ^ (replay << 8); };
        for (size_t i = 0; i < kCount; ++i) in[i] = value(me.rank, i);
        first[0] = replay;
        me.stream.replay(replay % 2 == 0 ? graph : small);
        me.stream.replay(replay % 2 == 0 ? small : graph);
        if (replay == 3) me.good(me.collective(Collective::AllReduce, in, sum.data(), 30));
        me.stream.synchronize();
        EXPECT_EQ(second[0], 2 * replay);
        EXPECT_EQ(wrong(sum.data(), kCount, [&](size_t i) { return value(0, i) + value(1, i); }),
                  0u);
        EXPECT_EQ(wrong(got.data(), kCount, [&](size_t i) { return value(1 - me.rank, i); }), 0u);
      }
    }
  });
}

TEST(FarDevice, CallsReturnAtOnceAndHostMemoryGoesOn) {
  onHosts({0, 1}, [](const FarRank& me) {
    const Ints in = dataOf(me.rank, 5000);
    Ints sum(5000, -1), onHost(5000, -1);
    if (me.rank == 0) me.good(me.collective(Collective::AllReduce, in, sum.data(), 5000));
    me.good(rondoAllReduce(in.data(), onHost.data(), 5000, rondoInt32, rondoSum, me.comm, nullptr));
    EXPECT_EQ(me.stream.idle(), me.rank == 1);  // the other one has not called
    me.barrier.arrive_and_wait();
    if (me.rank == 1) me.good(me.collective(Collective::AllReduce, in, sum.data(), 5000));
    me.stream.synchronize();
    EXPECT_EQ(sum, onHost);
  });
}

TEST(FarDevice, PremultipliedSums) {
  onHosts({0, 1}, [](const FarRank& me) {
    const int32_t scalar = me.rank + 2;
    const ScaledOp op{rondoInt32, &scalar, {}, false};
    const Ints in = dataOf(me.rank, 3000);
    Ints sum(3000, -1), part(1500, -1);
    me.good(me.collective(Collective::AllReduce, in, sum.data(), 3000, 0, 1024, &op));
    me.good(me.collective(Collective::ReduceScatter, in, part.data(), 1500, 0, 1024, &op));
    me.stream.synchronize();
    const auto value = [](size_t i) { return 2 * element(0, i) + 3 * element(1, i); };
    EXPECT_EQ(wrong(sum.data(), 3000, value), 0u);
    const size_t at = static_cast<size_t>(me.rank) * 1500;
    EXPECT_EQ(wrong(part.data(), 1500, [&](size_t i) { return value(at + i); }), 0u);
  });
}

TEST(FarDevice, CallsThatDifferEndOnAllRanks) {
  onHosts({0, 1}, [](const FarRank& me) {
    const Ints in = dataOf(me.rank, 5000);
    Ints out(5000);
    me.good(me.collective(Collective::AllReduce, in, out.data(), me.rank == 0 ? 5000 : 4000));
    expectBroken(me, rondoMismatch, "");
  });
}

TEST(FarDevice, SendsOfAnotherLengthAreNotTakenForData) {
  std::atomic<int> named{0};  // by one at least: who hears of the end first looks no further
  onHosts({0, 1}, [&](const FarRank& me) {
    Ints data(600'000);
    // the first pieces are equally long
    me.good(me.transfer(
        {transferOf(1 - me.rank, me.rank == 0, data.data(), me.rank == 0 ? 600'000 : 500'000)}));
    expectBroken(me, rondoMismatch, "");
    const std::string why = rondoGetLastError(me.comm);
    if (why.find("receives 2000000 bytes from rank 0") != std::string::npos) ++named;
  });
  EXPECT_GE(named.load(), 1);
}

TEST(FarDevice, AbortEndsWhatWaits) {
  onHosts({0, 1}, [](const FarRank& me) {
    const Ints in = dataOf(me.rank, 5000);
    Ints out(5000);
    if (me.rank == 0) {
      me.good(me.collective(Collective::AllReduce, in, out.data(), 5000));
      me.good(me.transfer({transferOf(1, false, out.data(), 10)}));
    }
    me.barrier.arrive_and_wait();
    if (me.rank == 1) {
      EXPECT_EQ(rondoCommRevoke(me.comm), rondoSuccess);
    }
    expectBroken(me, rondoRemoteError, "");
  });
}

TEST(FarDevice, NoneIfOneRankHasNone) {
  onHosts({0, 1},
          [](const FarRank& me) {
            EXPECT_EQ(me.comm->impl->deviceRunner(), nullptr);
            EXPECT_EQ(me.comm->impl->whyNoDevice(), "rank 1 has no device: it was sold");
          },
          {.without = 1});
}

// Hosts that are containers of one machine: their processes do not see each other but in a device.
TEST(FarDevice, RanksThatShareADeviceAreCountedOnAllHosts) {
  std::vector<DeviceSharers> sharers(4);
  onHosts({0, 0, 1, 1},
          [](const FarRank& me) {
            ASSERT_NE(me.comm->impl->deviceRunner(), nullptr);
            const Ints in(3, me.rank);
            Ints out(3, -1);
            me.good(me.collective(Collective::AllReduce, in, out.data(), 3));
            me.stream.synchronize();
            EXPECT_EQ(out, Ints(3, 6));
          },
          {.deviceOf = {5, 6, 5, 5}, .sharers = &sharers});
  std::vector<int> ranks;
  for (const DeviceSharers& each : sharers) ranks.push_back(each.inProcess);
  EXPECT_EQ(ranks, (std::vector<int>{3, 1, 3, 3}));
  for (const DeviceSharers& each : sharers) EXPECT_EQ(each.processes, 1);
}

TEST(FarDevice, NoneIfADeviceHasNotEnoughForAllWhoShareIt) {
  onHosts({0, 1, 2, 0, 1},
          [](const FarRank& me) {
            EXPECT_EQ(me.comm->impl->deviceRunner(), nullptr);
            EXPECT_EQ(me.comm->impl->whyNoDevice(), "rank 0: it is too small");
          },
          {.deviceOf = {1, 1, 1, 0, 1}});
}

/// From the last that is made before the threads of a communicator's lanes on, none can be started.
class WithoutThreads : public PretendedDevice {
 public:
  uint32_t* counters(uint64_t words) override {
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    EXPECT_EQ(pthread_attr_setstacksize(&huge, size_t{1} << 46), 0);
    EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
    pthread_attr_destroy(&huge);
    return PretendedDevice::counters(words);
  }
};

size_t communicatorsAlive() {
  size_t alive = 0;
  for (const FlightProcess& process : readNearFlights()) {
    if (process.pid != getpid()) continue;
    for (const FlightComm& comm : process.comms) alive += comm.alive ? 1 : 0;
  }
  return alive;
}

// Those of its lanes that were there must not go on with what the device's memory held.
TEST(FarDevice, NoThreadKeepsACommunicatorOfWhichAnotherLaneHasNone) {
  onHosts({0, 1}, [](const FarRank&) {}, {.lanes = 2});  // threads of as many lanes are there
  const size_t before = communicatorsAlive();
  pthread_attr_t usual;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  std::atomic<int> made{0};
  ThreadGroup group(2);
  onRanks(2, [&](int r) {
    ThreadBootstrap boot(group, r);
    Config config = checkConfig("test", nullptr);
    config.options.hostId = "host" + std::to_string(r);
    config.farLanes = 4;
    config.farDevice = [](int) { return std::make_unique<WithoutThreads>(); };
    CommPtr comm;
    const rondoResult_t result =
        guarded(nullptr, "test", [&] { comm = createComm(boot, config, {}); });
    if (result == rondoSuccess) {
      ++made;
      return;
    }
    EXPECT_EQ(result, rondoSystemError);
    EXPECT_NE(std::string(rondoGetLastError(nullptr)).find("starting the thread that moves"),
              std::string::npos)
        << rondoGetLastError(nullptr);
  });
  EXPECT_EQ(pthread_setattr_default_np(&usual), 0);
  pthread_attr_destroy(&usual);
  EXPECT_EQ(communicatorsAlive(), before);
  if (made == 2) GTEST_SKIP() << "another test has left the threads of all lanes";
}

// All ranks cut alike, chunks fit slots, and pieces fit their memory.
TEST(FarDevice, StagingIsBounded) {
  for (const int ranks : {2, 3, 16, 300, 2000}) {
    for (const int lanes : {1, 2, 4}) {
      EXPECT_LE(FarStaging(ranks, lanes).bytes(), (ranks <= 300 ? 26u : 44u) << 20) << ranks;
    }
    for (const uint64_t element : {1u, 4u, 16u}) {
      for (const uint64_t count : {1u, 1000u, 1u << 20, 1u << 28}) {
        const uint64_t slots = static_cast<uint64_t>(ranks);
        const uint64_t chunk =
            farChunk(Collective::AllGather, count, element, ranks, ranks % 4 + 1);
        EXPECT_GE(chunk, 1u);
        EXPECT_LE(chunk * slots * element, kFarSlotBytes);
      }
    }
    EXPECT_LE(mostPerFarQueue(ranks) * std::min(farQueues(ranks), kMostFarQueues), kMostFarPieces);
  }
}

// Two launches never have a rank's send over a distance and its receive over the same one apart,
// whichever queues are empty (those of ranks on the same host, and of no bytes).
TEST(FarDevice, LongGroupsAreCutBetweenDistances) {
  std::minstd_rand random(36);
  for (const int ranks : {34, 35, 36, 48, 64, 65, 200}) {
    for (int round = 0; round < 200; ++round) {
      const unsigned one = 2 + random() % 7;  // in so many is empty
      int queues = 0, launch = 0, ofSend = -1;
      for (size_t index = 0; index < static_cast<size_t>(farQueues(ranks)); ++index) {
        if (index % 2 == 0) ofSend = -1;
        if (random() % one == 0) continue;
        if (endsFarLaunchBefore(index, queues)) {
          ++launch;
          queues = 0;
        }
        ASSERT_LE(++queues, kMostFarQueues);
        if (index % 2 == 0) ofSend = launch;
        if (index % 2 == 1 && ofSend >= 0) {
          ASSERT_EQ(launch, ofSend) << ranks << " ranks, queue " << index;
        }
      }
      EXPECT_GE(launch, farQueues(ranks) / 2 / kMostFarQueues - 1);
    }
  }
}

/// A kernel waits for a message that never comes, while others of its rank have all they want.
TEST(FarDevice, AKernelThatWaitsBesideOthersThatDoNotEndsByTheTimeout) {
  const Env timeout("RONDO_TIMEOUT_MS", "500");
  std::atomic<bool> over{false};
  onHosts({0, 1, 2}, [&over](const FarRank& me) {
    Ints in = dataOf(me.rank, 10), out(10), never(10);
    if (me.rank == 0) {
      const Transfer lost = transferOf(1, false, never.data(), never.size());
      me.good(runOnDevice(me.comm, TransferCall{"rondoTest", {&lost, 1}, me.other.handle()}));
    }
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(15);
    rondoResult_t result = rondoSuccess;
    for (const int peer = 2 - me.rank; me.rank != 1 && result == rondoSuccess;) {
      result = me.transfer({transferOf(peer, true, in.data(), in.size()),
                            transferOf(peer, false, out.data(), out.size())});
      me.stream.synchronize();
      if (me.rank != 0 || std::chrono::steady_clock::now() < until) continue;
      ADD_FAILURE() << "nobody has noticed";
      rondoCommRevoke(me.comm);
    }
    over = over || me.rank == 0;
    while (!over) std::this_thread::yield();
    me.other.synchronize();
    expectBroken(me, rondoRemoteError, "config.timeout of 500 ms");
  });
}

}  // namespace
}  // namespace rondo::testing
