#pragma once
// What a command's options ask for, made ready: communicator, memory, timer, peer.

#include <memory>
#include <string>
#include <vector>

#include "benchmark.h"
#include "contender.h"
#include "device.h"
#include "meeting_place.h"
#include "memory.h"
#include "options.h"
#include "peer_nccl.h"
#include "session.h"
#include "staged_mpi.h"
#include "timing.h"

namespace rondo::bench {

class Environment {
 public:
  /// Collective over all ranks. Throws UsageError where the machine lacks what is asked for.
  explicit Environment(const Options& options);

  const Options& options() const { return options_; }
  const Session& session() const { return session_; }
  Memory& memory() const { return *memory_; }
  Timer& timer() const { return *timer_; }
  rondoStream_t stream() const { return device_ ? device_->stream() : nullptr; }
  const Nccl* nccl() const { return nccl_.get(); }
  /// nullptr on host memory.
  StagedMpi* stagedMpi() const { return stagedMpi_.get(); }

  /// Versions and machine, for the reports' heads.
  std::string versions() const;
  std::string machine() const;
  /// How the ranks come together before each call.
  std::string meeting() const { return place_ ? place_->text() : "MPI_Barrier"; }
  /// More ranks than cores.
  bool crowded() const { return place_ && place_->crowded(); }

 private:
  const Options& options_;
  Session session_;
  std::unique_ptr<MeetingPlace> place_;  // host memory's
  std::unique_ptr<Device> device_;
  std::unique_ptr<Nccl> nccl_;
  std::unique_ptr<Memory> memory_;  // may be of nccl_
  std::unique_ptr<Timer> timer_;
  std::unique_ptr<StagedMpi> stagedMpi_;
};

/// This rank's place, for the benchmarks' layouts.
Seat seatOf(const Options& options, const Session& session);

/// The library that is asked for, then the peer, if any. Throws UsageError if a call is missing.
std::vector<Contender> contendersOf(const Benchmark& benchmark, const Environment& environment);

/// Throws UsageError, before anything runs, if the benchmark cannot be run by so many ranks with
/// these options, a type or operator has no exact values to check with, or a library does not know
/// it.
void requirePossible(const Benchmark& benchmark, const Options& options, int ranks);

}  // namespace rondo::bench
