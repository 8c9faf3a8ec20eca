// What the layer before MPI adds to a call, by Google Benchmark: MPI_ names beside what is behind
// them, PMPI_ where the layer hands on, Rondo's own call where it answers.
// Usage: mpirun -n 2 -x LD_PRELOAD=librondo_mpi.so -x RONDO_MPI_MEASURE=0 drop_in_layer
//   --benchmark_repetitions=9 --benchmark_report_aggregates_only=true
// Iterations are given, as ranks must make the same calls. Rank 0 reports. RONDO_MPI_MEASURE=0, or
// the layer tries MPI too where a row says "answered"; RONDO_MPI_STATS=1 counts what was.

#include <benchmark/benchmark.h>
#include <mpi.h>

#include <cstdio>
#include <vector>

#include "api/rondo_mpi.h"
#include "drop_in_blocks.h"

namespace {

constexpr int kIterations = 100'000;
/// A vector whose non-blocking calls are answered (4 KiB), and of which a v-collective's are, too
/// (512 bytes a block).
constexpr int kLong = 512, kBlock = 128;
rondoComm_t rondo = nullptr;
int rank = 0, ranks = 1;
double in = 1, out = 0;
std::vector<double> longIn(kLong, 1.0), longOut(kLong);
MPI_Request none = MPI_REQUEST_NULL;

/// One rank's block is longer than the next one's, or a v-collective is its even twin.
drop_in_bench::Blocks gathered, exchanged;

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

// Non-blocking collectives.
void answeredLater(benchmark::State& state) {
  repeat(state, [] {
    MPI_Request request;
    MPI_Iallreduce(longIn.data(), longOut.data(), kLong, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                   &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  });
}
void rondosOwnLater(benchmark::State& state) {
  repeat(state, [] {
    rondoRequest_t request = nullptr;
    rondoGroupStart();
    rondoAllReduce(longIn.data(), longOut.data(), kLong, rondoFloat64, rondoSum, rondo, nullptr);
    rondoGroupEndAsync(&request);
    rondoWait(&request);
  });
}
template <auto call, auto end>
void later(benchmark::State& state) {
  repeat(state, [] {
    MPI_Request request;
    call(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF, &request);
    end(&request, MPI_STATUS_IGNORE);
  });
}

/// What MPI itself takes for a request that somebody else completes, which an answered one is.
void generalized(benchmark::State& state) {
  repeat(state, [] {
    MPI_Request request;
    PMPI_Grequest_start([](void*, MPI_Status*) { return MPI_SUCCESS; },
                        [](void*) { return MPI_SUCCESS; }, [](void*, int) { return MPI_SUCCESS; },
                        nullptr, &request);
    PMPI_Grequest_complete(request);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
  });
}

// Messages, which are always MPI's on host memory.
template <auto call>
void toItself(benchmark::State& state) {
  repeat(state, [] {
    call(&in, 1, MPI_DOUBLE, 0, 0, &out, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  });
}
template <auto send, auto receive, auto end>
void toItselfLater(benchmark::State& state) {
  repeat(state, [] {
    MPI_Request both[2];
    receive(&out, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &both[0]);
    send(&in, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &both[1]);
    end(2, both, MPI_STATUSES_IGNORE);
  });
}
template <auto call>
void around(benchmark::State& state) {
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  repeat(state, [=] {
    call(&in, 1, MPI_DOUBLE, next, 0, &out, 1, MPI_DOUBLE, before, 0, MPI_COMM_WORLD,
         MPI_STATUS_IGNORE);
  });
}

// V-collectives.
void gatheredV(benchmark::State& state) {
  const int mine = gathered.counts[static_cast<size_t>(rank)];
  repeat(state, [=] {
    MPI_Allgatherv(gathered.in.data(), mine, MPI_DOUBLE, gathered.out.data(),
                   gathered.counts.data(), gathered.displs.data(), MPI_DOUBLE, MPI_COMM_WORLD);
  });
}
void rondosGatherV(benchmark::State& state) {
  const size_t mine = gathered.rondosCounts[static_cast<size_t>(rank)];
  repeat(state, [=] {
    rondoAllGatherV(gathered.in.data(), mine, gathered.out.data(), gathered.rondosCounts.data(),
                    gathered.rondosDispls.data(), rondoFloat64, rondo, nullptr);
  });
}
void exchangedV(benchmark::State& state) {
  repeat(state, [] {
    MPI_Alltoallv(exchanged.in.data(), exchanged.counts.data(), exchanged.displs.data(), MPI_DOUBLE,
                  exchanged.out.data(), exchanged.counts.data(), exchanged.displs.data(),
                  MPI_DOUBLE, MPI_COMM_WORLD);
  });
}
void rondosExchangeV(benchmark::State& state) {
  repeat(state, [] {
    rondoAllToAllV(exchanged.in.data(), exchanged.rondosCounts.data(),
                   exchanged.rondosDispls.data(), exchanged.out.data(),
                   exchanged.rondosCounts.data(), exchanged.rondosDispls.data(), rondoFloat64,
                   rondo, nullptr);
  });
}
template <auto call>
void exchangedAlone(benchmark::State& state) {
  static const int count = 1, at = 0;
  repeat(state,
         [] { call(&in, &count, &at, MPI_DOUBLE, &out, &count, &at, MPI_DOUBLE, MPI_COMM_SELF); });
}

/// What the layer sees, and then what is behind it.
void add(const char* name, void (*layer)(benchmark::State&), const char* other,
         void (*behind)(benchmark::State&)) {
  benchmark::RegisterBenchmark(name, layer)->Iterations(kIterations);
  benchmark::RegisterBenchmark(other, behind)->Iterations(kIterations);
}

void addAll() {
  add("MPI_Allreduce, answered", answered, "rondoAllReduce", rondosOwn);
  add("MPI_Allreduce, one rank: handed on", handedOn, "PMPI_Allreduce, one rank", mpisOwn);
  add("MPI_Wait, nothing pending", wait, "PMPI_Wait, nothing pending", mpisOwnWait);
  add("MPI_Iallreduce of 4 KiB and MPI_Wait, answered", answeredLater,
      "rondoAllReduce of 4 KiB, rondoGroupEndAsync and rondoWait", rondosOwnLater);
  benchmark::RegisterBenchmark("PMPI_Grequest_start, its completion and PMPI_Wait", generalized)
      ->Iterations(kIterations);
  add("MPI_Iallreduce and MPI_Wait, one rank: handed on", later<MPI_Iallreduce, MPI_Wait>,
      "PMPI_Iallreduce and PMPI_Wait, one rank", later<PMPI_Iallreduce, PMPI_Wait>);
  add("MPI_Sendrecv, one rank", toItself<MPI_Sendrecv>, "PMPI_Sendrecv, one rank",
      toItself<PMPI_Sendrecv>);
  add("MPI_Irecv, MPI_Isend and MPI_Waitall, one rank",
      toItselfLater<MPI_Isend, MPI_Irecv, MPI_Waitall>,
      "PMPI_Irecv, PMPI_Isend and PMPI_Waitall, one rank",
      toItselfLater<PMPI_Isend, PMPI_Irecv, PMPI_Waitall>);
  add("MPI_Sendrecv around all ranks", around<MPI_Sendrecv>, "PMPI_Sendrecv around all ranks",
      around<PMPI_Sendrecv>);
  add("MPI_Allgatherv of 1 KiB, answered", gatheredV, "rondoAllGatherV of 1 KiB", rondosGatherV);
  add("MPI_Alltoallv of 1 KiB, answered", exchangedV, "rondoAllToAllV of 1 KiB", rondosExchangeV);
  add("MPI_Alltoallv, one rank: handed on", exchangedAlone<MPI_Alltoallv>,
      "PMPI_Alltoallv, one rank", exchangedAlone<PMPI_Alltoallv>);
}

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
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.device = RONDO_DEVICE_NONE;
  if (rondoCommInitMPI(&rondo, MPI_COMM_WORLD, &config) != rondoSuccess) {
    std::fprintf(stderr, "drop_in_layer: %s\n", rondoGetLastError(nullptr));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  gathered.make(ranks, [](int r) { return kBlock + r; });
  // Rank r gives rank s what rank s expects of rank r.
  exchanged.make(ranks, [](int r) { return kBlock + rank + r; });
  addAll();
  Silence silence;
  if (rank == 0) {
    benchmark::RunSpecifiedBenchmarks();
  } else {
    benchmark::RunSpecifiedBenchmarks(&silence);
  }
  rondoCommDestroy(rondo);
  MPI_Finalize();
}
