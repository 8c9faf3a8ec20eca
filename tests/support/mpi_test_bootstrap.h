#pragma once
// A Bootstrap over MPI_COMM_WORLD for test programs that need no communicator.

#include <mpi.h>

#include <random>

#include "p2p/bootstrap.h"

namespace rondo {

class MpiTestBootstrap : public Bootstrap {
 public:
  MpiTestBootstrap() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    std::random_device random;
    for (unsigned char& byte : secret_) byte = static_cast<unsigned char>(random());
    MPI_Bcast(secret_.data(), static_cast<int>(secret_.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const Secret& secret() const override { return secret_; }
  void allGather(const void* mine, size_t bytes, void* all) override {
    const int count = static_cast<int>(bytes);
    MPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, MPI_COMM_WORLD);
  }

 private:
  int rank_ = 0;
  int size_ = 1;
  Secret secret_{};
};

}  // namespace rondo
