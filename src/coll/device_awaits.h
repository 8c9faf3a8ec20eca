#pragma once
// A runner's calls whose end the caller waits for: which of them a kernel that stands is to have.

#include <chrono>
#include <cstdint>

#include "coll/device_faults.h"
#include "coll/device_standing.h"

namespace rondo {

class CudaDevice;

/// Calls on it come from one thread at a time. next(), awaited() and leave() throw
/// rondoUnhandledCudaError.
class DeviceAwaits {
 public:
  DeviceAwaits(const CudaDevice& device, const DeviceFaults& faults, const ShownRank& shown);

  /// See DeviceRunner::awaitNext() and awaited().
  bool next(std::chrono::nanoseconds linger);
  Awaited awaited();
  /// Of a call that begins: for how long its kernel may stay; 0: it is as any other. What was
  /// announced holds for one call.
  uint64_t takeLinger();
  /// A call that was to be one cannot.
  void fails() { standing_.policy().misfit(); }
  /// Has the kernel that stands do it, or launches one: *error is what became of that, a
  /// cudaError_t. False: it cannot.
  bool begin(const StandingWork& work, uint64_t lingerNs, int* error);
  /// Before anything else is enqueued: other kernels come behind the one that stands, and need not
  /// wait for it any longer.
  void leave();

  uint64_t handedOver() const { return standing_.handedOver(); }
  /// As the communicator ends: a line of the log, if there were any.
  void say() const;

 private:
  void throwLate(int error) const;

  const CudaDevice& device_;
  const ShownRank shown_;
  StandingKernel standing_;
  uint64_t lingerNs_ = 0;  ///< Of the next call.
  uint64_t asked_ = 0;     ///< How often awaited() was.
  bool onStream_ = true;   ///< The last call.
};

}  // namespace rondo
