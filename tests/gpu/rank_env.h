#pragma once
// One rank of a GPU test: its runner, its stream, its buffers, and the data that the tests use.

#include <cuda_runtime.h>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "coll/device_runner.h"
#include "gpu/fresh_stream.h"
#include "gpu/in_step.h"

namespace rondo::test {

inline void cuda(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("FAILED: %s: %s\n", what, cudaGetErrorString(error));
  std::fflush(stdout);
  std::_Exit(1);  // other ranks wait for this one: do not leave them waiting
}

/// Rank `rank`'s element i of the data set `seed`: both signs, many exponents, so that the order of
/// a sum shows in its bits.
inline float value(int rank, uint64_t i, uint32_t seed) {
  uint32_t h = static_cast<uint32_t>(i) * 2654435761u ^ static_cast<uint32_t>(rank) * 0x9e3779b9u ^
               seed * 0x85ebca6bu;
  h = (h ^ (h >> 16)) * 0x7feb352du;
  h = (h ^ (h >> 15)) * 0x846ca68bu;
  h ^= h >> 16;
  const float mantissa = 1.0f + static_cast<float>(h & 0xfffff) / 1048576.0f;
  const int exponent = static_cast<int>(h >> 20 & 15) - 8;
  const float magnitude = exponent < 0 ? mantissa / static_cast<float>(1 << -exponent)
                                       : mantissa * static_cast<float>(1 << exponent);
  return (h >> 31) != 0 ? -magnitude : magnitude;
}

/// The sum in the order that the algorithm documents: rank order for the one-shot exchange; round
/// the ring from the rank after a block's owner to the owner.
inline std::vector<float> expected(const DeviceChoice& choice, int size, uint64_t count,
                                   uint32_t seed) {
  std::vector<float> out(count);
  const auto sum = [&](algo::Block b, int first) {
    for (uint64_t i = b.offset; i < b.offset + b.count; ++i) {
      float v = value(first % size, i, seed);
      for (int k = 1; k < size; ++k) v += value((first + k) % size, i, seed);
      out[i] = v;
    }
  };
  const algo::Geometry& g = choice.geometry;
  const bool ring = choice.algorithm[0] == 'r';
  const uint64_t periods = g.fullPeriods();
  for (uint64_t p = 0; p <= periods; ++p) {
    for (int lane = 0; lane < g.lanes; ++lane) {
      algo::Part part = p < periods ? algo::fullPart(g, lane) : algo::lastPart(g, lane);
      part.offset += p * g.period();
      for (int j = 0; j < g.blocks; ++j) sum(part.at(j), ring ? j + 1 : 0);
    }
  }
  return out;
}

constexpr uint64_t kMostElements = 9u << 20;
constexpr int kGuard = 8;  // elements after a result that must stay as they are

/// RONDO_P2P=off: all tests by way of host memory.
inline bool hostMemoryAsked() {
  const char* const p2p = std::getenv("RONDO_P2P");
  return p2p != nullptr && std::string_view(p2p) == "off";
}

class RankEnv {
 public:
  RankEnv(Bootstrap& boot, FdExchange* fds, DeviceConfig config) : boot_(boot) {
    if (hostMemoryAsked()) config.hostMemory = true;
    cuda(makeFreshStream(&stream), "a stream");
    const size_t bytes = (kMostElements + 2 * kGuard) * sizeof(float);
    for (float** p : {&src, &dst}) cuda(cudaMalloc(p, bytes), "cudaMalloc");
    cuda(cudaMallocHost(&host, bytes), "cudaMallocHost");
    std::vector<int> peers;
    for (int r = 0; r < boot.size(); ++r) {
      if (r != boot.rank()) peers.push_back(r);
    }
    runner = createDeviceRunner(boot, fds, peers, config, &why);
  }
  RankEnv(const RankEnv&) = delete;
  RankEnv& operator=(const RankEnv&) = delete;
  ~RankEnv() {
    runner.reset();
    barrier();  // cudaFree waits for the whole device: nobody's kernel may wait for a peer now
    cudaFree(src);
    cudaFree(dst);
    cudaFreeHost(host);
    cudaStreamDestroy(stream);
  }

  int rank() const { return boot_.rank(); }
  int size() const { return boot_.size(); }
  Bootstrap& boot() { return boot_; }
  void barrier() {
    char mine = 0;
    std::vector<char> all(static_cast<size_t>(size()));
    boot_.allGather(&mine, 1, all.data());
  }
  /// This rank has loaded its data.
  void loaded() {
    if (inStep()) barrier();
  }
  void sync() { cuda(waitFor(stream), "waiting for a stream"); }

  /// Between copies to the device and calls of ranks that share it: what is enqueued last is no
  /// copy. Of six threads that had copied 1.1 MB each and then launched two rings behind each
  /// other, two had kernels that never began while the other ranks' waited for them; with one call
  /// behind a copy, four ranks, 50 ms of rest or a memset none had (CUDA 13.0, H200, 2026-11;
  /// docs/gpu-launches.md).
  void settle() {
    const size_t last = kMostElements + 2 * kGuard - 1;
    cuda(cudaMemsetAsync(dst + last, 0, sizeof(float), stream), "memset");
  }

  /// Puts this rank's data set `seed` at `at` and poison at `result` (unless it is the same place).
  void load(float* at, float* result, uint64_t count, uint32_t seed) {
    for (uint64_t i = 0; i < count; ++i) host[i] = value(rank(), i, seed);
    if (result != at) {
      cuda(cudaMemsetAsync(result, 0xff, (count + kGuard) * sizeof(float), stream), "memset");
    } else {
      cuda(cudaMemsetAsync(at + count, 0xff, kGuard * sizeof(float), stream), "memset");
    }
    cuda(cudaMemcpyAsync(at, host, count * sizeof(float), cudaMemcpyHostToDevice, stream), "copy");
    sync();
    loaded();
  }

  /// The number of elements of `result` that differ in a bit from what data set `seed` must give,
  /// or that were written past the end.
  uint64_t wrong(const float* result, uint64_t count, uint32_t seed) {
    cuda(cudaMemcpyAsync(host, result, (count + kGuard) * sizeof(float), cudaMemcpyDeviceToHost,
                         stream),
         "copy");
    sync();
    const std::vector<float> want = expected(choose(count), size(), count, seed);
    const auto bits = [](float f) { return std::bit_cast<uint32_t>(f); };
    uint64_t bad = 0;
    for (uint64_t i = 0; i < count; ++i) bad += bits(host[i]) != bits(want[i]) ? 1 : 0;
    for (int i = 0; i < kGuard; ++i) bad += bits(host[count + static_cast<uint64_t>(i)]) != ~0u;
    return bad;
  }

  /// What becomes of a float32 sum.
  DeviceChoice choose(uint64_t count) const {
    return runner->choose({Collective::AllReduce, count, 4, Reduces::kHot});
  }
  void allReduce(const float* from, float* to, uint64_t count) {
    runner->run({"rondoAllReduce", Collective::AllReduce, from, to, count, rondoFloat32, rondoSum,
                 0, stream});
  }

  std::unique_ptr<DeviceRunner> runner;
  std::string why;
  cudaStream_t stream = nullptr;
  float* src = nullptr;
  float* dst = nullptr;
  float* host = nullptr;

 private:
  Bootstrap& boot_;
};

}  // namespace rondo::test
