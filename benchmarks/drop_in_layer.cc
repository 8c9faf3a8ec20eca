// What the layer before MPI adds to a call, by Google Benchmark: MPI_ names beside what is behind
// them, PMPI_ where the layer hands on, Rondo's own call where it answers.
// Usage: mpirun -n 2 -x LD_PRELOAD=librondo_mpi.so drop_in_layer --benchmark_repetitions=9
//   --benchmark_report_aggregates_only=true
// Iterations are given, as ranks must make the same calls. Rank 0 reports.

#include <benchmark/benchmark.h>
#include <mpi.h>

#include <cstdio>

#include "api/rondo_mpi.h"

namespace {

constexpr int kIterations = 100'000;
rondoComm_t rondo = nullptr;
double in = 1, out = 0;
MPI_Request none = MPI_REQUEST_NULL;

template <class Call>
void repeat(benchmark::State& state, const Call& call) {
  PMPI_Barrier(MPI_COMM_WORLD);
  for (auto _ : state) call();
}

void answered(benchmark::State& state) {
  repeat(state, [] { MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); });
}
void rondosOwn(benchmark::State& state) {
  repeat(state, [] { rondoAllReduce(&in, &out, 1, rondoFloat64, rondoSum, rondo, nullptr); });
}
void handedOn(benchmark::State& state) {
  repeat(state, [] { MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF); });
}
void mpisOwn(benchmark::State& state) {
  repeat(state, [] { PMPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF); });
}
void wait(benchmark::State& state) {
  repeat(state, [] { MPI_Wait(&none, MPI_STATUS_IGNORE); });
}
void mpisOwnWait(benchmark::State& state) {
  repeat(state, [] { PMPI_Wait(&none, MPI_STATUS_IGNORE); });
}

BENCHMARK(answered)->Name("MPI_Allreduce, answered")->Iterations(kIterations);
BENCHMARK(rondosOwn)->Name("rondoAllReduce")->Iterations(kIterations);
BENCHMARK(handedOn)->Name("MPI_Allreduce, one rank: handed on")->Iterations(kIterations);
BENCHMARK(mpisOwn)->Name("PMPI_Allreduce, one rank")->Iterations(kIterations);
BENCHMARK(wait)->Name("MPI_Wait, nothing pending")->Iterations(kIterations);
BENCHMARK(mpisOwnWait)->Name("PMPI_Wait, nothing pending")->Iterations(kIterations);

/// Of the ranks that do not report.
class Silence final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  benchmark::Initialize(&argc, argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.device = RONDO_DEVICE_NONE;
  if (rondoCommInitMPI(&rondo, MPI_COMM_WORLD, &config) != rondoSuccess) {
    std::fprintf(stderr, "drop_in_layer: %s\n", rondoGetLastError(nullptr));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  Silence silence;
  if (rank == 0) {
    benchmark::RunSpecifiedBenchmarks();
  } else {
    benchmark::RunSpecifiedBenchmarks(&silence);
  }
  rondoCommDestroy(rondo);
  MPI_Finalize();
}
