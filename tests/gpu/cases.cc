#include "gpu/cases.h"

#include <algorithm>

namespace rondo::test {
namespace {

void report(const RankEnv& env, const char* test, uint64_t count, uint64_t bad) {
  if (bad == 0) return;
  std::printf("rank %d of %d, %s, count %llu (%s): %llu wrong\n", env.rank(), env.size(), test,
              static_cast<unsigned long long>(count), env.choose(count).algorithm,
              static_cast<unsigned long long>(bad));
}

// Around what choose() cuts at: packets, warps, blocks, lanes, the largest one-shot, FIFO slots.
std::vector<uint64_t> interestingCounts(const RankEnv& env) {
  std::vector<uint64_t> counts = {1, 2, 3, 5, 31, 63, 64, 65, 127, 999, 4001, 40000, 262143};
  for (uint64_t edge : {256u, 512u, 1024u, 4096u, 16384u, 32768u, 65536u, 131072u}) {
    for (uint64_t c : {edge - 1, edge, edge + 1}) counts.push_back(c);
  }
  const DeviceChoice large = env.choose(kMostElements);
  const uint64_t period = large.geometry.period();
  for (uint64_t c : {period - 1, period, period + 3, 2 * period + 4097}) {
    if (c <= kMostElements) counts.push_back(c);
  }
  return counts;
}

// Calls without a host wait between them; call k has data set seed + k.
uint64_t callsInARow(RankEnv& env, const std::vector<uint64_t>& counts, uint32_t seed) {
  const uint64_t place = *std::max_element(counts.begin(), counts.end()) / 4 * 4 + 16;
  for (size_t k = 0; k < counts.size(); ++k) {
    env.load(env.src + k * place, env.dst + k * place, counts[k], seed + static_cast<uint32_t>(k));
  }
  env.barrier();
  for (size_t k = 0; k < counts.size(); ++k) {
    env.allReduce(env.src + k * place, env.dst + k * place, counts[k]);
  }
  uint64_t bad = 0;
  for (size_t k = 0; k < counts.size(); ++k) {
    const uint64_t wrong =
        env.wrong(env.dst + k * place, counts[k], seed + static_cast<uint32_t>(k));
    report(env, "in a row", counts[k], wrong);
    bad += wrong;
  }
  return bad;
}

}  // namespace

uint64_t oneCall(RankEnv& env, uint64_t count, int srcShift, int dstShift, bool inPlace,
                 uint32_t seed) {
  float* from = env.src + srcShift;
  float* to = inPlace ? from : env.dst + dstShift;
  env.load(from, to, count, seed);
  env.allReduce(from, to, count);
  const uint64_t bad = env.wrong(to, count, seed);
  report(env, inPlace ? "in place" : "out of place", count, bad);
  return bad;
}

uint64_t manyCounts(RankEnv& env) {
  uint64_t bad = 0;
  uint32_t seed = 1;
  for (uint64_t count : interestingCounts(env)) {
    bad += oneCall(env, count, 0, 0, false, seed++);
    bad += oneCall(env, count, 0, 0, true, seed++);
    if (count > 300000) continue;
    bad += oneCall(env, count, 1, 0, false, seed++);
    bad += oneCall(env, count, 0, 1, false, seed++);
    bad += oneCall(env, count, 3, 1, false, seed++);
    bad += oneCall(env, count, 1, 1, true, seed++);
  }
  return bad;
}

uint64_t backToBack(RankEnv& env) {
  const std::vector<uint64_t> counts = {2,      170000, 5,    300,    32769, 65536,
                                        131073, 1,      8192, 133000, 7,     190001};
  uint64_t bad = 0;
  for (uint32_t round = 0; round < 5; ++round) bad += callsInARow(env, counts, 1000 + 100 * round);
  return bad;
}

uint64_t periodTails(RankEnv& env) {
  const uint64_t period = env.choose(100000).geometry.period();
  if (period > 200000) return 0;  // the other cases have its tails
  uint64_t bad = 0;
  for (uint32_t round = 0; round < 3; ++round) {
    bad += callsInARow(env, std::vector<uint64_t>(40, period + 1), 3000 + 100 * round);
  }
  return bad;
}

uint64_t graphReplays(RankEnv& env) {
  constexpr uint64_t kPlace = 400000;
  constexpr uint64_t counts[] = {300, 200001, 2, 16384, 33333};
  constexpr uint64_t kCalls = sizeof counts / sizeof *counts;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  env.barrier();  // the strictest capture mode forbids other threads to instantiate meanwhile
  cuda(cudaStreamBeginCapture(env.stream, cudaStreamCaptureModeGlobal), "begin capture");
  for (uint64_t k = 0; k < kCalls; ++k) {
    env.allReduce(env.src + k * kPlace, env.dst + k * kPlace, counts[k]);
  }
  cuda(cudaStreamEndCapture(env.stream, &graph), "end capture");
  env.barrier();
  cuda(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
  cuda(cudaGraphUpload(exec, env.stream), "upload");
  env.sync();
  env.barrier();
  uint64_t bad = 0;
  for (uint32_t replay = 0; replay < 10; ++replay) {
    const uint32_t seed = 5000 + 10 * replay;
    for (uint64_t k = 0; k < kCalls; ++k) {
      env.load(env.src + k * kPlace, env.dst + k * kPlace, counts[k],
               seed + static_cast<uint32_t>(k));
    }
    cuda(cudaGraphLaunch(exec, env.stream), "graph launch");
    for (uint64_t k = 0; k < kCalls; ++k) {
      const uint64_t wrong =
          env.wrong(env.dst + k * kPlace, counts[k], seed + static_cast<uint32_t>(k));
      report(env, "graph", counts[k], wrong);
      bad += wrong;
    }
    bad += oneCall(env, replay % 2 == 0 ? 77 : 150001, 0, 0, false, seed + 9);
  }
  env.barrier();
  cuda(cudaGraphExecDestroy(exec), "destroy graph");
  cuda(cudaGraphDestroy(graph), "destroy graph");
  return bad;
}

uint64_t epochWrap(RankEnv& env) {
  const auto startAt = [&](uint32_t value) {
    env.sync();
    env.barrier();
    env.runner->startEpochsAt(value);
    env.barrier();
  };
  uint64_t bad = 0;
  uint32_t seed = 9000;
  // A full lane's flags 1 to 6 stay behind in both places...
  startAt(0);
  for (int k = 0; k < 6; ++k) bad += oneCall(env, 32768, 0, 0, false, seed++);
  // ...then every lane wraps with calls that use half of it, and flags 4 to 7 come again.
  startAt(0xfffffff9u);
  for (int k = 0; k < 8; ++k) bad += oneCall(env, 16000, 0, 0, false, seed++);
  for (int k = 0; k < 4; ++k) bad += oneCall(env, 32768, 0, 0, false, seed++);
  startAt(0xfffffffau);
  for (int k = 0; k < 6; ++k) {
    bad += oneCall(env, 200000, 0, 0, false, seed++);
    bad += oneCall(env, 3, 0, 0, true, seed++);
  }
  return bad;
}

}  // namespace rondo::test
