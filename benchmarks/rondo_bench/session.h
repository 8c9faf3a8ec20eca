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
  /// Microseconds that it took to make the communicator, the first of this process.
  double firstInitUsec() const { return firstInitUsec_; }

  void barrier() const { MPI_Barrier(mpi()); }
  /// The two ranks of a pair meet; the one that leads leaves last, when the other is already on its
  /// way. Nothing where `peer` is -1.
  void meet(int peer, bool leads) const {
    if (peer < 0) return;
    constexpr int kTag = 2;
    char byte = 0;
    if (leads) MPI_Send(&byte, 1, MPI_BYTE, peer, kTag, mpi());
    MPI_Recv(&byte, 1, MPI_BYTE, peer, kTag, mpi(), MPI_STATUS_IGNORE);
    if (!leads) MPI_Send(&byte, 1, MPI_BYTE, peer, kTag, mpi());
  }
  /// Rank 0's value, on all ranks.
  double fromRoot(double value) const;
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
  double firstInitUsec_ = 0;
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
