#pragma once
// NCCL as a library to compare with on device memory, loaded at run time.

#include <map>
#include <memory>
#include <string>

#include "benchmark.h"
#include "contender.h"
#include "options.h"
#include "session.h"

namespace rondo::bench {

/// Whether NCCL has a call for it.
bool ncclHas(const Benchmark& benchmark);

/// Throws UsageError if NCCL has no such type, or averages it inexactly, or has no such collective.
void requireNcclCan(const Benchmark& benchmark, const Options& options, int ranks);

class Nccl {
 public:
  /// Collective; the rank's device must be current. Throws UsageError if NCCL cannot be loaded.
  /// `name` stands in the rows.
  Nccl(const Session& session, const char* name);
  ~Nccl();
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  std::string version() const;
  /// NCCL's call for the benchmark; what it has no function for is a group of its sends and
  /// receives, as its documentation proposes.
  Contender contender(const Benchmark& benchmark) const;
  /// Memory of NCCL's, which its symmetric kernels may use: all ranks call with the same length, in
  /// the same order, and release in the same order. Throws RunError, UsageError if this NCCL or
  /// this machine has none.
  void* allocateSymmetric(size_t bytes);
  void releaseSymmetric(void* memory);
  /// Makes a communicator of the ranks of `comm`, which rank 0 makes an id for and sends it to the
  /// others, and destroys it; returns the microseconds that the making took. Collective.
  double makeOne(MPI_Comm comm) const;

  struct Library;

 private:
  std::unique_ptr<Library> library_;
  const char* name_;
  std::map<void*, struct ncclWindow*> windows_;
  struct ncclComm* comm_ = nullptr;
  int rank_;
  int ranks_;
};

}  // namespace rondo::bench
