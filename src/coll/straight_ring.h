#pragma once
// Rings on device memory whose complete values go straight from dst to dst.

#include <cstdint>

#include "coll/user_memory.h"
#include "kernels/launch.h"

namespace rondo {

/// Says of each call of a ring whether and where its ranks write into each other's dst. Both ranks
/// of a connection know by themselves whether they talk about it (UserMemory::asks(), and the
/// call's length); where dst is, and whether the writer has it mapped, the reader tells its kernel.
class StraightRings {
 public:
  StraightRings(const UserMemory& memory, int rank, int size)
      : memory_(memory), next_((rank + 1) % size), prev_((rank + size - 1) % size) {}

  /// A call of an algorithm that is `straight` in the registry, about to be launched on `stream`.
  StraightRing about(const CallArgs& args, uint64_t count, CUstream_st* stream);

  /// Tests, on all ranks: calls whose dst has at least so many bytes.
  void from(uint64_t bytes) { from_ = bytes; }
  /// Calls so far whose dst was offered to the previous rank.
  uint64_t calls() const { return calls_; }

 private:
  const UserMemory& memory_;
  const int next_;
  const int prev_;
  uint64_t from_ = UserMemory::kAsksFrom;
  uint64_t calls_ = 0;
};

}  // namespace rondo
