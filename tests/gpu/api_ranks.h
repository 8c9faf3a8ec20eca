#pragma once
// Ranks that are threads of this process on one GPU, for tests of the C API on device memory.

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <barrier>
#include <functional>
#include <thread>
#include <vector>

#include "api/rondo.h"
#include "gpu/fresh_stream.h"
#include "gpu/in_step.h"

namespace rondo::test {

inline void check(cudaError_t error) { ASSERT_EQ(error, cudaSuccess) << cudaGetErrorString(error); }
inline void good(rondoResult_t result) {
  ASSERT_EQ(result, rondoSuccess) << rondoGetLastError(nullptr);
}

/// What the ranks of a test share.
struct Meeting {
  explicit Meeting(int size) : ranks(size), barrier(size) {}
  const int ranks;
  std::barrier<> barrier;
};

struct Rank {
  int rank;
  int ranks;
  Meeting& meeting;

  void meet() const { meeting.barrier.arrive_and_wait(); }
  /// This rank has loaded, or read, its data.
  void loaded() const {
    if (inStep()) meet();
  }
  /// This rank has launched its call, and may wait: in step all have then (waitFor() says why).
  void launched() const {
    if (inStep()) meet();
  }
  int after(int k) const { return (rank + k) % ranks; }
  int before(int k) const { return (rank + ranks - k) % ranks; }
};

/// All ranks' communicators of one group; every rank calls it.
inline rondoComm_t makeComm(const Rank& me, rondoUniqueId* id, int smBudget = 0) {
  if (me.rank == 0) {
    EXPECT_EQ(rondoGetUniqueId(id), rondoSuccess);
  }
  me.meet();
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.smBudget = smBudget;
  rondoComm_t comm = nullptr;
  EXPECT_EQ(rondoCommInitRankConfig(&comm, me.ranks, *id, me.rank, &config), rondoSuccess)
      << rondoGetLastError(nullptr);
  me.meet();
  return comm;
}

inline void onRanks(int ranks, const std::function<void(const Rank&)>& body) {
  Meeting meeting(ranks);
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      check(cudaSetDevice(0));
      body({r, ranks, meeting});
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Ranks meet between the last one's streams and the first one's launch: the driver may let the
/// making of a stream wait for the other rank's kernel, and that waits for this rank's.
inline cudaStream_t newStream() {
  cudaStream_t stream = nullptr;
  check(makeFreshStream(&stream));
  return stream;
}

/// Device memory of ints, filled and read through page-locked memory: other copies may wait for
/// kernels that wait for this rank.
class Ints {
 public:
  explicit Ints(size_t count) : count_(count) {
    check(cudaMalloc(&device_, count * sizeof(int)));
    check(cudaMallocHost(&host_, count * sizeof(int)));
  }
  Ints(const Ints&) = delete;
  Ints& operator=(const Ints&) = delete;

  int* at(size_t element) const { return device_ + element; }
  /// `value` of each element.
  template <class Value>
  void fill(cudaStream_t stream, Value value) {
    for (size_t i = 0; i < count_; ++i) host_[i] = value(i);
    check(cudaMemcpyAsync(device_, host_, count_ * sizeof(int), cudaMemcpyHostToDevice, stream));
    check(waitFor(stream));
  }
  /// How many of the `count` elements from `from` on are not as `value` says.
  template <class Value>
  size_t wrong(cudaStream_t stream, size_t from, size_t count, Value value) {
    check(cudaMemcpyAsync(host_, device_ + from, count * sizeof(int), cudaMemcpyDeviceToHost,
                          stream));
    check(waitFor(stream));
    size_t bad = 0;
    for (size_t i = 0; i < count; ++i) bad += host_[i] != value(i) ? 1 : 0;
    return bad;
  }
  void free() {
    check(cudaFree(device_));
    check(cudaFreeHost(host_));
  }

 private:
  size_t count_;
  int* device_ = nullptr;
  int* host_ = nullptr;
};

/// An element of what a rank sends.
inline int element(int rank, size_t i) { return rank * 1000003 + static_cast<int>(i); }

/// The buffers of a rank, made and freed while no kernel of anybody waits.
struct Buffers {
  Buffers(const Rank& rank, size_t count) : me(rank), src(count), dst(count), stream(newStream()) {
    src.fill(stream, [&](size_t i) { return element(me.rank, i); });
    dst.fill(stream, [](size_t) { return -1; });
    me.meet();
  }
  ~Buffers() {
    check(waitFor(stream));
    me.meet();
    src.free();
    dst.free();
    check(cudaStreamDestroy(stream));
  }
  const Rank me;
  Ints src, dst;
  const cudaStream_t stream;
};

}  // namespace rondo::test
