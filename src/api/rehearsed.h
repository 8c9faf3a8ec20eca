#pragma once
// A handle's part of a rehearsal: one communicator of a program, whose communicators share the
// machine, the clock and the files.

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/rondo_virtual.h"
#include "api/virtual_comm.h"
#include "coll/sim/program.h"
#include "coll/sim/split_rule.h"
#include "topo/graph.h"

namespace rondo {

/// rondoVirtualConfig_t after checking.
struct VirtualConfig {
  std::string name = "virtual", output;
  bool ownData = false;
  std::vector<sim::SplitRule> splits;
};

/// What all communicators share that come of one rondoCommInitVirtual.
class RehearsedProgram {
 public:
  RehearsedProgram(topo::Graph graph, int ranks, int rank, VirtualConfig config);

  const VirtualConfig config;
  std::mutex mutex;  ///< Of all that follows.
  sim::Program program;
  size_t splits = 0;    ///< Calls that took a rule of the configuration.
  size_t children = 0;  ///< Names that were made up.
  std::atomic<int> handles{0};

  /// Writes the files. Throws Error.
  void write();
};

class Rehearsed final : public VirtualComm {
 public:
  Rehearsed(std::shared_ptr<RehearsedProgram> all, sim::ProgramComm* comm);
  ~Rehearsed() override;
  Rehearsed(const Rehearsed&) = delete;
  Rehearsed& operator=(const Rehearsed&) = delete;

  void run(const char* call, const HostRequest& request) override;
  void run(const char* call, std::span<const Transfer> transfers) override;
  uint64_t foretell(const HostRequest& request) override;
  uint64_t foretell(std::span<const Transfer> transfers) override;
  const void* clock() const override { return all_.get(); }
  void keepOwn(const OwnBlock& block) override;
  void close() override;

  rondoPrediction_t prediction() const;
  RankPlace place() const;
  const std::string& name() const { return comm_->name(); }

  const std::shared_ptr<RehearsedProgram>& all() const { return all_; }
  sim::ProgramComm* comm() const { return comm_; }

 private:
  std::shared_ptr<RehearsedProgram> all_;
  sim::ProgramComm* comm_;  // `all_` has it
  std::atomic<bool> closed_{false};
};

/// A handle on one of a rehearsal's communicators.
rondoComm_t makeVirtual(std::shared_ptr<RehearsedProgram> all, sim::ProgramComm* comm);

}  // namespace rondo
