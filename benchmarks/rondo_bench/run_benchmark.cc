// The command of each single benchmark.

#include <mpi.h>

#include "commands.h"
#include "sweep.h"

namespace rondo::bench {

int runBenchmark(const Options& options) {
  const Benchmark& benchmark = *findBenchmark(options.command);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  requirePossible(benchmark, options, ranks);
  const Environment environment(options);
  const std::vector<Contender> contenders = contendersOf(benchmark, environment);
  Output output(environment, describe(environment, benchmark));
  runSweep(environment, benchmark, contenders, output);
  return output.finish();
}

}  // namespace rondo::bench
