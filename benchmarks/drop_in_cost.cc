// What the layer before MPI costs and gives: collectives by their MPI_ names, which the layer
// answers, beside their PMPI_ names, which MPI does, in turn in one process.
// Usage: mpirun -n N -x LD_PRELOAD=librondo_mpi.so drop_in_cost

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "api/rondo_mpi.h"

namespace {

using Run = std::function<void()>;

int rank = 0, ranks = 1;

double median(std::vector<double>& times) {
  const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

/// Medians of the seconds that a call of each takes, on the slowest rank. Batches of one and of the
/// other take turns, so that both meet the machine in the same states.
std::vector<double> compare(const std::vector<Run>& runs, int batch, int rounds) {
  std::vector<std::vector<double>> times(runs.size());
  for (int round = -2; round < rounds; ++round) {
    for (size_t i = 0; i < runs.size(); ++i) {
      PMPI_Barrier(MPI_COMM_WORLD);
      runs[i]();  // everybody is there
      const double begin = PMPI_Wtime();
      for (int n = 0; n < batch; ++n) runs[i]();
      double seconds = (PMPI_Wtime() - begin) / batch;
      PMPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      if (round >= 0) times[i].push_back(seconds);
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& one : times) medians.push_back(median(one));
  return medians;
}

void passedOn() {
  int in = 1, out = 0;
  const std::vector<double> seconds =
      compare({[&] { MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF); },
               [&] { PMPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF); }},
              20000, 21);
  if (rank == 0) {
    std::printf("passed on (one rank):  MPI_ %.1f ns, PMPI_ %.1f ns, the layer adds %.1f ns\n",
                seconds[0] * 1e9, seconds[1] * 1e9, (seconds[0] - seconds[1]) * 1e9);
  }
}

void passedOnWait(const char* name, const Run& layer, const Run& mpi) {
  const std::vector<double> seconds = compare({layer, mpi}, 20000, 21);
  if (rank == 0) {
    std::printf("%-12s (MPI's):  MPI_ %.1f ns, PMPI_ %.1f ns, the layer adds %.1f ns\n", name,
                seconds[0] * 1e9, seconds[1] * 1e9, (seconds[0] - seconds[1]) * 1e9);
  }
}

/// The calls that end requests while none is Rondo's, at their cheapest: nothing to wait for.
void waits() {
  constexpr int kFew = 4;
  static MPI_Request one = MPI_REQUEST_NULL, few[kFew] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL,
                                                          MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  static int flag = 0, index = 0;
  const auto none = MPI_STATUS_IGNORE;
  passedOnWait(
      "wait", [&] { MPI_Wait(&one, none); }, [&] { PMPI_Wait(&one, none); });
  passedOnWait(
      "test", [&] { MPI_Test(&one, &flag, none); }, [&] { PMPI_Test(&one, &flag, none); });
  passedOnWait(
      "waitall of 4", [&] { MPI_Waitall(kFew, few, MPI_STATUSES_IGNORE); },
      [&] { PMPI_Waitall(kFew, few, MPI_STATUSES_IGNORE); });
  passedOnWait(
      "testany of 4", [&] { MPI_Testany(kFew, few, &index, &flag, none); },
      [&] { PMPI_Testany(kFew, few, &index, &flag, none); });
}

void taken(rondoComm_t comm) {
  double in = 1, out = 0;
  const std::vector<double> seconds =
      compare({[&] { MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); },
               [&] { rondoAllReduce(&in, &out, 1, rondoFloat64, rondoSum, comm, nullptr); }},
              2000, 101);
  if (rank == 0) {
    std::printf("taken (8 bytes):       MPI_ %.1f ns, rondo %.1f ns, the layer adds %.1f ns\n",
                seconds[0] * 1e9, seconds[1] * 1e9, (seconds[0] - seconds[1]) * 1e9);
  }
}

void making() {
  MPI_Comm dup;
  const auto make = [&](auto dupFunction) {
    dupFunction(MPI_COMM_WORLD, &dup);
    MPI_Comm_free(&dup);
  };
  const std::vector<double> seconds =
      compare({[&] { make(MPI_Comm_dup); }, [&] { make(PMPI_Comm_dup); }}, 5, 11);
  if (rank == 0) {
    std::printf("a communicator:        MPI_ %.0f us, PMPI_ %.0f us, made by a dup and freed\n",
                seconds[0] * 1e6, seconds[1] * 1e6);
  }
}

