#pragma once
// All-reduces whose data the copy engines move: every rank's contribution to a block goes to the
// block's owner, a kernel of few blocks reduces them there in the order of ranks, and what it made
// goes to all others.

#include <cstdint>

#include "coll/device_costs.h"
#include "coll/device_runner.h"
#include "coll/side_streams.h"
#include "coll/user_memory.h"
#include "kernels/direct_call.h"

namespace rondo {

/// Calls on it come from one thread at a time, in the device's context. All that return an int
/// return a cudaError_t.
class CopiedReduce {
 public:
  CopiedReduce(const MeetingView& view, const FaultView& fault, int rank, int size);
  CopiedReduce(const CopiedReduce&) = delete;
  CopiedReduce& operator=(const CopiedReduce&) = delete;

  /// Makes what run() needs.
  int prepare() { return sides_.prepare(); }
  /// What it made, as StreamPool::free().
  void free() { sides_.free(); }

  /// Whether the call may be one for them: a long all-reduce of up to kMaxWindowRanks ranks, not of
  /// a sum with scalars, after prepare().
  bool may(const DeviceCall& call) const;
  /// What it takes by them, where a kernel that does all of it takes so long.
  uint64_t time(const DeviceCall& call, const DeviceCosts& costs, uint64_t byKernel) const;
  /// Where it goes then: memory registered as symmetric that every rank reaches; nullptr: not by
  /// them. All ranks say the same, by their promise. Throws as symmetricResult().
  const UserMemory::Entry* into(const DeviceCall& call, const UserMemory& memory) const;

  /// Elements of the block that each rank owns, in the order of ranks. What is left behind the last
  /// one, less than a line a rank, is the caller's.
  uint64_t blockOf(const DeviceCall& call) const;

  /// Enqueues all of it but what is left, not in place. Allowed while its stream captures.
  int run(const DeviceCall& call, const UserMemory::Entry& into);
  /// The same in place, where there is no room for contributions: the last step alone, behind a
  /// kernel that makes this rank's block with all others'.
  int give(const DeviceCall& call, const UserMemory::Entry& into);

  /// Collectives so far.
  uint64_t calls() const { return calls_; }
  /// Tests: they take all that may() allows from so many bytes on.
  void startFrom(uint64_t bytes) {
    from_ = bytes;
    always_ = true;
  }

 private:
  struct Work;
  struct Piece {  // of each block, in bytes
    uint64_t from, bytes;
  };
  Work workOf(const DeviceCall& call, const UserMemory::Entry& into) const;
  int movePiece(const Work& work, const Piece& piece) const;
  int bring(const Work& work, const Piece& piece) const;
  int fold(const Work& work, const Piece& piece) const;
  int give(const Work& work, const Piece& piece) const;
  int meet(const Work& work, bool compare = false) const;

  const MeetingView view_;
  const FaultView fault_;
  const int rank_;
  const int size_;
  uint64_t from_;
  bool always_ = false;
  uint64_t calls_ = 0;
  SideStreams<2> sides_;  ///< Of the copies to the owners, and of those from them.
};

}  // namespace rondo
