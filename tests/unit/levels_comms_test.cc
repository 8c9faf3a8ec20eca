// Communicators in levels as such: how many there may be, what becomes of their children, and what
// their sentences name. Without a GPU, as levels_device_test.cc.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "status/survey.h"
#include "support/far_world.h"

namespace rondo::testing {
namespace {

void expectSums(const FarRank& me, rondoComm_t comm, size_t count,
                const std::vector<int>& members) {
  const Ints in = dataOf(me.rank, count);
  Ints out(count, -1);
  me.good(runOnDevice(comm, DeviceCall{"rondoTest", Collective::AllReduce, in.data(), out.data(),
                                       count, rondoInt32, rondoSum, 0, me.stream.handle()}));
  me.stream.synchronize();
  const auto want = [&](size_t i) {
    int32_t sum = 0;
    for (const int r : members) sum += element(r, i);
    return sum;
  };
  EXPECT_EQ(wrong(out.data(), count, want), 0u);
}

// One process has several ranks, of which each rail has one or two: all of them have taken of the
// process's pool before.
TEST(LevelsComms, OfManyPlacesInOneProcessAndTheirChildren) {
  onHosts(
      {0, 0, 0, 0, 1, 1, 1, 1},
      [](const FarRank& me) {
        const std::vector<int> all = {0, 1, 2, 3, 4, 5, 6, 7};
        expectSums(me, me.comm, 10'001, all);
        rondoComm_t rail = nullptr, twin = nullptr;
        me.good(rondoCommSplit(me.comm, me.rank % 4, me.rank, &rail, nullptr));
        expectSums(me, rail, 10'001, {me.rank % 4, me.rank % 4 + 4});
        me.good(rondoCommDup(me.comm, &twin, nullptr));
        expectSums(me, twin, 10'001, all);
        expectSums(me, me.comm, 10'001, all);
        me.barrier.arrive_and_wait();
        EXPECT_EQ(rondoCommDestroy(twin), rondoSuccess);
        EXPECT_EQ(rondoCommDestroy(rail), rondoSuccess);
      },
      kLevels);
}

// A rail numbers its ranks from 0: its name says which ones these are.
TEST(LevelsComms, SentencesOfARailNameItsRanks) {
  onHosts(
      {0, 0, 1, 1},
      [](const FarRank& me) {
        const Ints in = dataOf(me.rank, 5000);
        Ints out(5000);
        me.good(me.collective(Collective::AllReduce, in, out.data(), me.rank < 2 ? 5000 : 4000));
        expectBroken(me, rondoMismatch,
                     "of communicator \"comm (device memory, rail of its ranks ");
        const std::string why = rondoGetLastError(me.comm);
        EXPECT_TRUE(why.find("ranks 0, 2)") != why.npos || why.find("ranks 1, 3)") != why.npos)
            << why;
      },
      kLevels);
}

// Whoever hears of a rank's end first, its rail or the communicator.
TEST(LevelsComms, WhoHasEndedIsNamedByItsOwnNumber) {
  onHosts(
      {0, 0, 1, 1},
      [](const FarRank& me) {
        const Ints in = dataOf(me.rank, 5000);
        Ints out(5000);
        if (me.rank == 3) return;  // lets go of the communicator
        me.good(me.collective(Collective::AllReduce, in, out.data(), 5000));
        rondoResult_t code = rondoSuccess;
        Communicator& comm = *me.comm->impl;
        if (me.rank == 1) {
          while (comm.deviceRunner()->failure(&code).empty()) std::this_thread::yield();
          comm.fabric()->abortDeserted(3);
        }
        me.stream.synchronize();
        while (!comm.aborted()) std::this_thread::yield();
        const std::string why = comm.endOf().why;
        EXPECT_EQ(why.find("rank 3 (host "), 0u) << why;
        EXPECT_NE(why.find("of communicator \"comm\" has let go of it"), why.npos) << why;
      },
      kLevels);
}

// Those who wait have it from what carries the call, the others from them.
TEST(LevelsComms, ATimeoutIsToldToAllRanks) {
  const Env timeout("RONDO_TIMEOUT_MS", "300");
  for (const FarWorld& world : {kLevels, FarWorld{}}) {
    onHosts(
        {0, 0, 1, 1},
        [](const FarRank& me) {
          const Ints in = dataOf(me.rank, 5000);
          Ints out(5000);
          if (me.rank < 2) {
            me.good(me.collective(Collective::AllReduce, in, out.data(), 5000));
          } else {
            while (!me.comm->impl->aborted()) std::this_thread::yield();
          }
          expectBroken(me, rondoRemoteError, "config.timeout of 300 ms");
        },
        world);
  }
}

// The kernels inside the host would be given a part of it, on a rank that they number otherwise.
TEST(LevelsComms, AnAddressBetweenElementsIsRefusedAsTheCallersOwn) {
  onHosts(
      {0, 1, 0, 1},
      [](const FarRank& me) {
        std::vector<char> in(4004);
        Ints out(1000);
        for (const int root : {0, 3}) {
          const DeviceCall call{
              "rondoTest", Collective::Reduce, in.data() + 1, out.data(),        1000,
              rondoInt32,  rondoSum,           root,          me.stream.handle()};
          EXPECT_EQ(runOnDevice(me.comm, call), rondoInvalidArgument);
          const std::string why = rondoGetLastError(me.comm);
          EXPECT_EQ(why, format("rondoTest: rank %d: argument sendbuff is %p; allowed: addresses "
                                "that are multiples of 4",
                                me.rank, call.send));
        }
        EXPECT_EQ(launches(me, Collective::ReduceScatter), 0);
      },
      kLevels);
}

// Kernels inside a host that end by an abort let its rails go on: that is not the abort's cause.
TEST(LevelsComms, AnAbortIsNotTakenForAKernelThatGaveUp) {
  onHosts(
      {0, 0, 1, 1},
      [](const FarRank& me) {
        if (me.rank % 2 == 0) {
          me.host->afterAbort = [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
        }
        me.barrier.arrive_and_wait();
        const Ints in = dataOf(me.rank, 5000);
        Ints out(5000);
        if (me.rank != 0) me.good(me.collective(Collective::AllReduce, in, out.data(), 5000));
        me.barrier.arrive_and_wait();
        if (me.rank == 0) {
          EXPECT_EQ(rondoCommRevoke(me.comm), rondoSuccess);
        }
        expectBroken(me, rondoRemoteError, me.rank == 0 ? "" : "rank 0 aborted communicator");
      },
      kLevels);
}

// By another rank, in the middle of a launch, whose runner sees but that kernels have ended.
TEST(LevelsComms, AnEndWhileACallIsLaunchedIsToldWithItsCause) {
  std::atomic<bool> launching{false};
  onHosts(
      {0, 0, 1, 1},
      [&](const FarRank& me) {
        if (me.rank == 0) {
          me.host->atCheck = [&] {
            launching = true;
            bool ended = false;
            while (!ended) {
              std::this_thread::yield();
              ended = me.comm->impl->aborted() && me.host->aborted(0);
            }
          };
        }
        me.barrier.arrive_and_wait();
        const Ints in(10);
        Ints out(10);
        if (me.rank == 3) {
          while (!launching) std::this_thread::yield();
          me.comm->impl->abortDiffering("rank 3 calls something else");
        }
        if (me.rank == 0) {
          EXPECT_EQ(me.collective(Collective::AllReduce, in, out.data(), 10), rondoMismatch);
          EXPECT_STREQ(rondoGetLastError(me.comm), "rondoTest: rank 3 calls something else");
        }
        me.barrier.arrive_and_wait();
        expectBroken(me, rondoMismatch, "");
      },
      kLevels);
}

// There is room for 256 ranks on the board that rondo-status asks by, and every communicator has
// several that carry its device memory, of as many ranks: first comes what the caller made.
TEST(LevelsComms, WhoAsksHearsOfTheCallersOwnFirst) {
  onHosts(
      {0, 0, 1, 1},
      [](const FarRank& me) {
        rondoComm_t twin = nullptr;
        me.good(rondoCommDup(me.comm, &twin, nullptr));
        if (me.rank == 0) {
          const FarSurvey survey = status::surveyFrom(getpid());
          const std::vector<uint64_t> own = {me.comm->impl->recorder().id(),
                                             twin->impl->recorder().id()};
          ASSERT_GT(survey.places.size(), 4u) << survey.why;
          for (size_t i = 0; i < survey.places.size(); ++i) {
            const auto known = std::find(own.begin(), own.end(), survey.places[i].comm);
            EXPECT_EQ(known != own.end(), i < 4) << i;
          }
        }
        me.barrier.arrive_and_wait();
        EXPECT_EQ(rondoCommDestroy(twin), rondoSuccess);
      },
      kLevels);
}

}  // namespace
}  // namespace rondo::testing
