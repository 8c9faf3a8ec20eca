#pragma once
// Ranks of communicators that span hosts, as threads of this process on one GPU with host ids of
// their own, between which UCX is (over TCP on this machine).

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
#include "gpu/api_ranks.h"
#include "gpu/fresh_stream.h"
#include "gpu/in_step.h"

namespace rondo::test {

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
  void wait() const { check(waitFor(stream)); }
  /// This rank has loaded its data.
  void loaded() const {
    if (inStep()) meet();
  }
  /// This rank has launched its call, and may wait: in step all have then (waitFor() says why).
  void launched() const {
    if (inStep()) meet();
  }
  void load(size_t bytes, uint32_t seed) const {
    uint64_t state = (uint64_t{seed} << 32 | static_cast<uint32_t>(rank)) * 2 + 1;
    for (size_t i = 0; i < bytes; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      give[i] = static_cast<unsigned char>(state >> 56);
    }
    check(cudaMemcpyAsync(src, give, bytes, cudaMemcpyHostToDevice, stream));
    wait();
    loaded();
  }
  void poison(size_t bytes) const {
    check(cudaMemsetAsync(dst, 0xa5, bytes, stream));
    wait();
    loaded();
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

inline void onHosts(const std::vector<std::string>& hosts,
                    const std::function<void(const FarRank&)>& body, const char* tune = nullptr) {
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
      config.tune = tune;
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

using FarCaseCall = std::function<rondoResult_t(const void*, void*, rondoStream_t)>;
struct FarCase {
  const char* name;
  FarCaseCall call;
  size_t out;  ///< Elements of the result; 0: this rank gets none.
};

inline std::vector<FarCase> farCasesOf(const FarRank& me, size_t count, rondoDataType_t type,
                                       rondoRedOp_t op) {
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
inline void likeOnTheHost(const FarRank& me, const FarCase& test, size_t inBytes, size_t element,
                          size_t shift) {
  const size_t outBytes = test.out * element, off = shift * element;
  check(cudaMemcpyAsync(me.src + off, me.give, inBytes, cudaMemcpyHostToDevice, me.stream));
  me.poison(off + outBytes + 64);
  good(test.call(me.src + off, me.dst + off, me.stream));
  me.launched();
  std::vector<unsigned char> in(me.give, me.give + inBytes), want(std::max<size_t>(1, outBytes));
  me.wait();
  good(test.call(in.data(), want.data(), nullptr));
  want.resize(outBytes);
  EXPECT_EQ(me.wrong(off, want), 0u) << test.name << ", " << outBytes << " bytes, " << shift
                                     << " off, rank " << me.rank << " of " << me.size;
}

/// Rank `late` does not call, and revokes: the kernels of the others end, and later calls fail.
inline void expectAborted(const FarRank& me, int late) {
  if (me.rank != late) {
    good(rondoAllReduce(me.src, me.dst, 100'000, rondoInt32, rondoSum, me.comm, me.stream));
    EXPECT_EQ(cudaStreamQuery(me.stream), cudaErrorNotReady);
  }
  me.meet();
  if (me.rank == late) good(rondoCommRevoke(me.comm));
  me.wait();
  rondoResult_t result = rondoSuccess;
  while (result == rondoSuccess) {
    result = rondoAllReduce(me.src, me.dst, 10, rondoInt32, rondoSum, me.comm, me.stream);
    me.wait();
  }
  EXPECT_EQ(result, rondoRemoteError) << rondoGetLastError(nullptr);
}

}  // namespace rondo::test
