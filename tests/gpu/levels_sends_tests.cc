// Sends and receives of communicators in levels: by kernels inside a host, by host memory between
// hosts, and in one group by both at once. The ranks are threads of this process on one GPU.

#include <chrono>

#include "gpu/far_ranks.h"

namespace rondo::test {
namespace {

constexpr const char* kInLevels = "broadcast:device:0-:hier";
const std::vector<std::vector<std::string>> kLayered = {
    {"a", "a", "b", "b"}, {"a", "b", "a", "b"}, {"a", "a", "b", "b", "c", "c"}};

/// What one rank sends another in a group.
struct Message {
  int from, to;
  size_t bytes;
  bool otherStream;
  size_t offset = 0;  ///< Where it goes in the receiver's result.
};

/// Of every pair, of each rank to itself, of nothing; one inside a host is so long that it asks
/// where it goes.
std::vector<Message> someMessages(uint32_t seed, int ranks) {
  constexpr size_t kLengths[] = {0, 1, 1000, 40'001, 300'007, 1'200'000};
  std::vector<Message> all;
  std::vector<size_t> ends(static_cast<size_t>(ranks), 0);
  uint32_t state = seed * 2654435761u + 1;
  const auto below = [&](uint32_t n) {
    state = state * 1664525u + 1013904223u;
    return static_cast<int>((state >> 8) % n);
  };
  for (int i = 0; i < 6 * ranks; ++i) {
    const auto n = static_cast<uint32_t>(ranks);
    Message each{below(n), below(n), kLengths[below(6)], below(2) == 1};
    if (i == 3) each = {0, ranks - 1, 5u << 20, false};
    if (i == 4) each = {1, 0, 5u << 20, true};
    size_t& end = ends[static_cast<size_t>(each.to)];
    if (end + each.bytes + 64 > kMostBytes) continue;
    each.offset = end;
    end += each.bytes;
    all.push_back(each);
  }
  return all;
}

void enqueue(const FarRank& me, const std::vector<Message>& all, cudaStream_t stream,
             cudaStream_t other) {
  good(rondoGroupStart());
  for (const Message& each : all) {
    cudaStream_t on = each.otherStream ? other : stream;
    if (each.from == me.rank) {
      good(rondoSend(me.src + each.to, each.bytes, rondoUint8, each.to, me.comm, on));
    }
    if (each.to == me.rank) {
      good(rondoRecv(me.dst + each.offset, each.bytes, rondoUint8, each.from, me.comm, on));
    }
  }
  good(rondoGroupEnd());
}

/// What rank `rank` has at src + from after load(seed).
void append(std::vector<unsigned char>* to, int rank, uint32_t seed, size_t from, size_t bytes) {
  uint64_t state = (uint64_t{seed} << 32 | static_cast<uint32_t>(rank)) * 2 + 1;
  for (size_t i = 0; i < from + bytes; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    if (i >= from) to->push_back(static_cast<unsigned char>(state >> 56));
  }
}

void expectMessages(const FarRank& me, const std::vector<Message>& all, uint32_t seed) {
  std::vector<unsigned char> want;
  for (const Message& each : all) {
    if (each.to == me.rank) {
      append(&want, each.from, seed, static_cast<size_t>(each.to), each.bytes);
    }
  }
  EXPECT_EQ(me.wrong(0, want), 0u) << "seed " << seed << " rank " << me.rank;
}

/// But not for ever: what waits in a circle is ended, and a failure.
void finish(const FarRank& me) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (cudaStreamQuery(me.stream) == cudaErrorNotReady) {
    if (std::chrono::steady_clock::now() < end) continue;
    ADD_FAILURE() << "rank " << me.rank << " waits for ever";
    good(rondoCommRevoke(me.comm));
    break;
  }
  me.wait();
}

constexpr size_t kMessageBytes = (5u << 20) + 16;

TEST(LevelsGpu, SendsInsideAHostAndBetweenHostsInOneGroup) {
  for (const auto& hosts : kLayered) {
    onHosts(
        hosts,
        [](const FarRank& me) {
          cudaStream_t other = nullptr;
          check(makeFreshStream(&other));
          for (uint32_t seed = 1; seed <= 8; ++seed) {
            const std::vector<Message> all = someMessages(seed, me.size);
            me.load(kMessageBytes, seed);
            me.poison(kMostBytes);
            me.meet();
            enqueue(me, all, me.stream, other);
            finish(me);
            check(cudaStreamSynchronize(other));
            expectMessages(me, all, seed);
          }
          me.meet();
          check(cudaStreamDestroy(other));
        },
        kInLevels);
  }
}

/// Rank 0 has both kinds in a group; what it receives comes only after what it sends, by way of
/// rank `second` and then rank `third`.
void enqueueChain(const FarRank& me, int second, int third, size_t bytes) {
  const auto pass = [&](int from, int to) {
    good(rondoRecv(me.dst, bytes, rondoUint8, from, me.comm, me.stream));
    good(rondoSend(me.dst, bytes, rondoUint8, to, me.comm, me.stream));
  };
  if (me.rank == 0) {
    good(rondoGroupStart());
    good(rondoRecv(me.dst, bytes, rondoUint8, third, me.comm, me.stream));
    good(rondoSend(me.src, bytes, rondoUint8, second, me.comm, me.stream));
    good(rondoGroupEnd());
  } else if (me.rank == second) {
    pass(0, third);
  } else if (me.rank == third) {
    pass(second, 0);
  }
}

TEST(LevelsGpu, ThoseOfAGroupDoNotWaitForEachOther) {
  constexpr size_t kBytes = 8u << 20;  // more than is on its way at once
  for (const bool nearFirst : {false, true}) {
    onHosts(
        {"a", "a", "b", "b"},
        [nearFirst](const FarRank& me) {
          for (uint32_t round = 0; round < 5; ++round) {
            const int second = nearFirst ? 1 : 3, third = nearFirst ? 3 : 1;
            me.load(kBytes, round);
            me.poison(kBytes + 64);
            me.meet();
            enqueueChain(me, second, third, kBytes);
            finish(me);
            std::vector<unsigned char> want;
            if (me.rank != 2) append(&want, 0, round, 0, kBytes);
            EXPECT_EQ(me.wrong(0, want), 0u) << "round " << round << " rank " << me.rank;
          }
        },
        kInLevels);
  }
}

/// A graph of what is captured on the rank's stream.
class Captured {
 public:
  explicit Captured(cudaStream_t stream) : stream_(stream) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  }
  /// Ends the capture; `steps`: how many may be the first to run.
  void end(size_t steps) {
    check(cudaStreamEndCapture(stream_, &graph_));
    size_t roots = 0;
    check(cudaGraphGetRootNodes(graph_, nullptr, &roots));
    EXPECT_EQ(roots, steps);
  }
  void make() {
    check(cudaGraphInstantiate(&exec_, graph_, 0));
    check(cudaGraphUpload(exec_, stream_));
  }
  void launch(cudaStream_t stream) const { check(cudaGraphLaunch(exec_, stream)); }
  void free() {
    check(cudaGraphExecDestroy(exec_));
    check(cudaGraphDestroy(graph_));
  }