void row(const char* name, size_t bytes, const Run& layer, const Run& mpi) {
  const int batch = static_cast<int>(std::max<size_t>(1, (size_t{1} << 19) / (bytes + 1024)));
  const int rounds = bytes > (4u << 20) ? 15 : 31;
  const std::vector<double> seconds = compare({layer, mpi}, batch, rounds);
  if (rank == 0) {
    std::printf("%-10s %9zu %12.2f %12.2f %8.2f\n", name, bytes, seconds[0] * 1e6, seconds[1] * 1e6,
                seconds[0] / seconds[1]);
  }
}

/// `bytes`: of the whole vector.
void rows(size_t bytes) {
  const int floats = static_cast<int>(bytes / 4), each = std::max(1, floats / ranks);
  std::vector<float> in(static_cast<size_t>(floats + ranks), 1), out(in.size() + 16);
  const auto world = MPI_COMM_WORLD;
  row(
      "allreduce", bytes,
      [&] { MPI_Allreduce(in.data(), out.data(), floats, MPI_FLOAT, MPI_SUM, world); },
      [&] { PMPI_Allreduce(in.data(), out.data(), floats, MPI_FLOAT, MPI_SUM, world); });
  const auto later = [&](auto begin, auto wait) {
    MPI_Request request;
    begin(in.data(), out.data(), floats, MPI_FLOAT, MPI_SUM, world, &request);
    wait(&request, MPI_STATUS_IGNORE);
  };
  row(
      "iallreduce", bytes, [&] { later(MPI_Iallreduce, MPI_Wait); },
      [&] { later(PMPI_Iallreduce, PMPI_Wait); });
  row(
      "bcast", bytes, [&] { MPI_Bcast(in.data(), floats, MPI_FLOAT, 0, world); },
      [&] { PMPI_Bcast(in.data(), floats, MPI_FLOAT, 0, world); });
  row(
      "allgather", bytes,
      [&] { MPI_Allgather(in.data(), each, MPI_FLOAT, out.data(), each, MPI_FLOAT, world); },
      [&] { PMPI_Allgather(in.data(), each, MPI_FLOAT, out.data(), each, MPI_FLOAT, world); });
  row(
      "gather", bytes,
      [&] { MPI_Gather(in.data(), each, MPI_FLOAT, out.data(), each, MPI_FLOAT, 0, world); },
      [&] { PMPI_Gather(in.data(), each, MPI_FLOAT, out.data(), each, MPI_FLOAT, 0, world); });
  row(
      "scatter", bytes,
      [&] { MPI_Scatter(in.data(), each, MPI_FLOAT, out.data(), each, MPI_FLOAT, 0, world); },
      [&] { PMPI_Scatter(in.data(), each, MPI_FLOAT, out.data(), each, MPI_FLOAT, 0, world); });
  row(
      "alltoall", bytes,
      [&] { MPI_Alltoall(in.data(), each, MPI_FLOAT, out.data(), each, MPI_FLOAT, world); },
      [&] { PMPI_Alltoall(in.data(), each, MPI_FLOAT, out.data(), each, MPI_FLOAT, world); });
  std::vector<int> counts(static_cast<size_t>(ranks), each), at(counts.size());
  for (size_t i = 0; i < at.size(); ++i) at[i] = static_cast<int>(i) * each;
  const auto uneven = [&](auto begin, auto wait) {
    MPI_Request request;
    begin(in.data(), counts.data(), at.data(), MPI_FLOAT, out.data(), counts.data(), at.data(),
          MPI_FLOAT, world, &request);
    wait(&request, MPI_STATUS_IGNORE);
  };
  row(
      "ialltoallv", bytes, [&] { uneven(MPI_Ialltoallv, MPI_Wait); },
      [&] { uneven(PMPI_Ialltoallv, PMPI_Wait); });
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  rondoComm_t comm = nullptr;
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.device = RONDO_DEVICE_NONE;
  if (rondoCommInitMPI(&comm, MPI_COMM_WORLD, &config) != rondoSuccess) {
    std::fprintf(stderr, "drop_in_cost: %s\n", rondoGetLastError(nullptr));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  passedOn();
  waits();
  if (ranks > 1) taken(comm);
  making();
  if (rank == 0)
    std::printf("%-10s %9s %12s %12s %8s\n", "", "bytes", "MPI_, us", "PMPI_, us", "ratio");
  for (const size_t bytes : {size_t{8}, size_t{256}, size_t{4} << 10, size_t{64} << 10,
                             size_t{1} << 20, size_t{16} << 20}) {
    rows(bytes);
  }
  rondoCommDestroy(comm);
  MPI_Finalize();
}
