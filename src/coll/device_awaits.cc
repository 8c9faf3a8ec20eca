#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include "coll/device_awaits.h"

#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "coll/device_error.h"
#include "kernels/launch.h"

namespace rondo {
namespace {

/// Between two questions to the driver, which take a microsecond.
constexpr uint64_t kAsksPerQuestion = 1 << 14;

}  // namespace

DeviceAwaits::DeviceAwaits(const CudaDevice& device, const DeviceFaults& faults,
                           const ShownRank& shown)
    : device_(device),
      shown_(shown),
      standing_(faults.hostDesk(), faults.deviceDesk(),
                [&device](const Kernel& kernel, const StandingCall& call, int blocks, int threads,
                          CUstream_st* stream) {
                  const ContextScope scope(device.context());
                  return launchStanding(kernel, call, blocks, threads, stream);
                }) {}

bool DeviceAwaits::next(std::chrono::nanoseconds linger) {
  onStream_ = true;
  lingerNs_ = 0;
  if (standing_.runs() || linger.count() == 0) {
    leave();
    return false;
  }
  const bool wanted = standing_.policy().wants(std::chrono::steady_clock::now(), linger);
  lingerNs_ = wanted ? static_cast<uint64_t>(linger.count()) : 0;
  if (!wanted) leave();
  return lingerNs_ != 0;
}

Awaited DeviceAwaits::awaited() {
  lingerNs_ = 0;  // the call that was announced has not come here
  if (onStream_) return Awaited::kOnStream;
  Awaited state = Awaited::kRuns;
  // A context that is lost says so where it is asked; its kernel says nothing.
  if (++asked_ % kAsksPerQuestion == 0) {
    if (const int error = streamError(standing_.stream()); error != 0)
      throwCuda(device_, "waiting for a kernel", error);
  }
  throwLate(standing_.look(&state));
  return state;
}

uint64_t DeviceAwaits::takeLinger() { return std::exchange(lingerNs_, 0); }

bool DeviceAwaits::begin(const StandingWork& work, uint64_t lingerNs, int* error) {
  if (!standing_.serves(work)) {
    fails();
    return false;
  }
  *error = standing_.begin(work, lingerNs);
  onStream_ = *error != 0;
  return true;
}

void DeviceAwaits::leave() {
  int error = 0;
  if (!standing_.leave(&error)) {
    throw Error(rondoUnhandledCudaError,
                format("the kernel of rank %d of %d that waits for calls has not answered for %lld "
                       "s; allowed: a GPU that runs",
                       shown_.rank, shown_.size,
                       static_cast<long long>(StandingKernel::kMostSilence.count())));
  }
  throwLate(error);
}

void DeviceAwaits::say() const {
  if (standing_.launched() == 0) return;
  logLine(LogPart::Device, LogLevel::Info, shown_.rank, [&] {
    return format("%llu kernels stayed for further calls: %llu came in time, %llu too late",
                  static_cast<unsigned long long>(standing_.launched()),
                  static_cast<unsigned long long>(standing_.handedOver()),
                  static_cast<unsigned long long>(standing_.late()));
  });
}

void DeviceAwaits::throwLate(int error) const {
  if (error == 0) [[likely]]
    return;
  throwCuda(device_, "launching a kernel anew that ended before its next call", error);
}

}  // namespace rondo

#endif  // HAVE_CUDA
