// Collectives that are waited for, whose kernels stay for the next one. The ranks are threads of
// this process on one GPU.

#include <array>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <random>

#include "api/handle.h"
#include "api/rondo_await.h"
#include "coll/communicator.h"
#include "coll/device_runner.h"
#include "gpu/api_ranks.h"

namespace rondo::test {
namespace {

/// Long enough for copies between two calls.
constexpr unsigned kLinger = RONDO_MOST_LINGER;

/// Whether kernels stay: in lockstep for the tools every call takes longer than they do, and where
/// ranks meet in host memory sums of int32 go round a ring.
bool mayStay() { return !inStep() && std::getenv("RONDO_P2P") == nullptr; }

uint64_t handedOver(rondoComm_t comm) { return comm->impl->deviceRunner()->handedOver(); }

void awaitEnd(rondoComm_t comm, cudaStream_t stream) {
  int state = RONDO_AWAITED_RUNS;
  while (state == RONDO_AWAITED_RUNS) good(rondoCommAwaited(comm, &state));
  if (state == RONDO_AWAITED_ON_STREAM) check(waitFor(stream));
}

/// A sum of `count` int32 or float32 from `from` to `to`, and its end.
void reduceAndWait(const Rank& me, const Ints& src, size_t from, const Ints& dst, size_t to,
                   size_t count, rondoDataType_t type, rondoComm_t comm, cudaStream_t stream) {
  int willing = -1;
  good(rondoCommAwaitNext(comm, kLinger, &willing));
  good(rondoAllReduce(src.at(from), dst.at(to), count, type, rondoSum, comm, stream));
  awaitEnd(comm, stream);
  me.loaded();
}

int small(int rank, size_t i) { return rank * 100 + static_cast<int>(i % 97); }
int bitsOf(float value) { return std::bit_cast<int>(value); }

/// What ranks hold, and wait for, of one type.
struct Values {
  rondoDataType_t type;
  int ranks;
  int mine(int rank, size_t i) const {
    const int value = small(rank, i);
    return type == rondoInt32 ? value : bitsOf(static_cast<float>(value));
  }
  int sum(size_t i) const {
    int all = 0;
    for (int r = 0; r < ranks; ++r) all += small(r, i);
    return type == rondoInt32 ? all : bitsOf(static_cast<float>(all));
  }
};

// Each call has other memory; what it wrote is looked at by another stream at once. Lengths, and
// so lanes, threads and protocols, change; so does the rank that is late.
TEST(DeviceAwaited, EveryResultIsThereWhenTheCallHasEnded) {
  for (const auto type : {rondoInt32, rondoFloat32}) {
    for (const int ranks : {2, 3, 4}) {
      if (inStep() && ranks > 2) continue;
      rondoUniqueId id;
      onRanks(ranks, [&](const Rank& me) {
        const rondoComm_t comm = makeComm(me, &id);
        const Values values{type, ranks};
        constexpr size_t kMost = 5000;
        const size_t kRounds = inStep() ? 8 : 400;
        Buffers b(me, kMost + kRounds);
        const cudaStream_t beside = newStream();
        b.src.fill(b.stream, [&](size_t i) { return values.mine(me.rank, i); });
        me.meet();
        std::minstd_rand random{1}, own{static_cast<unsigned>(me.rank) + 2};
        size_t count = 1;
        for (size_t round = 0; round < kRounds; ++round) {
          if (round % 40 == 39)
            count = std::array{size_t{1}, size_t{2}, size_t{700}, kMost}[random() % 4];
          const size_t to = round % 3;
          reduceAndWait(me, b.src, round, b.dst, to, count, type, comm, b.stream);
          EXPECT_EQ(b.dst.wrong(beside, to, count, [&](size_t i) { return values.sum(round + i); }),
                    0u)
              << ranks << " ranks, round " << round << ", count " << count;
          if (own() % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(own() % 3000));
        }
        if (mayStay()) {
          EXPECT_GT(handedOver(comm), 50u) << ranks << " ranks";
        }
        check(waitFor(beside));
        me.meet();
        good(rondoCommDestroy(comm));
        check(cudaStreamDestroy(beside));
      });
    }
  }
}

// Whatever else is called comes behind the call that was waited for, on all ranks.
TEST(DeviceAwaited, OtherCallsComeInBetween) {
  rondoUniqueId id;
  const int ranks = inStep() ? 2 : 3;
  onRanks(ranks, [&](const Rank& me) {
    const rondoComm_t comm = makeComm(me, &id);
    const Values values{rondoInt32, ranks};
    constexpr size_t kLong = 100'000;
    Buffers b(me, kLong + 1000);
    b.src.fill(b.stream, [&](size_t i) { return values.mine(me.rank, i); });
    me.meet();
    std::minstd_rand random{5};
    for (size_t round = 0; round < (inStep() ? 4 : 150); ++round) {
      for (int i = 0; i < 20; ++i) {
        reduceAndWait(me, b.src, round, b.dst, 1, 300, rondoInt32, comm, b.stream);
      }
      EXPECT_EQ(b.dst.wrong(b.stream, 1, 300, [&](size_t i) { return values.sum(round + i); }), 0u);
      me.loaded();
      size_t count = 500;
      switch (random() % 4) {
        case 0:
          good(rondoBroadcast(b.src.at(7), b.dst.at(0), count, rondoInt32, 1, comm, b.stream));
          EXPECT_EQ(
              b.dst.wrong(b.stream, 0, count, [&](size_t i) { return values.mine(1, i + 7); }), 0u);
          break;
        case 1:
          good(rondoSendRecv(b.src.at(9), count, me.after(1), b.dst.at(0), count, me.before(1),
                             rondoInt32, comm, b.stream));
          EXPECT_EQ(b.dst.wrong(b.stream, 0, count,
                                [&](size_t i) { return values.mine(me.before(1), i + 9); }),
                    0u);
          break;
        default:
          count = random() % 2 == 0 ? kLong : 300;
          good(rondoAllReduce(b.src.at(0), b.dst.at(0), count, rondoInt32, rondoSum, comm,
                              b.stream));
          EXPECT_EQ(b.dst.wrong(b.stream, 0, count, [&](size_t i) { return values.sum(i); }), 0u);
      }
      me.loaded();
    }
    if (mayStay()) {
      EXPECT_GT(handedOver(comm), 100u);
    }
    me.meet();
    good(rondoCommDestroy(comm));
  });
}

TEST(DeviceAwaited, TwoCommunicatorsInTurns) {
  rondoUniqueId ids[2];
  onRanks(2, [&](const Rank& me) {
    const rondoComm_t comms[] = {makeComm(me, &ids[0]), makeComm(me, &ids[1])};
    const Values values{rondoFloat32, 2};
    Buffers b(me, 5000);
    const cudaStream_t streams[] = {b.stream, newStream()};
    b.src.fill(b.stream, [&](size_t i) { return values.mine(me.rank, i); });
    me.meet();
    const size_t rounds = inStep() ? 20 : 300;
    for (size_t round = 0; round < rounds; ++round) {
      const size_t which = round % 2;
      reduceAndWait(me, b.src, round, b.dst, 1000 * which, 64, rondoFloat32, comms[which],
                    streams[which]);
    }
    EXPECT_EQ(b.dst.wrong(b.stream, 0, 64, [&](size_t i) { return values.sum(rounds - 2 + i); }),
              0u);
    EXPECT_EQ(b.dst.wrong(b.stream, 1000, 64, [&](size_t i) { return values.sum(rounds - 1 + i); }),
              0u);
    if (mayStay()) {
      EXPECT_GT(handedOver(comms[0]), 20u);
      EXPECT_GT(handedOver(comms[1]), 20u);
    }
    check(waitFor(streams[1]));
    me.meet();
    for (const rondoComm_t comm : comms) good(rondoCommDestroy(comm));
    check(cudaStreamDestroy(streams[1]));
  });
}

// A kernel that stays keeps nothing waiting for longer, and is no reason to wait for a peer.
TEST(DeviceAwaited, TheDeviceIsFreeSoon) {
  rondoUniqueId id;
  onRanks(2, [&](const Rank& me) {
    const rondoComm_t comm = makeComm(me, &id);
    Buffers b(me, 1000);
    for (int i = 0; i < 40; ++i) {
      reduceAndWait(me, b.src, 0, b.dst, 0, 10, rondoInt32, comm, b.stream);
    }
    const auto begin = std::chrono::steady_clock::now();
    check(cudaDeviceSynchronize());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500));
    me.meet();
    good(rondoCommDestroy(comm));
  });
}

