#pragma once
// The calls of a communicator that copy engines have: which ones those are, and what kernels do of
// them.

#include <cstdint>
#include <vector>

#include "coll/copied_reduce.h"
#include "coll/copy_engines.h"
#include "coll/device_planner.h"
#include "coll/device_runner.h"
#include "coll/user_memory.h"
#include "p2p/cuda_device.h"

namespace rondo {

/// Calls on it come from one thread at a time, in the device's context.
class DeviceCopies {
 public:
  /// What the communicator's kernels do. Both throw as DeviceRunner::run() does.
  class Kernels {
   public:
    virtual ~Kernels() = default;
    /// What a call takes by them, in picoseconds.
    virtual uint64_t timeByKernel(const DeviceRequest& request) = 0;
    virtual void runByKernel(const DeviceCall& call) = 0;
  };

  /// What calls are decided by; all of it outlives this.
  struct Known {
    const CudaDevice& device;
    const UserMemory& memory;
    const DeviceFacts& facts;
    const std::vector<TuneRule>& tune;
    Kernels& kernels;
  };
  /// `alone`: nothing of what only moves bytes is to run on multiprocessors.
  DeviceCopies(const MeetingView& meeting, const FaultView& fault, int rank, const Known& known,
               bool alone);

  /// Makes what calls need, for memory is about to be registered. Returns a cudaError_t.
  int prepare();
  /// All ranks have.
  void prepared() { prepared_ = true; }
  /// What it made, as StreamPool::free().
  void free();

  bool alone() const { return engines_.alone(); }
  /// Whether serve() is to be asked about gathers and scatters; the same on all ranks. Which way
  /// they go depends on where they go on every rank, as not all of it is in the call.
  bool servesRooted() const { return alone() && prepared_; }

  /// Enqueues the call if copy engines have it; otherwise false. Allowed while its stream captures.
  /// Of gathers and scatters ranks learn whether all say the same (the next call of any rank
  /// throws Error(rondoMismatch) otherwise). Throws as DeviceRunner::run() does.
  bool serve(const DeviceCall& call);

  /// Collectives so far.
  uint64_t calls() const { return engines_.calls() + reduce_.calls(); }
  /// Tests: they take all that they may from so many bytes on.
  void startFrom(uint64_t bytes) {
    engines_.startFrom(bytes);
    reduce_.startFrom(bytes);
  }

 private:
  const UserMemory::Entry* movedInto(const DeviceCall& call);
  const UserMemory::Entry* reducedInto(const DeviceCall& call);
  DeviceCall ownBlock(const DeviceCall& call) const;
  void reduce(const DeviceCall& call, const UserMemory::Entry& into);
  void enqueued(const DeviceCall& call, int error) const;

  const Known known_;
  const int rank_;
  const int size_;
  CopyEngines engines_;
  CopiedReduce reduce_;
  bool prepared_ = false;
};

}  // namespace rondo
