// What checking the arguments of a good call costs, without the call.

#include <benchmark/benchmark.h>

#include <thread>
#include <vector>

#include "api/comm_create.h"
#include "api/uneven_checks.h"

namespace rondo {
namespace {

/// Communicators of `ranks` ranks, all of this process.
class Comms {
 public:
  explicit Comms(int ranks) : comms_(static_cast<size_t>(ranks)) {
    rondoUniqueId id;
    if (rondoGetUniqueId(&id) != rondoSuccess) return;
    each([&](int rank) { rondoCommInitRank(&comms_[static_cast<size_t>(rank)], ranks, id, rank); });
  }
  ~Comms() {
    each([&](int rank) { rondoCommDestroy(comms_[static_cast<size_t>(rank)]); });
  }
  Comms(const Comms&) = delete;
  Comms& operator=(const Comms&) = delete;

  rondoComm_t first() const { return comms_.front(); }

 private:
  template <class Work>
  void each(const Work& work) {
    std::vector<std::thread> threads;
    for (int r = 0; r < static_cast<int>(comms_.size()); ++r) threads.emplace_back(work, r);
    for (std::thread& thread : threads) thread.join();
  }
  std::vector<rondoComm_t> comms_;
};

bool missing(const Comms& comms, benchmark::State& state) {
  if (comms.first() != nullptr) return false;
  state.SkipWithError(rondoGetLastError(nullptr));
  return true;
}

/// Buffers, type, operator and kind of memory of a good all-reduce.
void checkAllReduce(benchmark::State& state) {
  const Comms comms(1);
  if (missing(comms, state)) return;
  std::vector<float> in(1024), out(1024);
  for (auto _ : state) {
    const CollectiveArgs args{"rondoAllReduce", in.data(),     out.data(), in.size(),
                              rondoFloat32,     comms.first(), nullptr};
    bool onDevice = false;
    benchmark::DoNotOptimize(checkBuffers(args));
    benchmark::DoNotOptimize(checkOp(args, rondoSum));
    benchmark::DoNotOptimize(checkMemory(args, &onDevice));
  }
}
BENCHMARK(checkAllReduce);

/// Counts, displacements and overlap of a good all-gather with a count for each rank.
void checkAllGatherV(benchmark::State& state) {
  const int ranks = static_cast<int>(state.range(0));
  const Comms comms(ranks);
  if (missing(comms, state)) return;
  std::vector<size_t> counts(static_cast<size_t>(ranks), 16), displs;
  for (size_t r = 0; r < counts.size(); ++r) displs.push_back(16 * r);
  std::vector<float> in(16), out(16 * counts.size());
  for (auto _ : state) {
    CollectiveArgs args{"rondoAllGatherV", in.data(),     out.data(), in.size(),
                        rondoFloat32,      comms.first(), nullptr};
    UnevenBlocks blocks;
    benchmark::DoNotOptimize(checkType(args));
    benchmark::DoNotOptimize(
        checkUneven(args, {"recvcounts", counts.data(), "displs", displs.data(), true}, &blocks));
    benchmark::DoNotOptimize(checkMine(args, "sendcount", 16, "recvcounts", blocks.counts[0]));
    benchmark::DoNotOptimize(checkSpans(args, 16, blocks.extent));
  }
}
BENCHMARK(checkAllGatherV)->Arg(2)->Arg(8);

}  // namespace
}  // namespace rondo
