// The C API on device memory: send and receive, groups, several communicators. The ranks are
// threads of this process on one GPU.

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "api/rondo_register.h"
#include "gpu/api_ranks.h"

namespace rondo::test {
namespace {

TEST(DeviceApi, SendReceiveGatherScatter) {
  for (const int ranks : {1, 2, 3}) {
    rondoUniqueId id;
    onRanks(ranks, [&](const Rank& me) {
      const rondoComm_t comm = makeComm(me, &id);
      constexpr size_t kCount = 70001;
      Buffers b(me, 4 * kCount);
      good(rondoSendRecv(b.src.at(0), kCount, me.after(1), b.dst.at(0), kCount, me.before(1),
                         rondoInt32, comm, b.stream));
      EXPECT_EQ(
          b.dst.wrong(b.stream, 0, kCount, [&](size_t i) { return element(me.before(1), i); }), 0u);
      // one after the other, as far as the library holds what is sent
      if (ranks > 1 && me.rank < 2) {
        if (me.rank == 0) {
          good(rondoSend(b.src.at(7), 100, rondoInt32, 1, comm, b.stream));
          good(rondoRecv(b.dst.at(0), 100, rondoInt32, 1, comm, b.stream));
        } else {
          good(rondoRecv(b.dst.at(0), 100, rondoInt32, 0, comm, b.stream));
          good(rondoSend(b.src.at(7), 100, rondoInt32, 0, comm, b.stream));
        }
        EXPECT_EQ(
            b.dst.wrong(b.stream, 0, 100, [&](size_t i) { return element(1 - me.rank, i + 7); }),
            0u);
      }
      const int root = ranks - 1;
      good(rondoGather(b.src.at(0), b.dst.at(0), 5000, rondoInt32, root, comm, b.stream));
      if (me.rank == root) {
        EXPECT_EQ(
            b.dst.wrong(b.stream, 0, 5000 * static_cast<size_t>(ranks),
                        [&](size_t i) { return element(static_cast<int>(i / 5000), i % 5000); }),
            0u);
      }
      good(rondoScatter(b.src.at(0), b.dst.at(0), 5000, rondoInt32, root, comm, b.stream));
      EXPECT_EQ(b.dst.wrong(b.stream, 0, 5000,
                            [&](size_t i) {
                              return element(root, i + 5000 * static_cast<size_t>(me.rank));
                            }),
                0u);
      // in place
      good(rondoGather(b.src.at(5000 * static_cast<size_t>(me.rank)), b.src.at(0), 5000, rondoInt32,
                       root, comm, b.stream));
      // nothing is sent, and nobody waits
      if (me.rank == 0) good(rondoSend(b.src.at(0), 0, rondoInt32, root, comm, b.stream));
      check(cudaStreamSynchronize(b.stream));
      me.meet();
      good(rondoCommDestroy(comm));
    });
  }
}

/// What each rank has in a call with counts of its own; one of them has nothing.
size_t unevenCount(int rank, size_t unit) { return static_cast<size_t>((rank + 2) % 3) * unit; }

void gatherAndScatterUneven(const Rank& me, rondoComm_t comm, Buffers& b, size_t unit) {
  const auto n = static_cast<size_t>(me.ranks);
  const size_t mine = unevenCount(me.rank, unit);
  std::vector<size_t> counts(n), places(n);
  size_t all = 0;
  for (size_t r = 0; r < n; ++r) {
    counts[r] = unevenCount(static_cast<int>(r), unit);
    places[r] = all;
    all += counts[r] + 3;
  }
  const int root = me.ranks - 1;
  const auto wrongBlocks = [&](const auto& value) {
    size_t bad = 0;
    for (size_t r = 0; r < n; ++r) {
      bad += b.dst.wrong(b.stream, places[r], counts[r],
                         [&](size_t i) { return value(static_cast<int>(r), i); });
      bad += b.dst.wrong(b.stream, places[r] + counts[r], 3, [](size_t) { return -1; });
    }
    return bad;
  };
  const auto clear = [&] { b.dst.fill(b.stream, [](size_t) { return -1; }); };
  clear();
  good(rondoAllGatherV(b.src.at(0), mine, b.dst.at(0), counts.data(), places.data(), rondoInt32,
                       comm, b.stream));
  EXPECT_EQ(wrongBlocks([](int r, size_t i) { return element(r, i); }), 0u);
  clear();
  good(rondoGatherV(b.src.at(0), mine, b.dst.at(0), counts.data(), places.data(), rondoInt32, root,
                    comm, b.stream));
  if (me.rank == root) {
    EXPECT_EQ(wrongBlocks([](int r, size_t i) { return element(r, i); }), 0u);
  }
  clear();
  good(rondoScatterV(b.src.at(0), counts.data(), places.data(), b.dst.at(0), mine, rondoInt32, root,
                     comm, b.stream));
  const size_t place = places[static_cast<size_t>(me.rank)];
  EXPECT_EQ(b.dst.wrong(b.stream, 0, mine, [&](size_t i) { return element(root, place + i); }), 0u);
  EXPECT_EQ(b.dst.wrong(b.stream, mine, 3, [](size_t) { return -1; }), 0u);
  clear();
  // rank r gives rank s as many as r has, from s on
  std::vector<size_t> own(n, mine), from(n);
  for (size_t s = 0; s < n; ++s) from[s] = s;
  good(rondoAllToAllV(b.src.at(0), own.data(), from.data(), b.dst.at(0), counts.data(),
                      places.data(), rondoInt32, comm, b.stream));
  EXPECT_EQ(
      wrongBlocks([&](int r, size_t i) { return element(r, i + static_cast<size_t>(me.rank)); }),
      0u);
}

/// Blocks that differ, in place; and blocks that do not.
void reduceScatterUneven(const Rank& me, rondoComm_t comm, Buffers& b, size_t unit) {
  const auto n = static_cast<size_t>(me.ranks);
  for (const bool even : {false, true}) {
    std::vector<size_t> counts(n, unit);
    size_t place = 0;
    for (size_t r = 0; r < n; ++r) {
      if (!even) counts[r] = unevenCount(static_cast<int>(r), unit);
      if (static_cast<int>(r) < me.rank) place += counts[r];
    }
    const size_t mine = counts[static_cast<size_t>(me.rank)];
    const auto sum = [&](size_t i) {
      int out = 0;
      for (int r = 0; r < me.ranks; ++r) out += element(r, place + i);
      return out;
    };
    b.dst.fill(b.stream, [&](size_t i) { return element(me.rank, i); });
    me.meet();
    good(rondoReduceScatterV(b.dst.at(0), b.dst.at(place), counts.data(), rondoInt32, rondoSum,
                             comm, b.stream));
    EXPECT_EQ(b.dst.wrong(b.stream, place, mine, sum), 0u);
    b.dst.fill(b.stream, [](size_t) { return -1; });
    good(rondoReduceScatterV(b.src.at(0), b.dst.at(1), counts.data(), rondoInt32, rondoSum, comm,
                             b.stream));
    EXPECT_EQ(b.dst.wrong(b.stream, 1, mine, sum), 0u);
    EXPECT_EQ(b.dst.wrong(b.stream, mine + 1, 3, [](size_t) { return -1; }), 0u);
  }
}

TEST(DeviceApi, CountsOfTheirOwn) {
  for (const int ranks : {1, 2, 3, 4}) {
    rondoUniqueId id;
    onRanks(ranks, [&](const Rank& me) {
      const rondoComm_t comm = makeComm(me, &id);
      constexpr size_t kMost = 70001;
      Buffers b(me, 10 * kMost);
      for (const size_t unit : {size_t{1}, size_t{1000}, kMost}) {
        gatherAndScatterUneven(me, comm, b, unit);
        reduceScatterUneven(me, comm, b, unit);
      }
      // whoever has nothing says by its stream that it is on devices
      std::vector<size_t> none(static_cast<size_t>(ranks));
      good(rondoAllToAllV(nullptr, none.data(), nullptr, nullptr, none.data(), nullptr, rondoInt32,
                          comm, b.stream));
      std::vector<size_t> one(static_cast<size_t>(ranks), 1);
      EXPECT_EQ(rondoAllToAllV(b.src.at(0), one.data(), nullptr, b.src.at(0), one.data(), nullptr,
                               rondoInt32, comm, b.stream),
                rondoUnsupported);
      check(cudaStreamSynchronize(b.stream));
      me.meet();
      good(rondoCommDestroy(comm));
    });
  }
}

TEST(DeviceApi, RegisteredMemory) {
  rondoUniqueId id;
  onRanks(2, [&](const Rank& me) {
    const rondoComm_t comm = makeComm(me, &id);
    constexpr size_t kHalf = 9u << 19;
    rondoRegistration_t number = 0;
    Buffers b(me, 2 * kHalf);
    good(rondoCommRegister(comm, b.dst.at(0), 2 * kHalf * sizeof(int), RONDO_REGISTER_COPY_ENGINES,
                           &number));
    good(rondoAllGather(b.src.at(0), b.dst.at(0), kHalf, rondoInt32, comm, b.stream));
    EXPECT_EQ(b.dst.wrong(b.stream, 0, kHalf, [&](size_t i) { return element(0, i); }), 0u);
    EXPECT_EQ(b.dst.wrong(b.stream, kHalf, kHalf, [&](size_t i) { return element(1, i); }), 0u);
    good(rondoSendRecv(b.src.at(5), kHalf, me.after(1), b.dst.at(7), kHalf, me.before(1),
                       rondoInt32, comm, b.stream));
    EXPECT_EQ(
        b.dst.wrong(b.stream, 7, kHalf, [&](size_t i) { return element(me.before(1), i + 5); }),
        0u);
    EXPECT_EQ(rondoCommRegister(comm, b.src.at(0), 4, 2, &number), rondoInvalidArgument);
    good(rondoGroupStart());
    EXPECT_EQ(rondoCommDeregister(comm, number), rondoInvalidUsage);
    good(rondoGroupEnd());
    good(rondoCommDeregister(comm, number));
    EXPECT_EQ(rondoCommDeregister(comm, number), rondoInvalidArgument);
    me.meet();
    good(rondoCommDestroy(comm));
  });
}

/// Sends and receives over all pairs on two streams, and collectives on a third: one group.
void mixedGroup(const Rank& me, rondoComm_t comm, const Buffers& b, cudaStream_t other,
                cudaStream_t third, size_t count) {
  good(rondoGroupStart());
  good(rondoAllReduce(b.src.at(0), b.dst.at(10 * count), count, rondoInt32, rondoSum, comm, third));
  for (int k = 0; k < me.ranks; ++k) {
    // receives first, and the last ones first: any order is good
    const int from = me.before(me.ranks - 1 - k);
    good(rondoRecv(b.dst.at(static_cast<size_t>(from) * count), count, rondoInt32, from, comm,
                   k % 2 == 0 ? b.stream : other));
  }
  good(rondoBroadcast(b.src.at(0), b.dst.at(11 * count), count, rondoInt32, me.ranks - 1, comm,
                      b.stream));
  for (int k = 0; k < me.ranks; ++k) {
    good(rondoSend(b.src.at(static_cast<size_t>(me.after(k))), count, rondoInt32, me.after(k), comm,
                   k % 2 == 0 ? other : b.stream));
  }
  good(rondoGather(b.src.at(0), b.dst.at(12 * count), 3, rondoInt32, 0, comm, third));
  good(rondoGroupEnd());
}

size_t wrongOfGroup(const Rank& me, Buffers& b, size_t count) {
  size_t bad = 0;
  for (int from = 0; from < me.ranks; ++from) {
    bad += b.dst.wrong(b.stream, static_cast<size_t>(from) * count, count,
                       [&](size_t i) { return element(from, i + static_cast<size_t>(me.rank)); });
  }
  bad += b.dst.wrong(b.stream, 10 * count, count, [&](size_t i) {
    int sum = 0;
    for (int r = 0; r < me.ranks; ++r) sum += element(r, i);
    return sum;
  });
  bad +=
      b.dst.wrong(b.stream, 11 * count, count, [&](size_t i) { return element(me.ranks - 1, i); });
  if (me.rank != 0) return bad;
  return bad + b.dst.wrong(b.stream, 12 * count, 3 * static_cast<size_t>(me.ranks),
                           [&](size_t i) { return element(static_cast<int>(i / 3), i % 3); });
}

TEST(DeviceApi, GroupsMixEverything) {
  for (const int ranks : {2, 4}) {
    rondoUniqueId id;
    onRanks(ranks, [&](const Rank& me) {
      const rondoComm_t comm = makeComm(me, &id);
      constexpr size_t kMost = 30000;
      Buffers b(me, 13 * kMost);
      const cudaStream_t other = newStream(), third = newStream();
      me.meet();
      for (const size_t count : {size_t{1}, size_t{333}, kMost}) {
        mixedGroup(me, comm, b, other, third, count);
        for (const cudaStream_t s : {other, third, b.stream}) check(cudaStreamSynchronize(s));
        EXPECT_EQ(wrongOfGroup(me, b, count), 0u) << count;
        me.meet();
      }
      // captured: the other streams join and part by the events that the library makes of them
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t exec = nullptr;
      cudaEvent_t fork = nullptr, join = nullptr;
      check(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
      check(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
      check(cudaStreamBeginCapture(b.stream, cudaStreamCaptureModeThreadLocal));
      check(cudaEventRecord(fork, b.stream));
      for (const cudaStream_t s : {other, third}) check(cudaStreamWaitEvent(s, fork, 0));
      mixedGroup(me, comm, b, other, third, 444);
      for (const cudaStream_t s : {other, third}) {
        check(cudaEventRecord(join, s));
        check(cudaStreamWaitEvent(b.stream, join, 0));
      }
      check(cudaStreamEndCapture(b.stream, &graph));
      me.meet();
      check(cudaGraphInstantiate(&exec, graph, 0));
      check(cudaGraphUpload(exec, b.stream));
      check(cudaStreamSynchronize(b.stream));
      me.meet();
      for (int replay = 0; replay < 5; ++replay) {
        b.dst.fill(b.stream, [](size_t) { return -1; });
        check(cudaGraphLaunch(exec, b.stream));
        EXPECT_EQ(wrongOfGroup(me, b, 444), 0u) << "replay " << replay;
      }
      me.meet();
      check(cudaGraphExecDestroy(exec));
      check(cudaGraphDestroy(graph));
      for (const cudaStream_t s : {other, third}) check(cudaStreamDestroy(s));
      good(rondoCommDestroy(comm));
    });
  }
}

// Whatever order ranks name communicators in, the group has one for all: else the kernels on one
// stream would wait for each other in a circle.
/// Where call k of a group of short ones has its data, and how many; some need several exchanges.
constexpr size_t kShortCalls = 70, kShortRoom = 9000;
size_t shortCount(size_t k) { return k % 9 == 8 ? 8000 + k : 1 + k * 37; }

/// Each its own sum, on two streams in turn.
void shortSums(const Rank& me, rondoComm_t comm, Buffers& b, cudaStream_t other) {
  good(rondoGroupStart());
  for (size_t k = 0; k < kShortCalls; ++k) {
    good(rondoAllReduce(b.src.at(k * kShortRoom), b.dst.at(k * kShortRoom), shortCount(k),
                        rondoInt32, rondoSum, comm, k % 2 == 0 ? b.stream : other));
  }
  good(rondoGroupEnd());
  check(cudaStreamSynchronize(other));
  size_t bad = 0;
  for (size_t k = 0; k < kShortCalls; ++k) {
    bad += b.dst.wrong(b.stream, k * kShortRoom, shortCount(k), [&](size_t i) {
      int sum = 0;
      for (int r = 0; r < me.ranks; ++r) sum += element(r, k * kShortRoom + i);
      return sum;
    });
    bad += b.dst.wrong(b.stream, k * kShortRoom + shortCount(k), 3, [](size_t) { return -1; });
  }
  EXPECT_EQ(bad, 0u);
}

/// Neighbours of three kinds; then calls each of which needs what the one before wrote.
void shortOnesOfOtherKinds(const Rank& me, rondoComm_t comm, Buffers& b) {
  const auto n = static_cast<size_t>(me.ranks);
  constexpr size_t kFew = 500;
  const auto at = [&](size_t k) { return k * n * kFew; };
  b.dst.fill(b.stream, [](size_t) { return -1; });
  good(rondoGroupStart());
  for (size_t k = 0; k < 10; ++k) {
    good(rondoAllGather(b.src.at(k), b.dst.at(at(k)), kFew, rondoInt32, comm, b.stream));
  }
  for (size_t k = 10; k < 20; ++k) {
    good(rondoReduceScatter(b.src.at(k), b.dst.at(at(k)), kFew, rondoInt32, rondoSum, comm,
                            b.stream));
  }
  for (size_t k = 20; k < 26; ++k) {
    good(rondoAllReduce(k == 20 ? b.src.at(0) : b.dst.at(at(k - 1)), b.dst.at(at(k)), kFew,
                        rondoInt32, rondoSum, comm, b.stream));
  }
  good(rondoGroupEnd());
  size_t bad = 0;
  for (size_t k = 0; k < 10; ++k) {
    bad += b.dst.wrong(b.stream, at(k), n * kFew,
                       [&](size_t i) { return element(static_cast<int>(i / kFew), k + i % kFew); });
  }
  const auto sumAt = [&](size_t i) {
    int sum = 0;
    for (int r = 0; r < me.ranks; ++r) sum += element(r, i);
    return sum;
  };
  for (size_t k = 10; k < 20; ++k) {
    bad += b.dst.wrong(b.stream, at(k), kFew, [&](size_t i) {
      return sumAt(k + static_cast<size_t>(me.rank) * kFew + i);
    });
  }
  int times = 1;
  for (size_t k = 20; k < 26; ++k, times *= me.ranks) {
    bad += b.dst.wrong(b.stream, at(k), kFew, [&](size_t i) { return sumAt(i) * times; });
  }
  EXPECT_EQ(bad, 0u);
}

TEST(DeviceApi, ShortCollectivesOfAGroupAreOneLaunch) {
  for (const int ranks : {2, 3, 4}) {
    rondoUniqueId id;
    onRanks(ranks, [&](const Rank& me) {
      const rondoComm_t comm = makeComm(me, &id);
      Buffers b(me, (kShortCalls + 1) * kShortRoom);
      const cudaStream_t other = newStream();
      me.meet();
      for (int round = 0; round < 3; ++round) {
        b.dst.fill(b.stream, [](size_t) { return -1; });
        shortSums(me, comm, b, other);
        shortOnesOfOtherKinds(me, comm, b);
        me.meet();
      }
      check(cudaStreamSynchronize(b.stream));
      me.meet();
      check(cudaStreamDestroy(other));
      good(rondoCommDestroy(comm));
    });
  }
}

TEST(DeviceApi, GroupsOrderCommunicators) {
  rondoUniqueId ids[2];
  onRanks(2, [&](const Rank& me) {
    const rondoComm_t comms[] = {makeComm(me, &ids[0]), makeComm(me, &ids[1])};
    Buffers b(me, 40000);
    for (int round = 0; round < 20; ++round) {
      good(rondoGroupStart());
      for (int k = 0; k < 2; ++k) {
        const int which = (k + me.rank) % 2;
        const size_t at = 10000 * static_cast<size_t>(which);
        good(rondoAllReduce(b.src.at(at), b.dst.at(at), 10000, rondoInt32, rondoMax, comms[which],
                            b.stream));
        good(rondoSend(b.src.at(at), 5000, rondoInt32, 1 - me.rank, comms[which], b.stream));
        good(
            rondoRecv(b.dst.at(20000 + at), 5000, rondoInt32, 1 - me.rank, comms[which], b.stream));
      }
      good(rondoGroupEnd());
    }
    EXPECT_EQ(b.dst.wrong(b.stream, 0, 20000, [](size_t i) { return element(1, i); }), 0u);
    EXPECT_EQ(b.dst.wrong(b.stream, 30000, 5000,
                          [&](size_t i) { return element(1 - me.rank, i + 10000); }),
              0u);
    me.meet();
    for (const rondoComm_t comm : comms) good(rondoCommDestroy(comm));
  });
}

TEST(DeviceApi, GroupsReportTheFirstCause) {
  rondoUniqueId id;
  onRanks(1, [&](const Rank& me) {
    const rondoComm_t comm = makeComm(me, &id);
    Buffers b(me, 100);
    const auto end = [&](const char* words) {
      EXPECT_NE(rondoGroupEnd(), rondoSuccess);
      EXPECT_NE(std::string(rondoGetLastError(nullptr)).find(words), std::string::npos)
          << rondoGetLastError(nullptr);
      // nothing of the group has run, and the communicator is as good as before
      EXPECT_EQ(b.dst.wrong(b.stream, 0, 100, [](size_t) { return -1; }), 0u);
    };
    good(rondoGroupStart());
    good(rondoBroadcast(b.src.at(0), b.dst.at(0), 50, rondoInt32, 0, comm, b.stream));
    good(rondoSend(b.src.at(0), 5, rondoInt32, 9, comm, b.stream));
    good(rondoRecv(b.dst.at(0), 5, rondoDataType_t{999}, 0, comm, b.stream));
    end("rondoSend: rank 0: argument peer is 9");
    good(rondoGroupStart());
    good(rondoSend(b.src.at(0), 5, rondoInt32, 0, comm, b.stream));
    end("rank 0 sends itself 1 messages and receives 0");
    int host = 0;
    EXPECT_EQ(rondoSendRecv(b.src.at(0), 1, 0, &host, 1, 0, rondoInt32, comm, b.stream),
              rondoInvalidArgument);
    EXPECT_EQ(rondoSendRecv(b.src.at(0), 1, 0, &host, 1, 0, rondoInt32, comm, nullptr),
              rondoInvalidArgument);
    EXPECT_NE(std::string(rondoGetLastError(nullptr)).find("recvbuff"), std::string::npos)
        << rondoGetLastError(nullptr);
    good(rondoSendRecv(b.src.at(3), 5, 0, b.dst.at(0), 5, 0, rondoInt32, comm, b.stream));
    EXPECT_EQ(b.dst.wrong(b.stream, 0, 5, [](size_t i) { return element(0, i + 3); }), 0u);
    good(rondoCommDestroy(comm));
  });
}

// Fifty communicators, used in turn and at once, on streams of their own and in opposite orders.
TEST(DeviceApi, FiftyCommunicators) {
  constexpr int kComms = 50;
  std::vector<rondoUniqueId> ids(kComms);
  std::atomic<uint64_t> first{0}, further{0};
  onRanks(2, [&](const Rank& me) {
    const auto used = [&] {
      me.meet();
      size_t free = 0, total = 0;
      check(cudaMemGetInfo(&free, &total));
      me.meet();
      return total - free;
    };
    Buffers b(me, 200 * kComms);
    std::vector<rondoComm_t> comms;
    std::vector<cudaStream_t> streams;
    const size_t before = used();
    comms.push_back(makeComm(me, &ids[0], 8));
    const size_t one = used();
    for (int c = 1; c < kComms; ++c) comms.push_back(makeComm(me, &ids[static_cast<size_t>(c)], 1));
    const size_t all = used();
    first = (one - before) / 2;
    further = (all - one) / (2 * (kComms - 1));
    for (int c = 0; c < kComms; ++c) streams.push_back(newStream());
    me.meet();
    const auto use = [&](int c, cudaStream_t stream) {
      const size_t at = 200 * static_cast<size_t>(c);
      good(rondoAllReduce(b.src.at(at), b.dst.at(at), 200, rondoInt32, rondoSum,
                          comms[static_cast<size_t>(c)], stream));
    };
    const auto wrong = [&] {
      for (const cudaStream_t stream : streams) check(cudaStreamSynchronize(stream));
      const size_t bad = b.dst.wrong(b.stream, 0, 200 * kComms,
                                     [](size_t i) { return element(0, i) + element(1, i); });
      b.dst.fill(b.stream, [](size_t) { return -1; });
      me.meet();
      return bad;
    };
    for (int c = 0; c < kComms; ++c) use(c, b.stream);
    check(cudaStreamSynchronize(b.stream));
    EXPECT_EQ(wrong(), 0u) << "in turn";
    for (int round = 0; round < 3; ++round) {
      for (int k = 0; k < kComms; ++k) {
        const int c = me.rank == 0 ? k : kComms - 1 - k;
        use(c, streams[static_cast<size_t>(c)]);
      }
      EXPECT_EQ(wrong(), 0u) << "at once";
    }
    me.meet();
    for (const cudaStream_t stream : streams) check(cudaStreamDestroy(stream));
    for (const rondoComm_t comm : comms) good(rondoCommDestroy(comm));
  });
  std::printf("GPU memory of a rank: %.1f MiB for a communicator of 16 blocks, %.1f for one of 2\n",
              static_cast<double>(first) / (1 << 20), static_cast<double>(further) / (1 << 20));
  EXPECT_LE(further, uint64_t{4} << 20);
}

// When all of the device is promised, a further communicator says so.
TEST(DeviceApi, BudgetsEnd) {
  std::vector<rondoUniqueId> ids(400);
  onRanks(1, [&](const Rank& me) {
    Buffers b(me, 10);
    std::vector<rondoComm_t> comms;
    rondoResult_t result = rondoSuccess;
    while (result == rondoSuccess && comms.size() < ids.size()) {
      comms.push_back(makeComm(me, &ids[comms.size()]));
      result = rondoAllReduce(b.src.at(0), b.dst.at(0), 10, rondoInt32, rondoSum, comms.back(),
                              b.stream);
    }
    EXPECT_EQ(result, rondoUnsupported);
    const std::string why = rondoGetLastError(nullptr);
    EXPECT_NE(why.find("config.smBudget"), std::string::npos) << why;
    EXPECT_GT(comms.size(), 50u);
    check(cudaStreamSynchronize(b.stream));
    for (const rondoComm_t comm : comms) good(rondoCommDestroy(comm));
    // and then there is room again
    comms.assign(1, makeComm(me, &ids[0]));
    good(rondoAllReduce(b.src.at(0), b.dst.at(0), 10, rondoInt32, rondoSum, comms[0], b.stream));
    check(cudaStreamSynchronize(b.stream));
    good(rondoCommDestroy(comms[0]));
  });
}

}  // namespace
}  // namespace rondo::test
