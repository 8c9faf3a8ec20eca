// rondo-bench all: every benchmark at a few sizes.

#include <mpi.h>

#include "commands.h"
#include "errors.h"
#include "init.h"
#include "library_mpi.h"
#include "library_rondo.h"
#include "overlap.h"

namespace rondo::bench {
namespace {

/// "" if the benchmark can run here, else why not. Anything else that is wrong is the user's to
/// know.
std::string whyLeftOut(const Benchmark& benchmark, const Options& options, int ranks) {
  if (benchmark.has(kPairs) && ranks < 2) return "needs 2 ranks";
  if (benchmark.has(kAllPairs) && ranks % 2 != 0) return "needs an even number of ranks";
  if (options.memory == MemoryKind::kDevice) {
    if (benchmark.has(kNoData)) return "has no buffers";
    if (options.inPlace && std::string_view(benchmark.name).starts_with("alltoall")) {
      return "not in place on device memory";
    }
    if (isNccl(options.peer) && !ncclHas(benchmark)) return "NCCL has no such call";
    if (options.peer == Peer::kMpi && benchmark.has(kPairs)) {
      return "MPI's messages are not timed on device memory";
    }
  }
  const bool alone = options.library == Library::kMpi;
  if (options.inPlace && (alone || options.peer == Peer::kMpi) && mpiInPlaceDiffers(benchmark)) {
    return "MPI has another in-place rule";
  }
  return "";
}

void runOrSay(Output& output, const std::string& name, const std::string& leftOut,
              const std::function<void()>& run) {
  if (leftOut.empty()) {
    run();
  } else {
    output.note(name + " is left out: " + leftOut);
  }
}

}  // namespace

int runAll(const Options& options) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const Benchmark& allReduce = *findBenchmark("allreduce");
  requirePossible(allReduce, options, ranks);
  for (const Benchmark& benchmark : benchmarks()) {  // before anything is measured or written
    if (whyLeftOut(benchmark, options, ranks).empty()) requirePossible(benchmark, options, ranks);
  }
  const Environment environment(options);
  Output output(environment, describeAll(environment));
  for (const Benchmark& benchmark : benchmarks()) {
    runOrSay(output, benchmark.name, whyLeftOut(benchmark, options, ranks), [&] {
      runSweep(environment, benchmark, contendersOf(benchmark, environment), output);
    });
  }
  if (options.memory != MemoryKind::kDevice) {
    measureOverlap(environment, allReduce, output);
    measureInit(environment, output);
  }
  return output.finish();
}

}  // namespace rondo::bench
