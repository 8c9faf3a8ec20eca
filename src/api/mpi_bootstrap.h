#pragma once
// The bootstrap of a group that has an MPI communicator.

#include <mpi.h>

#include <memory>

#include "p2p/bootstrap.h"

namespace rondo {

/// Throws Error(rondoMpiError) with MPI's text unless `code` is MPI_SUCCESS. `what` names the call.
/// Where MPI has ULFM and says that a rank has ended, Error(rondoRemoteError).
void checkMpi(int code, const char* what);

/// Works on a private duplicate, which exists only as long as this object: nothing of a
/// communicator that is made over it needs MPI_Comm_free later. Makes completing collective calls
/// only, or on a thread of its own, which can be called back (p2p/interrupt.h), non-blocking ones.
class MpiBootstrap : public Bootstrap {
 public:
  /// Collective. `comm` is an intra-communicator.
  explicit MpiBootstrap(MPI_Comm comm);
  /// Makes the duplicate only: finish() must follow, on whatever thread. MPI_THREAD_MULTIPLE.
  struct Begin {};
  MpiBootstrap(MPI_Comm comm, Begin);
  void finish();
  ~MpiBootstrap() override;
  MpiBootstrap(const MpiBootstrap&) = delete;
  MpiBootstrap& operator=(const MpiBootstrap&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const Secret& secret() const override { return secret_; }
  void allGather(const void* mine, size_t bytes, void* all) override;
  void idle() override;

 private:
  struct Pending;  // what MPI may write to until a request is complete

  void settle();
  void shareSecret();
  void complete(std::unique_ptr<Pending>& pending);

  bool polls_ = false;

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  Secret secret_{};
};

}  // namespace rondo
