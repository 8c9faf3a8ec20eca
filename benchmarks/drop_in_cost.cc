// What the layer before MPI costs: calls by their MPI_ names, which it sees, beside PMPI_ or
// Rondo's own, in turn in one process. drop_in_sizes is what it gives. Usage: mpirun -n N -x
// LD_PRELOAD=librondo_mpi.so drop_in_cost

#include <mpi.h>

#include <cstdio>
#include <vector>

#include "api/rondo_mpi.h"
#include "drop_in_turns.h"

using namespace drop_in_bench;

namespace {

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
  rondoCommDestroy(comm);
  MPI_Finalize();
}