TEST(DeviceAwaited, WrongArguments) {
  rondoUniqueId id;
  onRanks(2, [&](const Rank& me) {
    const rondoComm_t comm = makeComm(me, &id);
    int willing = 7;
    EXPECT_EQ(rondoCommAwaitNext(nullptr, 1, &willing), rondoInvalidArgument);
    EXPECT_EQ(rondoCommAwaitNext(comm, 1, nullptr), rondoInvalidArgument);
    good(rondoGroupStart());
    EXPECT_EQ(rondoCommAwaitNext(comm, 30, &willing), rondoInvalidUsage);
    good(rondoGroupEnd());
    EXPECT_EQ(rondoCommAwaitNext(comm, RONDO_MOST_LINGER + 1, &willing), rondoInvalidArgument);
    EXPECT_NE(std::string(rondoGetLastError(comm)).find("microseconds is 1001"), std::string::npos);
    EXPECT_EQ(willing, 7);
    EXPECT_EQ(rondoCommAwaited(comm, nullptr), rondoInvalidArgument);
    int state = 7;
    good(rondoCommAwaited(comm, &state));
    EXPECT_EQ(state, RONDO_AWAITED_ON_STREAM);
    me.meet();
    good(rondoCommDestroy(comm));
  });
}

}  // namespace
}  // namespace rondo::test
