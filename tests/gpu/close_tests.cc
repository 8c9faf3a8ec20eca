// Kernels that come close behind the one before them in their stream (programmatic dependent
// launch).

#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/world.h"
#include "kernels/launch.h"

namespace rondo::test {
namespace {

/// Counts whose kernels have from one block to more than may come close.
constexpr uint64_t kCounts[] = {1,     300000, 7,      4096,   3,     65536, 200000, 16,
                                32768, 2,      131072, 400000, 20000, 5,     1,      90000};
constexpr uint64_t kMost = 400000;

/// Sums in place, each of the first so many elements: element i, the same on all ranks, grows by
/// the factor of their number with every call that reaches it.
void chain(RankEnv& env) {
  for (const uint64_t count : kCounts) {
    env.runner->run({"chain", Collective::AllReduce, env.src, env.src, count, rondoUint32, rondoSum,
                     0, env.stream});
  }
}

uint64_t wrongAfter(RankEnv& env, uint32_t chains) {
  std::vector<uint32_t> found(kMost);
  cuda(cudaMemcpyAsync(found.data(), env.src, kMost * 4, cudaMemcpyDeviceToHost, env.stream),
       "copy");
  env.sync();
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < kMost; ++i) {
    const auto calls = static_cast<uint32_t>(
        std::count_if(std::begin(kCounts), std::end(kCounts), [i](uint64_t c) { return c > i; }));
    uint32_t want = 1;
    for (uint32_t k = 0; k < calls * chains; ++k) want *= static_cast<uint32_t>(env.size());
    wrong += found[i] != want ? 1 : 0;
  }
  return wrong;
}

void loadOnes(RankEnv& env) {
  const std::vector<uint32_t> ones(kMost, 1);
  cuda(cudaMemcpyAsync(env.src, ones.data(), kMost * 4, cudaMemcpyHostToDevice, env.stream),
       "copy");
  env.sync();
  env.loaded();
}

/// What chain() becomes in a graph; the caller destroys it.
cudaGraph_t captured(RankEnv& env) {
  cudaGraph_t graph = nullptr;
  env.barrier();
  cuda(cudaStreamBeginCapture(env.stream, cudaStreamCaptureModeThreadLocal), "begin capture");
  chain(env);
  cuda(cudaStreamEndCapture(env.stream, &graph), "end capture");
  return graph;
}

size_t programmaticEdges(cudaGraph_t graph) {
#if CUDART_VERSION >= 12030
#if CUDART_VERSION >= 13000
  const auto get = cudaGraphGetEdges;
#else
  const auto get = cudaGraphGetEdges_v2;
#endif
  size_t count = 0;
  cuda(get(graph, nullptr, nullptr, nullptr, &count), "how many edges");
  std::vector<cudaGraphNode_t> from(count), to(count);
  std::vector<cudaGraphEdgeData> data(count);
  cuda(get(graph, from.data(), to.data(), data.data(), &count), "edges");
  return static_cast<size_t>(std::count_if(data.begin(), data.end(), [](const auto& edge) {
    return edge.type == cudaGraphDependencyTypeProgrammatic;
  }));
#else
  static_cast<void>(graph);
  return 0;
#endif
}

DeviceConfig with(DependentLaunch use) {
  DeviceConfig config = patient();
  config.dependentLaunch = use;
  return config;
}

TEST(CloseLaunch, ChainsOfCallsSeeEachOthersResults) {
  for (const DependentLaunch use :
       {DependentLaunch::On, DependentLaunch::Eager, DependentLaunch::Off}) {
    runWorld(3, with(use), [](RankEnv& env) {
      loadOnes(env);
      for (int k = 0; k < 10; ++k) chain(env);
      EXPECT_EQ(wrongAfter(env, 10), 0u);
    });
  }
}

TEST(CloseLaunch, ReplaysToo) {
  runWorld(3, with(DependentLaunch::On), [](RankEnv& env) {
    const cudaGraph_t graph = captured(env);
    cudaGraphExec_t exec = nullptr;
    env.barrier();
    cuda(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
    cuda(cudaGraphUpload(exec, env.stream), "upload");
    env.sync();
    env.barrier();
    loadOnes(env);
    for (int k = 0; k < 5; ++k) {
      cuda(cudaGraphLaunch(exec, env.stream), "launch");
      chain(env);
    }
    EXPECT_EQ(wrongAfter(env, 10), 0u);
    env.barrier();
    cuda(cudaGraphExecDestroy(exec), "destroy");
    cuda(cudaGraphDestroy(graph), "destroy");
  });
}

TEST(CloseLaunch, GraphsHaveSuchEdgesOnlyWhereTheyMay) {
  const auto edges = [](DependentLaunch use, size_t* found) {
    runWorld(2, with(use), [found](RankEnv& env) {
      const cudaGraph_t graph = captured(env);
      if (env.rank() == 0) *found = programmaticEdges(graph);
      cuda(cudaGraphDestroy(graph), "destroy");
    });
  };
  size_t on = 0, eager = 1, off = 1;
  edges(DependentLaunch::On, &on);
  edges(DependentLaunch::Eager, &eager);
  edges(DependentLaunch::Off, &off);
  if (launchesClose() && CUDART_VERSION >= 12030) {
    EXPECT_GT(on, 3u) << "of short ones behind short ones";
  } else {
    EXPECT_EQ(on, 0u);
  }
  EXPECT_EQ(eager, 0u);
  EXPECT_EQ(off, 0u);
}

}  // namespace
}  // namespace rondo::test
