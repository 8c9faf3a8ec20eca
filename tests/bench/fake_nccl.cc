// A stand-in for libnccl.so.2 with the functions that rondo-bench loads: float sums by MPI, on the
// streams of the stand-in for the CUDA driver.

#include <mpi.h>

#include <cstdlib>
#include <cstring>

#include "fake_cuda.h"

struct ncclComm {
  MPI_Comm mpi;
  int windows = 0;
};
struct UniqueId {
  char bytes[128];
};

extern "C" {

int ncclGetVersion(int* version) {
  *version = 22807;
  return 0;
}

const char* ncclGetErrorString(int) { return "the fake does float sums only"; }

int ncclGetUniqueId(UniqueId* id) {
  std::strcpy(id->bytes, "fake");
  return 0;
}

/// Refuses ranks that did not get the id, and a program that leaves NVLink multicast on.
int ncclCommInitRank(ncclComm** comm, int, UniqueId id, int) {
  const char* multicast = std::getenv("NCCL_NVLS_ENABLE");
  if (std::strcmp(id.bytes, "fake") != 0 || multicast == nullptr || *multicast != '0') return 4;
  *comm = new ncclComm;
  MPI_Comm_dup(MPI_COMM_WORLD, &(*comm)->mpi);
  return 0;
}

int ncclCommDestroy(ncclComm* comm) {
  if (comm->windows != 0) std::abort();  // a program that leaves some behind
  delete comm;
  return 0;
}

/// All ranks must register memory of the same length; FAKE_NCCL_NO_WINDOWS: it makes none.
int ncclMemAlloc(void** memory, size_t bytes) {
  *memory = std::malloc(bytes);
  return 0;
}
int ncclMemFree(void* memory) {
  std::free(memory);
  return 0;
}
int ncclCommWindowRegister(ncclComm* comm, void* memory, size_t bytes, void** window, int flags) {
  constexpr int kSymmetric = 1;
  unsigned long lengths[] = {bytes, ~static_cast<unsigned long>(bytes)};
  MPI_Allreduce(MPI_IN_PLACE, lengths, 2, MPI_UNSIGNED_LONG, MPI_MAX, comm->mpi);
  if (lengths[0] != bytes || ~lengths[1] != bytes || flags != kSymmetric) return 4;
  *window = std::getenv("FAKE_NCCL_NO_WINDOWS") != nullptr ? nullptr : memory;
  if (*window != nullptr) ++comm->windows;
  return 0;
}
int ncclCommWindowDeregister(ncclComm* comm, void* window) {
  if (window == nullptr) return 4;
  --comm->windows;
  return 0;
}

int ncclAllReduce(const void* send, void* recv, size_t count, int type, int op, ncclComm* comm,
                  void* stream) {
  constexpr int kFloat32 = 7;
  if (type != kFloat32 || op != 0) return 4;
  const MPI_Comm mpi = comm->mpi;
  const std::function<void()> work = [=] {
    fakeCudaNote("nccl", recv);
    MPI_Allreduce(send == recv ? MPI_IN_PLACE : send, recv, static_cast<int>(count), MPI_FLOAT,
                  MPI_SUM, mpi);
  };
  fakeCudaEnqueue(stream, &work);
  return 0;
}

}  // extern "C"
