// Long calls round a ring that go from result to result, here of any length, bit for bit: what is
// reduced in which order must not depend on where it goes.

#include <bit>
#include <chrono>
#include <thread>

#include "gpu/cases.h"
#include "gpu/pass_on.h"

namespace rondo::test {
namespace {

/// Calls until they go straight into the results of all ranks that others write to: memory may be
/// mapped in the background first. `call` makes one on its data, and says how much of it is wrong.
template <class Call>
uint64_t untilStraight(RankEnv& env, bool isWrittenTo, const char* what, Call call) {
  uint64_t bad = 0;
  for (uint32_t round = 0; round < 100; ++round) {
    const uint64_t before = registryOf(env).heldMemory().straight;
    bad += call(round);
    const bool went = registryOf(env).heldMemory().straight > before;
    if (everywhere(env, went == isWrittenTo)) return bad;
    std::this_thread::sleep_for(std::chrono::milliseconds(round));
  }
  return bad + fail(env, what);
}

/// Nobody writes to the root of a broadcast.
uint64_t broadcasts(RankEnv& env) {
  constexpr uint64_t kCount = 1500001;
  uint64_t bad = 0;
  uint32_t seed = 1000;
  for (const int root : {0, env.size() - 1, 0}) {
    bad += untilStraight(env, env.rank() != root, "no broadcast went straight", [&](uint32_t) {
      env.load(env.src, env.dst, kCount, ++seed);
      env.runner->run({"rondoBroadcast", Collective::Broadcast, env.src, env.dst, kCount,
                       rondoFloat32, rondoSum, root, env.stream});
      cuda(cudaMemcpyAsync(env.host, env.dst, (kCount + kGuard) * sizeof(float),
                           cudaMemcpyDeviceToHost, env.stream),
           "copy");
      env.sync();
      uint64_t wrong = 0;
      for (uint64_t i = 0; i < kCount; ++i) wrong += env.host[i] != value(root, i, seed) ? 1 : 0;
      for (uint64_t i = kCount; i < kCount + kGuard; ++i) {
        wrong += std::bit_cast<uint32_t>(env.host[i]) != ~0u ? 1 : 0;
      }
      return wrong;
    });
  }
  return bad;
}

/// Ranks of which one cannot be written to: all take the slots, then and only then.
uint64_t oneRankApart(RankEnv& env) {
  uint64_t bad = 0;
  uint32_t seed = 100;
  for (const uint64_t count : {70u, 5003u, 200001u, 2000000u}) {
    for (int apart = 0; apart < env.size(); ++apart) {
      const bool here = apart == env.rank();
      bad += oneCall(env, count, 0, 0, here, seed++);
      bad += oneCall(env, count, here ? 1 : 0, 0, false, seed++);
      bad += oneCall(env, count, 0, here ? 3 : 0, false, seed++);
      bad += oneCall(env, count, 4 * env.rank(), 8 * (env.size() - env.rank()), false, seed++);
    }
  }
  return bad;
}

}  // namespace

uint64_t straightRings(RankEnv& env) {
  if (env.size() == 1) return 0;
  registryOf(env).useMemoryFrom(64, ~uint64_t{0});
  uint64_t bad = untilStraight(env, true, "no sum went straight", [&](uint32_t round) {
    return oneCall(env, 100000, 0, 0, false, round);
  });
  bad += oneRankApart(env) + broadcasts(env);
  bad += manyCounts(env) + backToBack(env) + periodTails(env) + graphReplays(env) + epochWrap(env);
  if (env.size() > 4) return bad;  // half a minute more
  bad += everyCollective(env) + mixedInARow(env) + mixedInGraphs(env);
  return bad + gridOfLongCalls(env, kWays[0]);
}

// A graph's sums hold for whatever has their result's address when it is replayed.
uint64_t straightRingGraphs(RankEnv& env) {
  if (env.size() == 1) return 0;
  constexpr uint64_t kCount = 1500001;
  constexpr size_t kBytes = (kCount + kGuard) * sizeof(float);
  registryOf(env).useMemoryFrom(64, ~uint64_t{0});
  float* memory = nullptr;
  cuda(cudaMalloc(&memory, kBytes), "cudaMalloc");
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  env.barrier();
  const size_t used = registryOf(env).heldMemory().graphsUsed;
  cuda(cudaStreamBeginCapture(env.stream, cudaStreamCaptureModeGlobal), "begin capture");
  env.allReduce(env.src, memory, kCount);
  cuda(cudaStreamEndCapture(env.stream, &graph), "end capture");
  env.barrier();
  cuda(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
  uint64_t bad = 0;
  const auto replay = [&](uint32_t seed) {
    env.load(env.src, memory, kCount, seed);
    cuda(cudaGraphLaunch(exec, env.stream), "graph launch");
    if (env.wrong(memory, kCount, seed) > 0) bad += fail(env, "a replay");
  };
  const bool places = everywhere(env, registryOf(env).heldMemory().graphs > 0);
  bool went = !places;
  for (uint32_t round = 0; round < 100 && !went; ++round) {
    replay(round);
    went = everywhere(env, registryOf(env).heldMemory().graphsUsed > used);
    if (!went) std::this_thread::sleep_for(std::chrono::milliseconds(round));
  }
  if (!went) bad += fail(env, "no replay went straight");
  replay(200);
  env.barrier();
  const float* const before = memory;
  cuda(cudaFree(memory), "cudaFree");
  cuda(cudaMalloc(&memory, kBytes), "cudaMalloc");
  if (everywhere(env, memory == before)) {
    for (uint32_t round = 0; round < 10; ++round) replay(300 + round);
  }
  env.barrier();
  cuda(cudaGraphExecDestroy(exec), "destroy graph");
  cuda(cudaGraphDestroy(graph), "destroy graph");
  cuda(cudaFree(memory), "cudaFree");
  return bad;
}

}  // namespace rondo::test
