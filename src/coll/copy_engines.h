#pragma once
// Collectives that only move bytes, on memory that every rank reaches: left to the copy engines,
// between two small kernels in which all ranks meet.

#include <cstdint>

#include "coll/device_costs.h"
#include "coll/device_runner.h"
#include "coll/side_streams.h"
#include "coll/user_memory.h"
#include "kernels/direct_call.h"

namespace rondo {

class CopyEngines {
 public:
  /// `alone`: nothing of a call but its meetings is to run on multiprocessors, and no call is too
  /// short.
  CopyEngines(const MeetingView& view, const FaultView& fault, int rank, int size, bool alone);
  /// What prepare() made, in the current context, as StreamPool::free().
  void free() { sides_.free(); }
  CopyEngines(const CopyEngines&) = delete;
  CopyEngines& operator=(const CopyEngines&) = delete;

  /// Makes what run() needs; the context is current. Returns a cudaError_t.
  int prepare() { return sides_.prepare(); }

  /// Whether the call is one for them: an all-gather, or an all-to-all that is not in place, of at
  /// least from() bytes in all (alone, and between two ranks, a broadcast too; alone a gather or a
  /// scatter), into memory registered as symmetric that every rank reaches. Then all ranks say so,
  /// by their promise.
  /// Throws Error(rondoInvalidUsage) for memory that was freed since it was registered.
  const UserMemory::Entry* serve(const DeviceCall& call, const UserMemory& memory) const;
  /// What it takes by them.
  uint64_t time(const DeviceCall& call, const DeviceCosts& costs) const;
  /// Enqueues it. Allowed while its stream captures. Returns a cudaError_t.
  int run(const DeviceCall& call, const UserMemory::Entry& into);
  /// Enqueues what tells the others, if they run() this call, that this rank does not: then all of
  /// them learn of it. As run().
  int leave(const DeviceCall& call) const;

  bool alone() const { return alone_; }
  /// Collectives so far.
  uint64_t calls() const { return calls_; }
  /// Tests: they take all that they may from so many bytes on.
  void startFrom(uint64_t bytes) {
    from_ = bytes;
    always_ = true;
  }

 private:
  struct Blocks;
  Blocks blocksOf(const DeviceCall& call, uint64_t slot) const;
  bool moves(const DeviceCall& call) const;
  int copyOwn(void* to, const void* from, uint64_t bytes, CUstream_st* side) const;
  int meet(uint32_t tag, bool compare, CUstream_st* stream) const;

  const MeetingView view_;
  const FaultView fault_;
  const int rank_;
  const int size_;
  const bool alone_;
  uint64_t from_;
  bool always_ = false;
  uint64_t calls_ = 0;
  SideStreams<1> sides_;  ///< Of the copy to this rank itself.
};

}  // namespace rondo
