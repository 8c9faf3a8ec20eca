#pragma once
// Collectives that only move bytes, into windows: stored by a kernel where each rank has them in
// its result, past the staging memory of other kernels.

#include <cstdint>

#include "coll/close_launch.h"
#include "coll/device_costs.h"
#include "coll/device_runner.h"
#include "coll/user_memory.h"
#include "kernels/stores_call.h"

namespace rondo {

class WindowStores {
 public:
  /// `window` and `hello` of LL128, and how many lanes kernels may have there; 0: none.
  WindowStores(const WindowView& window, const HelloView& hello, int lanes, CloseLaunch* close);

  /// Loads the kernels into the current context, before the first call. Returns a cudaError_t.
  int prepare(int ranks);

  /// As CopyEngines::serve(), of windows (MemoryUse::kWindow) and shorter calls.
  const UserMemory::Entry* serve(const DeviceCall& call, const UserMemory& memory, int rank,
                                 int ranks) const;
  /// What it takes.
  uint64_t time(const DeviceCall& call, int ranks, const DeviceCosts& costs) const;
  /// Enqueues it; `args` are of a choice of this one's geometry(). Allowed while its stream
  /// captures. Returns a cudaError_t.
  int run(const DeviceCall& call, const CallArgs& args, const UserMemory::Entry& into);
  algo::Geometry geometry(const DeviceCall& call) const;

  /// Collectives so far.
  uint64_t calls() const { return calls_; }
  /// Tests: they take all that they may from so many bytes on.
  void startFrom(uint64_t bytes) {
    from_ = bytes;
    always_ = true;
  }

 private:
  int lanesFor(uint64_t bytes) const;

  const WindowView window_;
  const HelloView hello_;
  const int lanes_;
  CloseLaunch& close_;
  bool prepared_ = false;
  uint64_t from_;
  bool always_ = false;
  uint64_t calls_ = 0;
};

}  // namespace rondo
