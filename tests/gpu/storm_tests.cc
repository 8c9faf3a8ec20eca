// Random programs on a GPU, of ranks that are threads of this process: any calls on three
// communicators and four streams, alone, in groups and in graphs that live side by side, and calls
// on host memory between them. RONDO_STORM=N runs N programs instead, from RONDO_STORM_SEED on, and
// RONDO_STORM_SHOW=1 prints them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "gpu/fresh_stream.h"
#include "gpu/storm_rank.h"

namespace rondo::testing {
namespace {

unsigned ofEnvironment(const char* name, unsigned otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 0)) : otherwise;
}

int gpuCount() {
  int gpus = 0;
  EXPECT_EQ(cudaGetDeviceCount(&gpus), cudaSuccess);
  return std::max(1, gpus);
}

const GpuStormStreams& streamsOfAll() {
  static const GpuStormStreams all = [] {
    GpuStormStreams streams(kMostStormRanks);
    for (size_t r = 0; r < streams.size(); ++r) {
      EXPECT_EQ(cudaSetDevice(static_cast<int>(r) % gpuCount()), cudaSuccess);
      for (cudaStream_t& each : streams[r]) {
        EXPECT_EQ(rondo::test::makeFreshStream(&each), cudaSuccess);
      }
    }
    return streams;
  }();
  return all;
}

void runGpuStorm(const GpuStorm& storm) {
  if (std::getenv("RONDO_STORM_SHOW") != nullptr) std::puts(storm.program().c_str());
  GpuStormShared shared(storm, streamsOfAll());
  std::vector<std::thread> threads;
  for (int r = 0; r < storm.ranks(); ++r) {
    threads.emplace_back([&shared, r] {
      cudaSetDevice(r % gpuCount());
      GpuStormRank(shared, r).run();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(shared.made, storm.steps.size()) << storm.text();
}

void runGpuStorms(unsigned storms, size_t steps, bool hosts) {
  const unsigned first = ofEnvironment("RONDO_STORM_SEED", 1);
  const unsigned number = ofEnvironment("RONDO_STORM", storms);
  for (unsigned seed = first; seed < first + number && !::testing::Test::HasFailure(); ++seed) {
    runGpuStorm(GpuStormDraw(seed).storm(steps, hosts));
  }
}

// Together 1,000 steps, of some four calls each.
TEST(GpuStorm, OneHost) { runGpuStorms(16, 50, false); }
TEST(GpuStorm, TwoHosts) { runGpuStorms(5, 40, true); }

}  // namespace
}  // namespace rondo::testing
