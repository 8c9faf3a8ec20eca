// Communicators that ULFM shrank: three ranks, one of which kills itself; the others let MPI shrink
// MPI_COMM_WORLD and make a Rondo communicator of what it gives. Where MPI has no ULFM: that it is
// really absent.

#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include "rondo_mpi.h"

#ifdef HAVE_MPI_ULFM
#include <mpi-ext.h>

namespace {

constexpr int kVictim = 1;

[[noreturn]] void fail(int rank, const char* what) {
  std::printf("rank %d: %s: %s\n", rank, what, rondoGetLastError(nullptr));
  std::fflush(stdout);
  _exit(1);
}

/// Sums 1 over all ranks.
rondoResult_t countRanks(rondoComm_t comm, int* ranks) {
  const int one = 1;
  return rondoAllReduce(&one, ranks, 1, rondoInt32, rondoSum, comm, nullptr);
}

/// Its own Rondo communicator is gone with the rank; the shrunk one has none yet.
void goOn(int rank, int size, rondoComm_t comm) {
  int counted = 0;
  while (countRanks(comm, &counted) == rondoSuccess) {
  }
  MPI_Comm rest = MPI_COMM_NULL;
  if (MPIX_Comm_shrink(MPI_COMM_WORLD, &rest) != MPI_SUCCESS) fail(rank, "MPIX_Comm_shrink");
  rondoComm_t left = nullptr;
  if (rondoCommFromMPI(rest, &left) != rondoSuccess) fail(rank, "rondoCommFromMPI");
  if (left == comm) fail(rank, "the shrunk communicator has the old one's handle");
  if (countRanks(left, &counted) != rondoSuccess) fail(rank, "rondoAllReduce");
  if (counted != size - 1) fail(rank, "the survivors are not all");
  std::printf("survivor: rank %d, one of %d\n", rank, counted);
  std::fflush(stdout);
  _exit(0);  // MPI_Finalize is between MPI and the dead
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int rank = -1, size = 0, counted = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  rondoComm_t comm = nullptr;
  if (rondoCommFromMPI(MPI_COMM_WORLD, &comm) != rondoSuccess) fail(rank, "rondoCommFromMPI");
  if (countRanks(comm, &counted) != rondoSuccess || counted != size) fail(rank, "rondoAllReduce");
  if (rank == kVictim) raise(SIGKILL);
  goOn(rank, size, comm);
}

#else

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const bool there = dlsym(RTLD_DEFAULT, "MPIX_Comm_shrink") != nullptr;
  std::puts(there ? "this MPI has MPIX_Comm_shrink, and configure found none"
                  : "this MPI has no ULFM");
  MPI_Finalize();
  return there ? 1 : 0;
}

#endif
