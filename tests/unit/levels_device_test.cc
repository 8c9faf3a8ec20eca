// Device memory of communicators that span hosts, in levels, without a GPU: kernels inside a host
// are work that meets the other ranks' (tests/support/pretended_near.h), what goes between hosts is
// what a GPU has.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>

#include "coll/levels_choice.h"
#include "support/far_world.h"
#include "support/values.h"

namespace rondo::testing {
namespace {

/// How ranks may lie on hosts of one size: by host, by place, neither; more hosts, more places.
const std::vector<std::vector<int>> kShapes = {
    {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 1, 0}, {0, 0, 1, 1, 2, 2}, {0, 0, 0, 1, 1, 1}};

TEST(LevelsDevice, AllReducesOfAnyLength) {
  for (const auto& hosts : kShapes) {
    onHosts(
        hosts,
        [](const FarRank& me) {
          for (const size_t count : {1u, 2u, 3u, 7u, 1000u, 40'001u, 150'000u, 700'000u}) {
            const Ints in = dataOf(me.rank, count);
            Ints sum(count + 1, -1), inPlace = in;
            inPlace.push_back(-1);
            const int before = launches(me, Collective::AllGather);
            me.good(me.collective(Collective::AllReduce, in, sum.data(), count));
            me.good(me.collective(Collective::AllReduce, inPlace, inPlace.data(), count));
            me.stream.synchronize();
            const auto want = [&](size_t i) { return sumOf(me.size, i); };
            EXPECT_EQ(wrong(sum.data(), count, want), 0u) << count;
            EXPECT_EQ(wrong(inPlace.data(), count, want), 0u) << count;
            EXPECT_EQ(sum.back(), -1) << count;
            EXPECT_EQ(inPlace.back(), -1) << count;
            EXPECT_EQ(in, dataOf(me.rank, count));
            const auto places = static_cast<size_t>(me.host->ranks());
            EXPECT_EQ(launches(me, Collective::AllGather) - before,
                      count < places ? 0 : 2 * me.host->ranks())
                << count;
          }
        },
        kLevels);
  }
}

/// Every collective that goes in levels, in two buffers and in place.
void everyCollective(const FarRank& me, size_t count) {
  const auto n = static_cast<size_t>(me.size), mine = static_cast<size_t>(me.rank);
  const auto at = static_cast<ptrdiff_t>(mine * count);
  const Ints in = dataOf(me.rank, count * n);
  const auto run = [&](Collective collective, const int32_t* from, int32_t* to, int root = 0) {
    me.good(runOnDevice(me.comm, DeviceCall{"rondoTest", collective, from, to, count, rondoInt32,
                                            rondoSum, root, me.stream.handle()}));
  };
  Ints part(count + 1, -1), all(count * n + 1, -1), partHere = in, allHere(count * n + 1, -1);
  std::copy_n(in.begin(), count, allHere.begin() + at);
  run(Collective::ReduceScatter, in.data(), part.data());
  run(Collective::AllGather, in.data(), all.data());
  run(Collective::ReduceScatter, partHere.data(), partHere.data() + at);
  run(Collective::AllGather, allHere.data() + at, allHere.data());
  std::vector<Ints> sent, sentHere, reduced, reducedHere;
  for (int root = 0; root < me.size; ++root) {
    sent.emplace_back(count + 1, -1);
    reduced.emplace_back(count + 1, -1);
    sentHere.push_back(dataOf(me.rank, count));
    reducedHere.push_back(dataOf(me.rank, count));
    run(Collective::Broadcast, in.data(), sent.back().data(), root);
    run(Collective::Broadcast, sentHere.back().data(), sentHere.back().data(), root);
    run(Collective::Reduce, in.data(), me.rank == root ? reduced.back().data() : nullptr, root);
    run(Collective::Reduce, reducedHere.back().data(),
        me.rank == root ? reducedHere.back().data() : nullptr, root);
  }
  me.stream.synchronize();
  const auto partOf = [&](size_t i) { return sumOf(me.size, mine * count + i); };
  const auto slotOf = [&](size_t i) { return element(static_cast<int>(i / count), i % count); };
  EXPECT_EQ(wrong(part.data(), count, partOf), 0u) << count;
  EXPECT_EQ(wrong(partHere.data() + at, count, partOf), 0u) << count;
  EXPECT_EQ(wrong(all.data(), count * n, slotOf), 0u) << count;
  EXPECT_EQ(wrong(allHere.data(), count * n, slotOf), 0u) << count;
  EXPECT_EQ(part.back() + all.back() + allHere.back(), -3) << count;
  for (int root = 0; root < me.size; ++root) {
    const auto r = static_cast<size_t>(root);
    const auto rootOf = [&](size_t i) { return element(root, i); };
    EXPECT_EQ(wrong(sent[r].data(), count, rootOf), 0u) << count << " from " << root;
    EXPECT_EQ(wrong(sentHere[r].data(), count, rootOf), 0u) << count << " from " << root;
    EXPECT_EQ(sent[r].back() + reduced[r].back(), -2) << count;
    if (me.rank != root) continue;
    const auto sums = [&](size_t i) { return sumOf(me.size, i); };
    EXPECT_EQ(wrong(reduced[r].data(), count, sums), 0u) << count << " to " << root;
    EXPECT_EQ(wrong(reducedHere[r].data(), count, sums), 0u) << count << " to " << root;
  }
  EXPECT_EQ(in, dataOf(me.rank, count * n));
}

TEST(LevelsDevice, EveryOtherCollectiveOfAnyLength) {
  for (const auto& hosts : kShapes) {
    onHosts(
        hosts,
        [&hosts](const FarRank& me) {
          for (const size_t count : {1u, 5u, 1001u, 40'000u, 200'003u}) {
            const int before = launches(me, Collective::ReduceScatter);
            everyCollective(me, count);
            // for each host where slots lie by host, none where they lie in no order
            const int host = me.host->ranks();
            const bool byHost = hosts[1] == 0, byPlace = hosts[1] == 1 && hosts[2] == 0;
            const int scatters = byHost ? me.size / host : byPlace ? 1 : 0;
            const int reduces = count < static_cast<size_t>(host) ? 0 : 2 * me.size;
            EXPECT_EQ(launches(me, Collective::ReduceScatter) - before,
                      host * (2 * scatters + reduces))
                << count;
          }
        },
        kLevels);
  }
}

/// Bytes of rank r's contribution, of numbers that are exact in every type.
template <class T>
std::vector<T> exactData(rondoDataType_t type, rondoRedOp_t op, int rank, size_t count) {
  std::vector<T> data(count);
  for (size_t i = 0; i < count; ++i) data[i] = encode<T>(exactValue(type, op, rank, i));
  return data;
}

TEST(LevelsDevice, EveryTypeAndOperatorAsOnTheHost) {
  onHosts(
      {0, 0, 1, 1},
      [](const FarRank& me) {
        constexpr size_t kCount = 1003;
        for (const rondoDataType_t type : kAllTypes) {
          for (const rondoRedOp_t op : kAllOps) {
            if (!opDefined(type, op)) continue;
            withType(type, [&](auto zero) {
              using T = decltype(zero);
              const std::vector<T> in = exactData<T>(type, op, me.rank, kCount);
              std::vector<T> out(kCount), want(kCount);
              me.good(runOnDevice(
                  me.comm, DeviceCall{"rondoTest", Collective::AllReduce, in.data(), out.data(),
                                      kCount, type, op, 0, me.stream.handle()}));
              me.stream.synchronize();
              me.good(rondoAllReduce(in.data(), want.data(), kCount, type, op, me.comm, nullptr));
              EXPECT_EQ(std::memcmp(out.data(), want.data(), kCount * sizeof(T)), 0)
                  << typeName(type) << " " << opName(op);
            });
          }
        }
      },
      kLevels);
}

// Once, by all ranks: (7 / 2 + 7 / 2) / 2 would be 3.
TEST(LevelsDevice, AveragesAreDividedOnce) {
  onHosts(
      {0, 0, 1, 1},
      [](const FarRank& me) {
        const Ints in(1000, me.rank == 0 ? 8 : 7);
        Ints out(1000, -1);
        me.good(me.collective(Collective::AllReduce, in, out.data(), 1000, 0, rondoAvg));
        me.stream.synchronize();
        EXPECT_EQ(out, Ints(1000, 7));
        const Ints other(1000, me.rank % 2 == 0 ? 3 : 4);
        me.good(me.collective(Collective::AllReduce, other, out.data(), 1000, 0, rondoAvg));
        me.stream.synchronize();
        EXPECT_EQ(out, Ints(1000, 3));
      },
      kLevels);
}

TEST(LevelsDevice, PremultipliedSums) {
  onHosts(
      {0, 1, 0, 1},
      [](const FarRank& me) {
        const int32_t scalar = me.rank + 2;
        const ScaledOp op{rondoInt32, &scalar, {}, false};
        const Ints in = dataOf(me.rank, 3001);
        Ints sum(3001, -1);
        me.good(me.collective(Collective::AllReduce, in, sum.data(), 3001, 0, 1024, &op));
        me.stream.synchronize();
        const auto want = [&](size_t i) {
          int32_t value = 0;
          for (int r = 0; r < me.size; ++r) value += (r + 2) * element(r, i);
          return value;
        };
        EXPECT_EQ(wrong(sum.data(), 3001, want), 0u);
      },
      kLevels);
}

TEST(LevelsDevice, GraphsAreReplayedAndCountersWrap) {
  onHosts(
      {0, 0, 1, 1},
      [](const FarRank& me) {
        constexpr size_t kCount = 300'002;
        Ints in(kCount), sum(kCount, -1), few(3, 1), fewer(3, -1);
        for (const uint32_t start : {0u, 0xfffffff9u}) {
          me.barrier.arrive_and_wait();
          me.comm->impl->deviceRunner()->startEpochsAt(start);
          me.barrier.arrive_and_wait();
          std::vector<PretendedStream::Work> graph;
          me.stream.captureInto(&graph);
          me.good(me.collective(Collective::AllReduce, in, sum.data(), kCount));
          me.good(me.collective(Collective::AllReduce, few, fewer.data(), 3));
          me.stream.captureInto(nullptr);
          for (int replay = 0; replay < 5; ++replay) {
            const auto value = [&](int rank, size_t i) { return element(rank, i) ^ replay << 8; };
            for (size_t i = 0; i < kCount; ++i) in[i] = value(me.rank, i);
            me.stream.replay(graph);
            if (replay == 3) me.good(me.collective(Collective::AllReduce, in, sum.data(), 50));
            me.stream.synchronize();
            const auto want = [&](size_t i) {
              return value(0, i) + value(1, i) + value(2, i) + value(3, i);
            };
            EXPECT_EQ(wrong(sum.data(), kCount, want), 0u) << replay;
            EXPECT_EQ(fewer, Ints(3, 4));
          }
        }
      },
      kLevels);
}

TEST(LevelsDevice, GroupsMixThemWithTransfersAndOtherStreams) {
  onHosts(
      {0, 0, 1, 1},
      [](const FarRank& me) {
        constexpr size_t kCount = 30'000;
        const Ints in = dataOf(me.rank, kCount);
        Ints sum(kCount, -1), again(kCount, -1), got(kCount * 4, -1), all(kCount * 4, -1);
        Ints out = in;
        ASSERT_EQ(rondoGroupStart(), rondoSuccess);
        me.good(me.collective(Collective::AllReduce, in, sum.data(), kCount));
        for (int k = 0; k < me.size; ++k) {
          me.good(me.transfer({transferOf(k, true, out.data(), kCount)}));
          me.good(me.transfer(
              {transferOf(k, false, got.data() + static_cast<size_t>(k) * kCount, kCount)}));
        }
        me.good(runOnDevice(me.comm,
                            DeviceCall{"rondoTest", Collective::AllReduce, sum.data(), again.data(),
                                       kCount, rondoInt32, rondoMax, 0, me.other.handle()}));
        me.good(me.collective(Collective::AllToAll, got, all.data(), kCount));
        ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(me.comm);
        me.other.synchronize();
        me.stream.synchronize();
        const auto want = [&](size_t i) { return sumOf(me.size, i); };
        EXPECT_EQ(wrong(sum.data(), kCount, want), 0u);
        EXPECT_EQ(wrong(again.data(), kCount, want), 0u);
        const auto slotOf = [&](size_t i) {
          return element(static_cast<int>(i / kCount), i % kCount);
        };
        EXPECT_EQ(wrong(got.data(), 4 * kCount, slotOf), 0u);
      },
      kLevels);
}

TEST(LevelsDevice, TheRecordSaysSo) {
  onHosts(
      {0, 0, 1, 1},
      [](const FarRank& me) {
        const Ints in = dataOf(me.rank, 100);
        Ints out(100, -1);
        me.good(me.collective(Collective::AllReduce, in, out.data(), 100));
        expectServed(me, "kernels in hosts, calls on host memory between");
      },
      kLevels);
}

/// What is right, and not in levels.
void expectFlat(const std::vector<int>& hosts, const FarWorld& world) {
  onHosts(
      hosts,
      [](const FarRank& me) {
        const Ints in = dataOf(me.rank, 5000);
        Ints sum(5000, -1);
        me.good(me.collective(Collective::AllReduce, in, sum.data(), 5000));
        me.stream.synchronize();
        EXPECT_EQ(wrong(sum.data(), 5000, [&](size_t i) { return sumOf(me.size, i); }), 0u);
        EXPECT_EQ(launches(me, Collective::AllGather), 0);
      },
      world);
}

TEST(LevelsDevice, NotWhereHostsDifferOrOneHasNoRunnerOrRulesSaySo) {
  expectFlat({0, 1, 1}, kLevels);
  expectFlat({0, 1}, kLevels);
  expectFlat({0, 0, 1, 1}, {.near = true, .withoutNear = 2, .tune = kAllLevels});
  expectFlat({0, 0, 1, 1}, {.near = true, .tune = kAllLevels, .reproducible = true});
  expectFlat({0, 0, 1, 1}, {.near = true, .tune = "allreduce:device:0-:ring"});
}

/// Under rings, which cross the network oftener with four ranks than with two.
int launchesWhereKernelsTake(uint64_t picosecondsPerKiB) {
  std::atomic<int> launched{0};
  onHosts({0, 0, 1, 1},
          [&](const FarRank& me) {
            const Ints in = dataOf(me.rank, 1'000'000);
            Ints sum(in.size(), -1);
            me.good(me.collective(Collective::AllReduce, in, sum.data(), in.size()));
            me.stream.synchronize();
            EXPECT_EQ(wrong(sum.data(), in.size(), [&](size_t i) { return sumOf(me.size, i); }),
                      0u);
            launched = launches(me, Collective::AllGather);
          },
          {.near = true, .tune = "allreduce:host:0-:ring", .nearCost = picosecondsPerKiB});
  return launched;
}

TEST(LevelsDevice, ChosenByTheCostsWithoutARule) {
  EXPECT_EQ(launchesWhereKernelsTake(1000), 2);
  EXPECT_EQ(launchesWhereKernelsTake(1'000'000'000), 0);
}

TEST(LevelsDevice, APredictedGroupTakesWhatItIsChosenBy) {
  onHosts({0, 0, 1, 1},
          [&](const FarRank& me) {
            const Ints in(1'000'000, 1);
            Ints out(in.size(), -1);
            uint64_t time = 0;
            rondoGroupStart();
            for (const size_t count : {in.size(), size_t{100}}) {
              me.good(me.collective(Collective::AllReduce, in, out.data(), count));
            }
            me.good(rondoGroupPredict(&time));
            LevelsChoice choice(*me.comm->impl->deviceRunner()->levels());
            const auto best = [&](size_t count) {
              const LevelsForecast forecast = choice.forecast(Collective::AllReduce, count, 4);
              return forecast.byLevels ? forecast.levels : forecast.host;
            };
            EXPECT_EQ(time, best(in.size()) + best(100));
            EXPECT_GT(best(100), 0u);
            // What never goes in levels has no time.
            rondoGroupStart();
            me.good(me.collective(Collective::AllToAll, in, out.data(), 10));
            EXPECT_EQ(rondoGroupPredict(&time), rondoUnsupported);
            EXPECT_NE(std::string(rondoGetLastError(me.comm)).find("of several hosts"),
                      std::string::npos)
                << rondoGetLastError(me.comm);
            me.stream.synchronize();
            EXPECT_EQ(out, Ints(in.size(), -1)) << "something ran";
            EXPECT_EQ(launches(me, Collective::AllGather), 0);
          },
          {.near = true});
}

// For rondo-tune, which measures both ways.
TEST(LevelsDevice, SaysWhatCallsAreChosenBy) {
  const auto expectHosts = [](const std::vector<int>& hostOf, int hosts, const FarWorld& world) {
    onHosts(
        hostOf,
        [&](const FarRank& me) {
          const LevelsFacts* const facts = me.comm->impl->deviceRunner()->levels();
          ASSERT_EQ(facts != nullptr, hosts > 0);
          if (hosts == 0) return;
          EXPECT_EQ(facts->hosts, hosts);
          EXPECT_EQ(facts->places, me.size / hosts);
          EXPECT_EQ(facts->all.ranks, me.size);
          EXPECT_GT(facts->near.allGather.back(), 0u);
        },
        world);
  };
  expectHosts({0, 1, 0, 1, 0, 1}, 2, {.near = true});
  expectHosts({0, 1, 1}, 0, {.near = true});
  expectHosts({0, 0, 1, 1}, 0, {.near = true, .withoutNear = 2});
}

// A rank of this host has not come: its neighbour's kernel waits, and the other host's host.
TEST(LevelsDevice, AbortEndsBothLevels) {
  for (const int late : {0, 3}) {
    onHosts(
        {0, 0, 1, 1},
        [late](const FarRank& me) {
          const Ints in = dataOf(me.rank, 5000);
          Ints out(5000);
          if (me.rank != late) {
            me.good(me.collective(Collective::AllReduce, in, out.data(), 5000));
          }
          me.barrier.arrive_and_wait();
          if (me.rank == late) {
            EXPECT_EQ(rondoCommRevoke(me.comm), rondoSuccess);
          }
          expectBroken(me, rondoRemoteError, "");
        },
        kLevels);
  }
}

// What a kernel left half done must not go on the rail as if it were a sum.
TEST(LevelsDevice, AKernelThatGaveUpEndsTheCallOnAllHosts) {
  std::deque<std::atomic<bool>> broken(4);
  FarWorld world = kLevels;
  world.broken = &broken;
  onHosts(
      {0, 0, 1, 1},
      [&](const FarRank& me) {
        const Ints in = dataOf(me.rank, 5000);
        Ints out(5000);
        std::atomic<bool> open{false};
        me.stream.enqueue([&] {
          while (!open.load()) std::this_thread::yield();
        });
        me.good(me.collective(Collective::AllReduce, in, out.data(), 5000));
        if (me.rank == 1) broken[1] = true;
        me.barrier.arrive_and_wait();
        open = true;
        if (me.rank == 1) {
          me.stream.synchronize();
          rondoResult_t state = rondoSuccess;
          while (state == rondoSuccess) {
            ASSERT_EQ(rondoCommGetAsyncError(me.comm, &state), rondoSuccess);
          }
          EXPECT_EQ(state, rondoRemoteError);
          me.barrier.arrive_and_wait();
        } else {
          expectBroken(me, rondoRemoteError, "");
        }
      },
      world);
}

}  // namespace
}  // namespace rondo::testing
