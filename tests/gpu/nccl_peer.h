#pragma once
// NCCL, opened at run time, to be timed beside Rondo. Never with NVLink multicast.

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <mpi.h>

#include <cstdlib>
#include <cstring>

namespace rondo::test {

class NcclPeer {
 public:
  /// Every rank with a current device calls it; ok() is the same on all of them.
  NcclPeer() {
    setenv("NCCL_NVLS_ENABLE", "0", 1);
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    void* library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    int have = library != nullptr;
    MPI_Allreduce(MPI_IN_PLACE, &have, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (have == 0) return;
    const auto getId = reinterpret_cast<int (*)(Id*)>(dlsym(library, "ncclGetUniqueId"));
    const auto init =
        reinterpret_cast<int (*)(void**, int, Id, int)>(dlsym(library, "ncclCommInitRank"));
    allReduce_ = reinterpret_cast<AllReduce>(dlsym(library, "ncclAllReduce"));
    Id id{};
    if (rank == 0) getId(&id);
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    have = init(&comm_, size, id, rank) == 0;
    MPI_Allreduce(MPI_IN_PLACE, &have, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    ok_ = have != 0;
  }
  bool ok() const { return ok_; }
  /// 0 on success.
  int allReduce(const float* src, float* dst, size_t count, cudaStream_t stream) const {
    return allReduce_(src, dst, count, 7, 0, comm_, stream);  // ncclFloat32, ncclSum
  }

 private:
  struct Id {
    char bytes[128];
  };
  using AllReduce = int (*)(const void*, void*, size_t, int, int, void*, cudaStream_t);
  AllReduce allReduce_ = nullptr;
  void* comm_ = nullptr;
  bool ok_ = false;
};

}  // namespace rondo::test
