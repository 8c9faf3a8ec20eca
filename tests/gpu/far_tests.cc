// Communicators that span hosts on device memory. The ranks are threads of this process on one GPU
// with host ids of their own, between which UCX is (over TCP on this machine).

#include "gpu/far_ranks.h"

namespace rondo::test {
namespace {

const std::vector<std::vector<std::string>> kShapes = {{"a", "b"}, {"a", "b", "b"}};

TEST(FarGpu, EveryCollectiveLikeOnTheHost) {
  for (const auto& hosts : kShapes) {
    onHosts(hosts, [](const FarRank& me) {
      for (const size_t count :
           {size_t{1}, size_t{1000}, size_t{33'333}, size_t{300'001}, size_t{1'500'000}}) {
        const size_t bytes = count * 4 * static_cast<size_t>(me.size);
        me.load(bytes, static_cast<uint32_t>(count));
        for (const FarCase& test : farCasesOf(me, count, rondoInt32, rondoSum)) {
          for (const size_t shift : {0, 1}) {
            if (count < 1'000'000 || shift == 0) likeOnTheHost(me, test, bytes, 4, shift);
          }
        }
      }
    });
  }
}

TEST(FarGpu, EveryTypeAndOperator) {
  onHosts({"a", "b"}, [](const FarRank& me) {
    constexpr size_t kCount = 3001;
    for (const rondoDataType_t type : kAllTypes) {
      const size_t element = typeSize(type), bytes = kCount * element * 2;
      me.load(bytes, static_cast<uint32_t>(type) + 77);
      for (const rondoRedOp_t op : kAllOps) {
        if (!opDefined(type, op)) continue;
        likeOnTheHost(me, farCasesOf(me, kCount, type, op)[0], bytes, element, 1);
      }
    }
  });
}

TEST(FarGpu, GraphsAreReplayed) {
  onHosts({"a", "b"}, [](const FarRank& me) {
    constexpr size_t kCount = 700'000;
    me.load(kCount * 4, 1);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    check(cudaStreamBeginCapture(me.stream, cudaStreamCaptureModeThreadLocal));
    good(rondoAllReduce(me.src, me.dst, kCount, rondoInt32, rondoSum, me.comm, me.stream));
    good(rondoSendRecv(me.src, 300'000, 1 - me.rank, me.dst + kCount * 4, 300'000, 1 - me.rank,
                       rondoInt32, me.comm, me.stream));
    good(rondoAllReduce(me.dst, me.dst, 10, rondoInt32, rondoMax, me.comm, me.stream));
    check(cudaStreamEndCapture(me.stream, &graph));
    me.meet();
    check(cudaGraphInstantiate(&exec, graph, 0));
    check(cudaGraphUpload(exec, me.stream));
    me.wait();
    me.meet();
    for (uint32_t replay = 0; replay < 5; ++replay) {
      me.load(kCount * 4, replay);
      me.poison(kCount * 8);
      check(cudaGraphLaunch(exec, me.stream));
      if (replay == 2) {  // between replays
        good(rondoAllReduce(me.src, me.dst, kCount, rondoInt32, rondoSum, me.comm, me.stream));
      }
      std::vector<unsigned char> want(kCount * 4 + 1'200'000);
      me.wait();
      good(rondoAllReduce(me.give, want.data(), kCount, rondoInt32, rondoSum, me.comm, nullptr));
      good(rondoSendRecv(me.give, 300'000, 1 - me.rank, want.data() + kCount * 4, 300'000,
                         1 - me.rank, rondoInt32, me.comm, nullptr));
      EXPECT_EQ(me.wrong(0, want), 0u) << "replay " << replay;
    }
    me.meet();
    check(cudaGraphExecDestroy(exec));
    check(cudaGraphDestroy(graph));
  });
}

// All pairs at once, with itself, on two streams, and a collective in the same group.
/// What it sends is aside, in memory of the graph's.
TEST(FarGpu, UnevenAllToAllInPlaceInAGraph) {
  onHosts({"a", "b", "b"}, [](const FarRank& me) {
    const auto n = static_cast<size_t>(me.size), mine = static_cast<size_t>(me.rank);
    const size_t units[] = {3, 100'000, 40'001};  // r and s have units[(r + s) % 3] for each other
    std::vector<size_t> counts, places;
    size_t all = 0;
    for (size_t r = 0; r < n; ++r) {
      counts.push_back(units[(mine + r) % 3]);
      places.push_back(all);
      all += counts.back();
    }
    me.poison((all + 64) * 4);
    const auto value = [](size_t from, size_t to, size_t i) {
      return static_cast<uint32_t>(from * 1'000'000'007 + to * 1'000'003 + i * 7);
    };
    const auto blocks = [&](bool given) {
      std::vector<unsigned char> bytes(all * 4);
      for (size_t r = 0; r < n; ++r) {
        for (size_t i = 0; i < counts[r]; ++i) {
          const uint32_t each = given ? value(mine, r, i) : value(r, mine, i);
          std::memcpy(bytes.data() + (places[r] + i) * 4, &each, 4);
        }
      }
      return bytes;
    };
    const std::vector<unsigned char> before = blocks(true), after = blocks(false);
    check(cudaMemcpyAsync(me.dst, before.data(), before.size(), cudaMemcpyHostToDevice, me.stream));
    me.wait();
    me.meet();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    check(cudaStreamBeginCapture(me.stream, cudaStreamCaptureModeThreadLocal));
    good(rondoAllToAllV(me.dst, counts.data(), places.data(), me.dst, counts.data(), places.data(),
                        rondoInt32, me.comm, me.stream));
    check(cudaStreamEndCapture(me.stream, &graph));
    check(cudaGraphInstantiate(&exec, graph, 0));
    check(cudaGraphUpload(exec, me.stream));
    me.wait();
    me.meet();
    for (const auto* want : {&after, &before, &after}) {  // what came goes back
      check(cudaGraphLaunch(exec, me.stream));
      me.launched();
      EXPECT_EQ(me.wrong(0, *want), 0u);
      me.meet();
    }
    check(cudaGraphExecDestroy(exec));
    check(cudaGraphDestroy(graph));
  });
}

/// Whoever gives leaves, and takes other numbers: more calls than there are places, to ranks that
/// are late.
TEST(FarGpu, WhoGetsNothingLeaves) {
  onHosts({"a", "b"}, [](const FarRank& me) {
    constexpr size_t kCalls = 40, kMost = 40'000;
    std::vector<unsigned char> want;
    for (size_t k = 0; k < kCalls; ++k) {
      const size_t bytes = k % 3 == 0 ? 16 : k % 3 == 1 ? 1000 : kMost;
      want.insert(want.end(), bytes, static_cast<unsigned char>(k + 1));
    }
    me.poison(want.size() + 64);
    me.meet();
    if (me.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (size_t k = 0, at = 0; k < kCalls; ++k) {
      const size_t bytes = k % 3 == 0 ? 16 : k % 3 == 1 ? 1000 : kMost;
      if (me.rank == 0) {
        check(cudaMemsetAsync(me.src, static_cast<int>(k + 1), bytes, me.stream));
      }
      if (k % 2 == 0) {
        good(rondoBroadcast(me.src, me.dst + at, bytes, rondoUint8, 0, me.comm, me.stream));
      } else if (me.rank == 0) {
        good(rondoSend(me.src, bytes, rondoUint8, 1, me.comm, me.stream));
        check(cudaMemcpyAsync(me.dst + at, me.src, bytes, cudaMemcpyDeviceToDevice, me.stream));
      } else {
        good(rondoRecv(me.dst + at, bytes, rondoUint8, 0, me.comm, me.stream));
      }
      at += bytes;
    }
    EXPECT_EQ(me.wrong(0, want), 0u);
    me.meet();
  });
}

TEST(FarGpu, Groups) {
  onHosts({"a", "b", "b"}, [](const FarRank& me) {
    constexpr size_t kBytes = 1'234'567;
    cudaStream_t other = nullptr;
    check(makeFreshStream(&other));
    me.load(kBytes + 3, 9);
    me.poison(4 * kBytes + 64);
    me.meet();
    const auto exchange = [&](unsigned char* from, unsigned char* to, cudaStream_t first,
                              cudaStream_t second) {
      good(rondoGroupStart());
      for (int k = 0; k < me.size; ++k) {
        const int peer = (me.rank + k) % me.size;
        good(rondoRecv(to + static_cast<size_t>(peer) * kBytes, kBytes, rondoInt8, peer, me.comm,
                       first));
        good(rondoSend(from + peer, kBytes, rondoInt8, peer, me.comm, second));
      }
      good(rondoAllReduce(from, to + 3 * kBytes, kBytes, rondoUint8, rondoMax, me.comm, second));
      good(rondoGroupEnd());
    };
    exchange(me.src, me.dst, me.stream, other);
    me.launched();
    check(waitFor(other));
    me.wait();
    std::vector<unsigned char> want(4 * kBytes), in(me.give, me.give + kBytes + 3);
    exchange(in.data(), want.data(), nullptr, nullptr);
    EXPECT_EQ(me.wrong(0, want), 0u);
    me.meet();
    check(cudaStreamDestroy(other));
  });
}

// Long enough for the network to read and write them where they lie, where it can
// (RONDO_NET_ZERO_COPY): several pieces, off the lines of memory, short ones between, and again
// from a graph.
TEST(FarGpu, LongSends) {
  onHosts({"a", "b"}, [](const FarRank& me) {
    constexpr size_t kLengths[] = {9'000'011, 33, 1u << 20, 5'000'000};
    size_t all = 0;
    for (const size_t bytes : kLengths) all += bytes;
    const auto exchange = [&](const unsigned char* from, unsigned char* to, cudaStream_t stream) {
      good(rondoGroupStart());
      for (const size_t bytes : kLengths) {
        good(rondoSend(from, bytes, rondoInt8, 1 - me.rank, me.comm, stream));
        good(rondoRecv(to, bytes, rondoInt8, 1 - me.rank, me.comm, stream));
        from += bytes;
        to += bytes;
      }
      good(rondoGroupEnd());
    };
    const auto compare = [&] {
      me.wait();
      std::vector<unsigned char> want(all), in(me.give + 1, me.give + 1 + all);
      exchange(in.data(), want.data(), nullptr);
      EXPECT_EQ(me.wrong(3, want), 0u);
      me.meet();
    };
    me.load(all + 1, 5);
    me.poison(all + 3 + 64);
    me.meet();
    exchange(me.src + 1, me.dst + 3, me.stream);
    compare();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    check(cudaStreamBeginCapture(me.stream, cudaStreamCaptureModeThreadLocal));
    exchange(me.src + 1, me.dst + 3, me.stream);
    check(cudaStreamEndCapture(me.stream, &graph));
    me.meet();
    check(cudaGraphInstantiate(&exec, graph, 0));
    check(cudaGraphUpload(exec, me.stream));
    me.wait();
    me.meet();
    for (uint32_t replay = 0; replay < 3; ++replay) {
      me.load(all + 1, 100 + replay);
      me.poison(all + 3 + 64);
      me.meet();
      check(cudaGraphLaunch(exec, me.stream));
      compare();
    }
    check(cudaGraphExecDestroy(exec));
    check(cudaGraphDestroy(graph));
  });
}

// Nothing of a call waits for the host's thread, and an abort ends the kernels.
TEST(FarGpu, AbortEndsWhatWaits) {
  onHosts({"a", "b"}, [](const FarRank& me) { expectAborted(me, 1); });
}

}  // namespace
}  // namespace rondo::test
