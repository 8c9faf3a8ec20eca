// rondoCommInitMPI with config.blocking 0: refused below MPI_THREAD_MULTIPLE, made in the
// background with it, and aborted while other ranks have not come.

#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "rondo_mpi.h"

namespace {

int rank = -1, size = 0;

void check(bool good, const char* what) {
  if (good) return;
  std::printf("rank %d: %s: %s\n", rank, what, rondoGetLastError(nullptr));
  std::fflush(stdout);
  std::_Exit(1);
}

rondoResult_t begin(rondoComm_t* comm) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  config.blocking = 0;
  return rondoCommInitMPI(comm, MPI_COMM_WORLD, &config);
}

void awaitReady(rondoComm_t comm) {
  rondoResult_t state = rondoInProgress;
  while (state == rondoInProgress) {
    check(rondoCommGetAsyncError(comm, &state) == rondoSuccess, "rondoCommGetAsyncError");
    usleep(500);
  }
  check(state == rondoSuccess, rondoGetLastError(comm));
}

void checkSum(rondoComm_t comm) {
  int sum = 0;
  check(rondoAllReduce(&rank, &sum, 1, rondoInt32, rondoSum, comm, nullptr) == rondoSuccess &&
            sum == size * (size - 1) / 2,
        "an all-reduce");
}

void refused() {
  rondoComm_t comm = nullptr;
  check(begin(&comm) == rondoInvalidUsage &&
            std::strstr(rondoGetLastError(nullptr), "below MPI_THREAD_MULTIPLE") != nullptr,
        "was not refused");
  check(rondoCommInitMPI(&comm, MPI_COMM_WORLD, nullptr) == rondoSuccess, "blocking");
  checkSum(comm);
}

void made() {
  rondoComm_t comm = nullptr, late = nullptr;
  check(begin(&comm) == rondoInProgress, "did not begin");
  // MPI is free meanwhile, also on the same communicator.
  MPI_Barrier(MPI_COMM_WORLD);
  awaitReady(comm);
  checkSum(comm);
  check(rondoCommDestroy(comm) == rondoSuccess, "destroy");
  // One whose peers have not come yet is aborted at once, and MPI goes on.
  if (rank == 0) {
    check(begin(&late) == rondoInProgress, "did not begin");
    usleep(20000);
    rondoResult_t state = rondoSuccess;
    check(rondoCommGetAsyncError(late, &state) == rondoSuccess && state == rondoInProgress,
          "is not under way");
    check(rondoCommAbort(late) == rondoSuccess, "abort");
  }
  int token = rank == 0 ? 7 : 0;
  if (rank == 0) {
    for (int r = 1; r < size; ++r) MPI_Send(&token, 1, MPI_INT, r, 0, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(begin(&late) == rondoInProgress, "did not begin");
    usleep(20000);
    check(rondoCommAbort(late) == rondoSuccess, "abort");
  }
  check(begin(&comm) == rondoInProgress, "did not begin again");
  awaitReady(comm);
  checkSum(comm);  // and left to MPI_Finalize
}

}  // namespace

int main(int argc, char** argv) {
  const bool threads = argc > 1 && std::strcmp(argv[1], "threads") == 0;
  int level = 0;
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (threads && level < MPI_THREAD_MULTIPLE) {
    std::printf("this MPI has no MPI_THREAD_MULTIPLE\n");
  } else {
    threads ? made() : refused();
  }
  MPI_Finalize();
  return 0;
}
