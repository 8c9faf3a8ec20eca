#pragma once
// The bootstrap of a group that has an MPI communicator.

#include <mpi.h>

#include "p2p/bootstrap.h"

namespace rondo {

/// Throws Error(rondoMpiError) with MPI's text unless `code` is MPI_SUCCESS. `what` names the call.
void checkMpi(int code, const char* what);

/// Works on a private duplicate, which exists only as long as this object: nothing of a
/// communicator that is made over it needs MPI_Comm_free later. Makes completing collective calls
/// only.
class MpiBootstrap : public Bootstrap {
 public:
  /// Collective. `comm` is an intra-communicator.
  explicit MpiBootstrap(MPI_Comm comm);
  ~MpiBootstrap() override;
  MpiBootstrap(const MpiBootstrap&) = delete;
  MpiBootstrap& operator=(const MpiBootstrap&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const Secret& secret() const override { return secret_; }
  void allGather(const void* mine, size_t bytes, void* all) override;
  void idle() override;

 private:
  void shareSecret();

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  Secret secret_{};
};

}  // namespace rondo
