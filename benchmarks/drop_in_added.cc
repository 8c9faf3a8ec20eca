// What the layer before MPI adds to a call that it answers: batches of MPI_ names and of Rondo's
// own calls in turn, in one process, and the median of the differences. Rows one after the other,
// as in drop_in_layer, meet a shared machine in different states.
// Usage: mpirun -n 2 --bind-to core -x LD_PRELOAD=librondo_mpi.so -x RONDO_MPI_MEASURE=0
//   drop_in_added [rounds [batch [row]]]

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "api/rondo_mpi.h"
#include "drop_in_blocks.h"
#include "drop_in_turns.h"

namespace {

using drop_in_bench::Blocks;
using drop_in_bench::rank;
using drop_in_bench::ranks;
using drop_in_bench::Run;

/// Of 4 KiB, whose non-blocking calls are answered, and v-collectives of 1 KiB a block.
constexpr int kLong = 512, kBlock = 128;
rondoComm_t rondo = nullptr;
double in = 1, out = 0;
std::vector<double> longIn(kLong, 1.0), longOut(kLong);

struct Row {
  const char* name;
  Run layer, own;
};

Row reduced() {
  return {"MPI_Allreduce of 8 bytes",
          [] { MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); },
          [] { rondoAllReduce(&in, &out, 1, rondoFloat64, rondoSum, rondo, nullptr); }};
}
Row reducedLater() {
  return {"MPI_Iallreduce of 4 KiB and MPI_Wait",
          [] {
            MPI_Request request;
            MPI_Iallreduce(longIn.data(), longOut.data(), kLong, MPI_DOUBLE, MPI_SUM,
                           MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
          },
          [] {
            rondoRequest_t request = nullptr;
            rondoGroupStart();
            rondoAllReduce(longIn.data(), longOut.data(), kLong, rondoFloat64, rondoSum, rondo,
                           nullptr);
            rondoGroupEndAsync(&request);
            rondoWait(&request);
          }};
}
Row gathered(Blocks& of) {
  const auto me = static_cast<size_t>(rank);
  return {"MPI_Allgatherv of 1 KiB a block",
          [&of, me] {
            MPI_Allgatherv(of.in.data(), of.counts[me], MPI_DOUBLE, of.out.data(), of.counts.data(),
                           of.displs.data(), MPI_DOUBLE, MPI_COMM_WORLD);
          },
          [&of, me] {
            rondoAllGatherV(of.in.data(), of.rondosCounts[me], of.out.data(),
                            of.rondosCounts.data(), of.rondosDispls.data(), rondoFloat64, rondo,
                            nullptr);
          }};
}
Row exchanged(Blocks& of) {
  return {"MPI_Alltoallv of 1 KiB a block",
          [&of] {
            MPI_Alltoallv(of.in.data(), of.counts.data(), of.displs.data(), MPI_DOUBLE,
                          of.out.data(), of.counts.data(), of.displs.data(), MPI_DOUBLE,
                          MPI_COMM_WORLD);
          },
          [&of] {
            rondoAllToAllV(of.in.data(), of.rondosCounts.data(), of.rondosDispls.data(),
                           of.out.data(), of.rondosCounts.data(), of.rondosDispls.data(),
                           rondoFloat64, rondo, nullptr);
          }};
}

/// Seconds of a call, on the slowest rank.
double timeOf(const Run& run, int batch) {
  PMPI_Barrier(MPI_COMM_WORLD);
  for (int n = 0; n < 4; ++n) run();
  const double begin = PMPI_Wtime();
  for (int n = 0; n < batch; ++n) run();
  double seconds = (PMPI_Wtime() - begin) / batch;
  PMPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

void compare(const Row& row, int rounds, int batch) {
  constexpr int kFirst = 20;
  std::vector<double> layers, owns, added;
  for (int round = -kFirst; round < rounds; ++round) {
    const bool layerFirst = round % 2 == 0;
    double layer = layerFirst ? timeOf(row.layer, batch) : 0;
    const double own = timeOf(row.own, batch);
    if (!layerFirst) layer = timeOf(row.layer, batch);
    if (round < 0) continue;
    layers.push_back(layer);
    owns.push_back(own);
    added.push_back(layer - own);
  }
  using drop_in_bench::median;
  if (rank != 0) return;
  std::printf("%-38s layer %5.0f  own %5.0f  adds %5.0f ns\n", row.name, median(layers) * 1e9,
              median(owns) * 1e9, median(added) * 1e9);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.device = RONDO_DEVICE_NONE;
  if (rondoCommInitMPI(&rondo, MPI_COMM_WORLD, &config) != rondoSuccess) {
    std::fprintf(stderr, "drop_in_added: %s\n", rondoGetLastError(nullptr));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 4000;
  const int batch = argc > 2 ? std::atoi(argv[2]) : 200;
  const int only = argc > 3 ? std::atoi(argv[3]) : -1;
  // One rank's block is longer than the next one's; rank r gives rank s what s expects of it.
  Blocks toAll, toEach;
  toAll.make(ranks, [](int r) { return kBlock + r; });
  toEach.make(ranks, [](int r) { return kBlock + rank + r; });
  const Row rows[] = {reduced(), reducedLater(), gathered(toAll), exchanged(toEach)};
  int number = 0;
  for (const Row& row : rows) {
    if (only < 0 || number++ == only) compare(row, rounds, batch);
  }
  rondoCommDestroy(rondo);
  MPI_Finalize();
}
