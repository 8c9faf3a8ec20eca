// What a call costs before its first byte moves, and what planning costs when it is not cached.

#include <benchmark/benchmark.h>

#include "api/rondo.h"
#include "coll/choice_memory.h"
#include "coll/plan_cache.h"
#include "coll/planner.h"

namespace rondo {
namespace {

algo::Geometry ringGeometry(uint64_t bytes, int ranks, int lanes) {
  return {bytes / 4, lanes, ranks, 8192, 16};
}

/// One rank's plan of a ring all-reduce of 256 MiB of float32 over 8 ranks.
void recordRing(benchmark::State& state) {
  const Algorithm& ring = *findAlgorithm(Collective::AllReduce, "ring");
  const int ranks = static_cast<int>(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(recordPlan(ring, {3, ranks, 0}, ringGeometry(256u << 20, ranks, 2)));
  }
}
BENCHMARK(recordRing)->Arg(2)->Arg(8)->Arg(64);

/// All candidates recorded, predicted and ranked: what the first call of a size pays.
CommFacts eightRanks() {
  CommFacts facts;
  facts.ranks = 8;
  facts.lanes = 2;
  facts.chunkBytes = 32u << 10;
  facts.cpus = 8;
  return facts;
}

void rankAll(benchmark::State& state) {
  const CommFacts facts = eightRanks();
  for (auto _ : state) {
    benchmark::DoNotOptimize(rankCandidates({Collective::AllReduce, 64u << 20, 4, 0}, facts, {}));
  }
}
BENCHMARK(rankAll);

/// What a count pays of whose size class there was another one: its plan alone.
void planAnotherCount(benchmark::State& state) {
  const CommFacts facts = eightRanks();
  const Request request{Collective::AllReduce, 64u << 20, 4, 0};
  ChoiceMemory choices;
  choices.keep(request, nullptr, rankCandidates(request, facts, {}).front());
  for (auto _ : state) {
    const ChoiceMemory::Choice& found = *choices.find(request, nullptr);
    const auto geometry =
        rondo::geometryOf(request, *found.algorithm, facts, found.lanes, found.chunk);
    benchmark::DoNotOptimize(recordPlan(*found.algorithm, {3, facts.ranks, 0}, geometry));
  }
}
BENCHMARK(planAnotherCount);

void findPlan(benchmark::State& state) {
  PlanCache cache;
  const int keys = static_cast<int>(state.range(0));
  std::vector<PlanKey> asked;
  for (int i = 0; i < keys; ++i) {
    asked.push_back(
        {static_cast<uint64_t>(i + 1), rondoFloat32, rondoSum, 0, Collective::AllReduce});
    cache.insert(asked.back(), BoundPlan{});
  }
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(cache.find(asked[next]));
    next = next + 1 == asked.size() ? 0 : next + 1;
  }
}
BENCHMARK(findPlan)->Arg(1)->Arg(8)->Arg(256);

/// A whole call with one rank: checks, look-up, and a copy of `bytes`: everything but a peer.
void wholeCall(benchmark::State& state) {
  rondoUniqueId id;
  rondoComm_t comm = nullptr;
  if (rondoGetUniqueId(&id) != rondoSuccess || rondoCommInitRank(&comm, 1, id, 0) != rondoSuccess) {
    state.SkipWithError(rondoGetLastError(nullptr));
    return;
  }
  const size_t count = static_cast<size_t>(state.range(0)) / 4;
  std::vector<float> in(count, 1.0f), out(count);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        rondoAllReduce(in.data(), out.data(), count, rondoFloat32, rondoSum, comm, nullptr));
  }
  rondoCommDestroy(comm);
}
BENCHMARK(wholeCall)->Arg(4)->Arg(1024);

/// A call that is refused: what the checks cost when they find something.
void refusedCall(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        rondoAllReduce(nullptr, nullptr, 1, rondoFloat32, rondoSum, nullptr, nullptr));
  }
}
BENCHMARK(refusedCall);

}  // namespace
}  // namespace rondo