 private:
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

// Each rank sends its neighbour and a rank of the other host, and hears from them. In a graph of
// two such groups, captured while another one is, and while calls are made that are not captured.
TEST(LevelsGpu, GraphsOfBothKindsOfSends) {
  onHosts(
      {"a", "a", "b", "b"},
      [](const FarRank& me) {
        constexpr size_t kBytes = 1'200'004;
        std::vector<Message> all;
        for (int to = 0; to < 4; ++to) {
          all.push_back({to ^ 1, to, kBytes, false, 0});
          all.push_back({to ^ 2, to, kBytes, false, kBytes});
        }
        cudaStream_t other = nullptr, third = nullptr;
        check(makeFreshStream(&other));
        check(makeFreshStream(&third));
        me.load(kBytes + 16, 1);
        me.poison(kMostBytes);
        me.meet();
        Captured first(me.stream);
        enqueue(me, all, me.stream, me.stream);
        enqueue(me, all, other, other);  // at once
        Captured second(third);
        enqueue(me, all, third, third);
        second.end(2);
        enqueue(me, all, me.stream, me.stream);
        first.end(2);
        check(cudaStreamSynchronize(other));
        expectMessages(me, all, 1);
        me.meet();
        first.make();
        second.make();
        me.wait();
        check(cudaStreamSynchronize(third));
        me.meet();
        for (uint32_t replay = 2; replay < 8; ++replay) {
          me.load(kBytes + 16, replay);
          me.poison(kMostBytes);
          me.meet();
          (replay % 2 == 0 ? first : second).launch(me.stream);
          if (replay == 5) enqueue(me, all, me.stream, me.stream);
          finish(me);
          expectMessages(me, all, replay);
        }
        me.meet();
        first.free();
        second.free();
        check(cudaStreamDestroy(other));
        check(cudaStreamDestroy(third));
      },
      kInLevels);
}

// What it passes on inside the host comes between no send and its receive, whatever their streams.
TEST(LevelsGpu, ABroadcastBesideSendsInsideItsHost) {
  onHosts(
      {"a", "a", "b", "b"},
      [](const FarRank& me) {
        constexpr size_t kBytes = 1u << 20;
        cudaStream_t other = nullptr;
        check(makeFreshStream(&other));
        for (uint32_t round = 0; round < 20; ++round) {
          me.load(2 * kBytes, round);
          me.poison(2 * kBytes + 64);
          me.meet();
          good(rondoGroupStart());
          for (const int peer : {0, 1}) {
            if (me.rank > 1 || peer == me.rank) continue;
            good(rondoSend(me.src + kBytes, kBytes, rondoUint8, peer, me.comm, me.stream));
            good(rondoRecv(me.dst + kBytes, kBytes, rondoUint8, peer, me.comm, me.stream));
          }
          good(rondoBroadcast(me.src, me.dst, kBytes, rondoUint8, 0, me.comm, other));
          good(rondoGroupEnd());
          check(cudaStreamSynchronize(other));
          finish(me);
          std::vector<unsigned char> want;
          append(&want, 0, round, 0, kBytes);
          if (me.rank < 2) append(&want, 1 - me.rank, round, kBytes, kBytes);
          EXPECT_EQ(me.wrong(0, want), 0u) << "round " << round << " rank " << me.rank;
        }
        me.meet();
        check(cudaStreamDestroy(other));
      },
      kInLevels);
}

TEST(LevelsGpu, AbortEndsBothKindsOfSends) {
  onHosts(
      {"a", "a", "b", "b"},
      [](const FarRank& me) {
        if (me.rank == 0) {
          good(rondoGroupStart());
          good(rondoRecv(me.dst, 1000, rondoUint8, 1, me.comm, me.stream));
          good(rondoRecv(me.dst + 1000, 1000, rondoUint8, 3, me.comm, me.stream));
          good(rondoGroupEnd());
          EXPECT_EQ(cudaStreamQuery(me.stream), cudaErrorNotReady);
        }
        me.meet();
        if (me.rank == 1) good(rondoCommRevoke(me.comm));
        me.wait();
        rondoResult_t result = rondoSuccess;
        while (result == rondoSuccess) {
          result = rondoSend(me.src, 10, rondoUint8, me.rank ^ 1, me.comm, me.stream);
          me.wait();
        }
        EXPECT_EQ(result, rondoRemoteError) << rondoGetLastError(nullptr);
      },
      kInLevels);
}

}  // namespace
}  // namespace rondo::test
