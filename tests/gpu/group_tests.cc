// Groups on device memory. The ranks are threads of this process on one GPU.

#include <string>
#include <vector>

#include "gpu/api_ranks.h"

namespace rondo::test {
namespace {

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
        me.launched();
        for (const cudaStream_t s : {other, third, b.stream}) check(waitFor(s));
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
      check(waitFor(b.stream));
      me.meet();
      for (int replay = 0; replay < 5; ++replay) {
        b.dst.fill(b.stream, [](size_t) { return -1; });
        me.loaded();
        check(cudaGraphLaunch(exec, b.stream));
        me.launched();
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

/// Each collective reads what the one before has written, by kernels of their own and as sends and
/// receives in turn, on two streams.
void chain(const Rank& me, rondoComm_t comm, const Buffers& b, cudaStream_t other, size_t count) {
  const auto n = static_cast<size_t>(me.ranks);
  std::vector<size_t> counts(n), places(n);
  size_t all = 0;
  for (size_t r = 0; r < n; ++r) {
    counts[r] = r == 0 ? 0 : count - r;
    places[r] = all;
    all += counts[r];
  }
  int* const sums = b.dst.at(0);
  int* const gathered = b.dst.at(count);
  int* const again = b.dst.at(count + n * count);
  int* const rooted = b.dst.at(count + 2 * n * count);
  good(rondoGroupStart());
  good(rondoAllReduce(b.src.at(0), sums, count, rondoInt32, rondoSum, comm, b.stream));
  good(rondoAllGatherV(sums, counts[static_cast<size_t>(me.rank)], gathered, counts.data(),
                       places.data(), rondoInt32, comm, other));
  good(rondoAllReduce(gathered, again, all, rondoInt32, rondoSum, comm, b.stream));
  good(rondoGather(again, rooted, 10, rondoInt32, 1, comm, other));
  good(rondoSendRecv(b.src.at(9), 4, me.after(1), b.dst.at(count + 4 * n * count), 4, me.before(1),
                     rondoInt32, comm, other));
  good(rondoGroupEnd());
}

size_t wrongOfChain(const Rank& me, Buffers& b, cudaStream_t other, size_t count) {
  check(waitFor(other));
  const auto n = static_cast<size_t>(me.ranks);
  const auto sum = [&](size_t i) {
    int out = 0;
    for (int r = 0; r < me.ranks; ++r) out += element(r, i);
    return out;
  };
  size_t bad = b.dst.wrong(b.stream, 0, count, sum);
  size_t at = 0;
  for (size_t r = 1; r < n; at += count - r, ++r) {
    bad += b.dst.wrong(b.stream, count + at, count - r, sum);
    bad += b.dst.wrong(b.stream, count + n * count + at, count - r,
                       [&](size_t i) { return me.ranks * sum(i); });
  }
  bad += b.dst.wrong(b.stream, count + 4 * n * count, 4,
                     [&](size_t i) { return element(me.before(1), i + 9); });
  if (me.rank != 1) return bad;
  return bad + b.dst.wrong(b.stream, count + 2 * n * count, 10 * n,
                           [&](size_t i) { return me.ranks * sum(i % 10); });
}

TEST(DeviceApi, CollectivesOfAGroupKeepTheirOrder) {
  for (const int ranks : {2, 3, 4}) {
    rondoUniqueId id;
    onRanks(ranks, [&](const Rank& me) {
      const rondoComm_t comm = makeComm(me, &id);
      constexpr size_t kMost = 60000;
      Buffers b(me, (4 * static_cast<size_t>(ranks) + 2) * kMost);
      const cudaStream_t other = newStream();
      me.meet();
      for (const size_t count : {size_t{50}, size_t{5000}, kMost}) {
        for (int round = 0; round < 5; ++round) {
          b.dst.fill(b.stream, [](size_t) { return -1; });
          me.meet();
          chain(me, comm, b, other, count);
          me.launched();
          EXPECT_EQ(wrongOfChain(me, b, other, count), 0u) << count;
          me.meet();
        }
      }
      check(cudaStreamDestroy(other));
      good(rondoCommDestroy(comm));
    });
  }
}

// Whatever order ranks name communicators in, the group has one for all: else the kernels on one
// stream would wait for each other in a circle.
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

// What is not captured cannot wait for what is: refused before anything is launched.
TEST(DeviceApi, AGroupThatBeginsOutsideACaptureIsRefused) {
  rondoUniqueId id;
  onRanks(2, [&](const Rank& me) {
    const rondoComm_t comm = makeComm(me, &id);
    constexpr size_t kInts = 300;
    Buffers b(me, 2 * kInts);
    const cudaStream_t captured = newStream();
    const auto both = [&](cudaStream_t first, cudaStream_t later) {
      good(rondoGroupStart());
      good(rondoAllReduce(b.src.at(0), b.dst.at(0), kInts, rondoInt32, rondoSum, comm, first));
      good(rondoAllReduce(b.src.at(0), b.dst.at(kInts), kInts, rondoInt32, rondoSum, comm, later));
      return rondoGroupEnd();
    };
    me.meet();
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(captured, cudaStreamCaptureModeThreadLocal));
    EXPECT_EQ(both(b.stream, captured), rondoInvalidUsage);
    const std::string said = rondoGetLastError(comm);
    EXPECT_NE(said.find("is captured, and stream"), std::string::npos) << said;
    check(cudaStreamEndCapture(captured, &graph));
    check(cudaGraphDestroy(graph));
    me.meet();
    good(both(b.stream, captured));
    check(waitFor(captured));
    EXPECT_EQ(b.dst.wrong(b.stream, 0, 2 * kInts,
                          [&](size_t i) { return element(0, i % kInts) + element(1, i % kInts); }),
              0u);
    me.meet();
    good(rondoCommDestroy(comm));
  });
}

}  // namespace
}  // namespace rondo::test
