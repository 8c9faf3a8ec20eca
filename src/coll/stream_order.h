#pragma once
// How a runner orders streams: one waits for what is on another by now.

#include <span>

#include "coll/device_runner.h"

namespace rondo {

class CloseLaunch;
class CudaDevice;

/// Calls on it come from one thread at a time, in the device's context. All throw
/// rondoUnhandledCudaError, and name the call `name`.
class StreamOrder {
 public:
  /// `close`: of the kernels on these streams. Nobody is let come behind one that two streams have
  /// something behind: CloseLaunch::forget().
  StreamOrder(const CudaDevice& device, CloseLaunch& close) : device_(device), close_(close) {}
  StreamOrder(const StreamOrder&) = delete;
  StreamOrder& operator=(const StreamOrder&) = delete;

  void make();
  /// What make() made, in the current context, as StreamPool::free(). Not where the context is
  /// gone: the driver does not look before it touches what went with it.
  void free();

  /// What is enqueued on `later` from now on waits for what is on `first`.
  void order(rondoStream_t first, rondoStream_t later) const;
  /// The launch's stream waits for another one of its call, or, after the launch, that one for it.
  void around(const char* name, rondoStream_t launch, rondoStream_t other, bool after) const;
  /// The same for all streams of a launch's calls, which is on that of the first.
  void around(const char* name, std::span<const DeviceCall> calls, bool after) const;

 private:
  int wait(rondoStream_t first, rondoStream_t later) const;

  const CudaDevice& device_;
  CloseLaunch& close_;
  CUevent_st* event_ = nullptr;
};

}  // namespace rondo
