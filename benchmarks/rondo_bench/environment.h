#pragma once
// What a command's options ask for, made ready: communicator, memory, timer, peer.

#include <memory>
#include <string>
#include <vector>

#include "collective.h"
#include "device.h"
#include "memory.h"
#include "options.h"
#include "peer_nccl.h"
#include "session.h"
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

  /// Versions and machine, for the reports' heads.
  std::string versions() const;
  std::string machine() const;

 private:
  const Options& options_;
  Session session_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Timer> timer_;
  std::unique_ptr<Nccl> nccl_;
};

/// Throws UsageError, before anything runs, if a type or operator has no exact values to check with
/// for so many ranks, or the peer does not know it.
void requirePossible(const Options& options, int ranks);

}  // namespace rondo::bench
