#pragma once
// Long calls round a ring that go from result to result instead of through slots.

#include <cstdint>

#include "coll/device_planner.h"
#include "coll/device_runner.h"
#include "coll/user_memory.h"
#include "kernels/launch.h"

namespace rondo {

/// Bytes of the longest block of a ring's lane.
inline uint64_t blockBytes(const CallArgs& args) {
  const Cut& cut = args.cut;
  return (cut.fullPeriods > 0 ? cut.chunk : cut.lastBlock) * args.elementBytes;
}

class StraightRings {
 public:
  StraightRings(const UserMemory& memory, int rank, int size);

  /// What a ring's kernel is told of it. Whether it asks is the same on all ranks: no memory enters
  /// that. Allowed while the call's stream captures.
  StraightRing about(const DeviceCall& call, const CallArgs& args, const DeviceChoice& choice);

  /// Calls so far, but for those of graphs, of which the previous rank was told where they go.
  uint64_t calls() const { return calls_; }
  /// For tests: asks for blocks of ranks that are so long, whatever the planner says.
  void startFrom(uint64_t bytes) { from_ = bytes; }

 private:
  uint64_t placeOf(const DeviceCall& call, const CallArgs& args, uint64_t bytes) const;

  const UserMemory& memory_;
  const int prev_;
  const int next_;
  uint64_t from_ = 0;
  uint64_t calls_ = 0;
};

}  // namespace rondo
