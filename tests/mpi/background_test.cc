// rondoCommInitMPI with config.blocking 0: refused below MPI_THREAD_MULTIPLE, made in the
// background with it, and aborted in the middle.

#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "rondo_mpi.h"

namespace {

MPI_Comm on = MPI_COMM_NULL;  // with this rank and size
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
  return rondoCommInitMPI(comm, on, &config);
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

/// An init that the last rank never enters is given up by the others, at once and without harm to
/// MPI: by id, as docs/boot.md says. No thread but this one calls MPI.
void givenUp() {
  rondoUniqueId id;
  if (rank == 0) check(rondoGetUniqueId(&id) == rondoSuccess, "rondoGetUniqueId");
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, on);
  if (rank != size - 1) {
    rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
    config.blocking = 0;
    rondoComm_t comm = nullptr;
    rondoResult_t state = rondoSuccess;
    check(rondoCommInitRankConfig(&comm, size, id, rank, &config) == rondoInProgress, "by id");
    usleep(30000);
    check(rondoCommGetAsyncError(comm, &state) == rondoSuccess, "rondoCommGetAsyncError");
    // Another rank may have given up already.
    check(state == rondoInProgress || state == rondoRemoteError, "an init without the last rank");
    check(rondoCommAbort(comm) == rondoSuccess, "abort of an init that nobody completes");
  }
  MPI_Barrier(on);
}

/// Whether all others come is seen before the init, and one that does not is not waited for.
void looksFirst() {
  MPI_Comm early = MPI_COMM_NULL;
  MPI_Comm_dup(on, &early);
  MPI_Request request = MPI_REQUEST_NULL;
  int there = 0;
  if (rank != size - 1) {
    MPI_Ibarrier(early, &request);
    for (int i = 0; i < 30 && !there; ++i) {
      MPI_Test(&request, &there, MPI_STATUS_IGNORE);
      usleep(1000);
    }
    check(!there, "a barrier without the last rank");
  }
  MPI_Barrier(on);  // the program goes on otherwise, and this time all come
  if (rank == size - 1) MPI_Ibarrier(early, &request);
  while (!there) MPI_Test(&request, &there, MPI_STATUS_IGNORE);
  rondoComm_t comm = nullptr;
  check(rondoCommInitMPI(&comm, on, nullptr) == rondoSuccess, "an init that all ranks enter");
  checkSum(comm);
  check(rondoCommDestroy(comm) == rondoSuccess, "destroy");
  MPI_Comm_free(&early);
}

void refused() {
  rondoComm_t comm = nullptr;
  check(begin(&comm) == rondoInvalidUsage &&
            std::strstr(rondoGetLastError(nullptr), "below MPI_THREAD_MULTIPLE") != nullptr,
        "was not refused");
  check(rondoCommInitMPI(&comm, on, nullptr) == rondoSuccess, "blocking");
  checkSum(comm);
}

void made() {
  rondoComm_t comm = nullptr, late = nullptr;
  check(begin(&comm) == rondoInProgress, "did not begin");
  // MPI is free meanwhile, also on the same communicator.
  MPI_Barrier(on);
  awaitReady(comm);
  checkSum(comm);
  check(rondoCommDestroy(comm) == rondoSuccess, "destroy");
  // Rank 0 gives one up at once: the others cannot be told, and give theirs up when they like.
  check(begin(&late) == rondoInProgress, "did not begin");
  if (rank != 0) usleep(20000);
  check(rondoCommAbort(late) == rondoSuccess, "abort");
  MPI_Barrier(on);
  check(begin(&comm) == rondoInProgress, "did not begin again");
  awaitReady(comm);
  checkSum(comm);  // and left to MPI_Finalize
}

}  // namespace

int main(int argc, char** argv) {
  const bool threads = argc > 1 && std::strcmp(argv[1], "threads") == 0;
  int level = 0;
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &level);
  if (threads && level < MPI_THREAD_MULTIPLE) {
    std::printf("this MPI has no MPI_THREAD_MULTIPLE\n");
  } else {
    for (const MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
      on = each;
      MPI_Comm_rank(on, &rank);
      MPI_Comm_size(on, &size);
      threads ? made() : refused();
      if (size > 1) {
        givenUp();
        looksFirst();
      }
    }
  }
  MPI_Finalize();
  return 0;
}
