#pragma once
// What every benchmark runs in: the MPI job and a Rondo communicator over it.

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <string>

#include "api/rondo.h"

namespace rondo::bench {

class Session {
 public:
  /// Collective over MPI_COMM_WORLD. Throws RunError with Rondo's own sentence.
  Session();
  ~Session() { rondoCommDestroy(rondo_); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  MPI_Comm mpi() const { return MPI_COMM_WORLD; }
  rondoComm_t rondo() const { return rondo_; }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  bool isRoot() const { return rank_ == 0; }

  void barrier() const { MPI_Barrier(mpi()); }
  /// The largest of all ranks' values, on all ranks.
  double largest(double value) const;
  /// The sum over all ranks, on all ranks.
  uint64_t sum(uint64_t value) const;
  /// Runs `work` on rank 0; if it throws a UsageError or a RunError there, all ranks throw that.
  void onRoot(const std::function<void()>& work) const;

 private:
  rondoComm_t rondo_ = nullptr;
  int rank_ = 0;
  int ranks_ = 0;
};

/// Throws RunError unless `result` is rondoSuccess; the sentence is rondoGetLastError's.
void checkRondo(rondoResult_t result, const char* call, rondoComm_t comm);

/// "0.1.0" for a version coded as RONDO_VERSION_CODE.
std::string formatVersion(int code);
/// The loaded library's version.
std::string rondoVersion();
/// The MPI library's name and version.
std::string mpiVersion();

}  // namespace rondo::bench
