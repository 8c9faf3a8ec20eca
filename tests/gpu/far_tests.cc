// Communicators that span hosts on device memory. The ranks are threads of this process on one GPU
// with host ids of their own, between which UCX is (over TCP on this machine).

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <barrier>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "api/rondo.h"
#include "api/types.h"
#include "gpu/fresh_stream.h"

namespace rondo::test {
namespace {

void check(cudaError_t error) { ASSERT_EQ(error, cudaSuccess) << cudaGetErrorString(error); }
void good(rondoResult_t result) { ASSERT_EQ(result, rondoSuccess) << rondoGetLastError(nullptr); }

/// One rank with its communicator, stream and buffers. Memory is made and freed while no kernel of
/// anybody waits: the driver may let it wait for all of them.
struct FarRank {
  int rank, size;
  rondoComm_t comm;
  cudaStream_t stream;
  unsigned char *src, *dst;    ///< On the device.
  unsigned char *give, *take;  ///< Page-locked.
  std::barrier<>& barrier;

  void meet() const { barrier.arrive_and_wait(); }
  void wait() const { check(cudaStreamSynchronize(stream)); }
  void load(size_t bytes, uint32_t seed) const {
    uint64_t state = (uint64_t{seed} << 32 | static_cast<uint32_t>(rank)) * 2 + 1;
    for (size_t i = 0; i < bytes; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      give[i] = static_cast<unsigned char>(state >> 56);
    }
    check(cudaMemcpyAsync(src, give, bytes, cudaMemcpyHostToDevice, stream));
    wait();
  }
  void poison(size_t bytes) const {
    check(cudaMemsetAsync(dst, 0xa5, bytes, stream));
    wait();
  }
  /// Bytes of the result, from `from` on, that are not those of `want`, and of the 64 behind it
  /// that are not poison.
  size_t wrong(size_t from, const std::vector<unsigned char>& want) const {
    check(cudaMemcpyAsync(take, dst + from, want.size() + 64, cudaMemcpyDeviceToHost, stream));
    wait();
    size_t bad = 0;
    for (size_t i = 0; i < want.size(); ++i) bad += take[i] != want[i] ? 1 : 0;
    for (size_t i = 0; i < 64; ++i) bad += take[want.size() + i] != 0xa5 ? 1 : 0;
    return bad;
  }
};

constexpr size_t kMostBytes = 24u << 20;

void onHosts(const std::vector<std::string>& hosts,
             const std::function<void(const FarRank&)>& body) {
  const int n = static_cast<int>(hosts.size());
  std::barrier<> barrier(n);
  rondoUniqueId id;
  good(rondoGetUniqueId(&id));
  std::vector<std::thread> threads;
  for (int r = 0; r < n; ++r) {
    threads.emplace_back([&, r] {
      check(cudaSetDevice(0));
      rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
      config.hostId = hosts[static_cast<size_t>(r)].c_str();
      FarRank me{r, n, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, barrier};
      check(makeFreshStream(&me.stream));
      for (unsigned char** p : {&me.src, &me.dst}) check(cudaMalloc(p, kMostBytes));
      for (unsigned char** p : {&me.give, &me.take}) check(cudaMallocHost(p, kMostBytes));
      good(rondoCommInitRankConfig(&me.comm, n, id, r, &config));
      me.meet();
      body(me);
      me.wait();
      me.meet();
      good(rondoCommDestroy(me.comm));
      for (unsigned char* p : {me.src, me.dst}) check(cudaFree(p));
      for (unsigned char* p : {me.give, me.take}) check(cudaFreeHost(p));
      check(cudaStreamDestroy(me.stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

const std::vector<std::vector<std::string>> kShapes = {{"a", "b"}, {"a", "b", "b"}};

using Call = std::function<rondoResult_t(const void*, void*, rondoStream_t)>;
struct Case {
  const char* name;
  Call call;
  size_t out;  ///< Elements of the result; 0: this rank gets none.
};

std::vector<Case> casesOf(const FarRank& me, size_t count, rondoDataType_t type, rondoRedOp_t op) {
  const auto n = static_cast<size_t>(me.size);
  const int root = me.size - 1;
  rondoComm_t comm = me.comm;
  const size_t atRoot = me.rank == root ? 1 : 0;
  return {
      {"all-reduce",
       [=](auto* s, auto* d, auto t) { return rondoAllReduce(s, d, count, type, op, comm, t); },
       count},
      {"reduce-scatter",
       [=](auto* s, auto* d, auto t) { return rondoReduceScatter(s, d, count, type, op, comm, t); },
       count},
      {"reduce",
       [=](auto* s, auto* d, auto t) { return rondoReduce(s, d, count, type, op, root, comm, t); },
       atRoot * count},
      {"broadcast",
       [=](auto* s, auto* d, auto t) { return rondoBroadcast(s, d, count, type, root, comm, t); },
       count},
      {"all-gather",
       [=](auto* s, auto* d, auto t) { return rondoAllGather(s, d, count, type, comm, t); },
       n * count},
      {"all-to-all",
       [=](auto* s, auto* d, auto t) { return rondoAllToAll(s, d, count, type, comm, t); },
       n * count},
      {"gather",
       [=](auto* s, auto* d, auto t) { return rondoGather(s, d, count, type, root, comm, t); },
       atRoot * n * count},
      {"scatter",
       [=](auto* s, auto* d, auto t) { return rondoScatter(s, d, count, type, root, comm, t); },
       count},
  };
}

/// The same call on device memory, `shift` elements off, and on host memory, compared.
void likeOnTheHost(const FarRank& me, const Case& test, size_t inBytes, size_t element,
                   size_t shift) {
  const size_t outBytes = test.out * element, off = shift * element;
  me.poison(off + outBytes + 64);
  check(cudaMemcpyAsync(me.src + off, me.give, inBytes, cudaMemcpyHostToDevice, me.stream));
  good(test.call(me.src + off, me.dst + off, me.stream));
  std::vector<unsigned char> in(me.give, me.give + inBytes), want(std::max<size_t>(1, outBytes));
  me.wait();
  good(test.call(in.data(), want.data(), nullptr));
  want.resize(outBytes);
  EXPECT_EQ(me.wrong(off, want), 0u) << test.name << ", " << outBytes << " bytes, " << shift
                                     << " off, rank " << me.rank << " of " << me.size;
}

TEST(FarGpu, EveryCollectiveLikeOnTheHost) {
  for (const auto& hosts : kShapes) {
    onHosts(hosts, [](const FarRank& me) {
      for (const size_t count :
           {size_t{1}, size_t{1000}, size_t{33'333}, size_t{300'001}, size_t{1'500'000}}) {
        const size_t bytes = count * 4 * static_cast<size_t>(me.size);
        me.load(bytes, static_cast<uint32_t>(count));
        for (const Case& test : casesOf(me, count, rondoInt32, rondoSum)) {
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
        likeOnTheHost(me, casesOf(me, kCount, type, op)[0], bytes, element, 1);
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
    check(cudaStreamSynchronize(other));
    me.wait();
    std::vector<unsigned char> want(4 * kBytes), in(me.give, me.give + kBytes + 3);
    exchange(in.data(), want.data(), nullptr, nullptr);
    EXPECT_EQ(me.wrong(0, want), 0u);
    me.meet();
    check(cudaStreamDestroy(other));
  });
}

// Nothing of a call waits for the host's thread, and an abort ends the kernels.
TEST(FarGpu, AbortEndsWhatWaits) {
  onHosts({"a", "b"}, [](const FarRank& me) {
    if (me.rank == 0) {
      good(rondoAllReduce(me.src, me.dst, 100'000, rondoInt32, rondoSum, me.comm, me.stream));
      EXPECT_EQ(cudaStreamQuery(me.stream), cudaErrorNotReady);
    }
    me.meet();
    if (me.rank == 1) good(rondoCommRevoke(me.comm));
    me.wait();
    rondoResult_t result = rondoSuccess;
    while (result == rondoSuccess) {
      result = rondoAllReduce(me.src, me.dst, 10, rondoInt32, rondoSum, me.comm, me.stream);
      me.wait();
    }
    EXPECT_EQ(result, rondoRemoteError) << rondoGetLastError(nullptr);
  });
}

}  // namespace
}  // namespace rondo::test
