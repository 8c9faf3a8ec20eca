#pragma once
// The one wait loop of all kernels.

#include "kernels/impl/memory.h"
#include "p2p/channel_view.h"

namespace rondo::device {

/// Polls between two looks at the fault words. They are in host memory, a microsecond away, and a
/// wait that works ends long before the first look.
constexpr uint32_t kPollsPerLook = 1024;

/// A wait that takes this long (100 ms) is told to the host, in these units: 2^20 ns.
constexpr uint32_t kLongWait = 96, kLongWaitShift = 20;

__device__ __forceinline__ uint64_t nanoseconds() {
  uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

/// True if the wait that began at `since` (0: not known yet) must end. Tells of one that is long.
__device__ __forceinline__ bool mustGiveUp(const FaultView& fault, uint64_t* since) {
  if (loadRelaxed(&fault.words->abort) != 0 || loadRelaxed(&fault.words->error) != 0) return true;
  const uint64_t now = nanoseconds();
  if (*since == 0) *since = now;
  const uint64_t waited = now - *since;
  if (waited >> kLongWaitShift > kLongWait) {
    storeRelaxed(&fault.words->waited, static_cast<uint32_t>(waited >> kLongWaitShift));
  }
  return fault.boundNs != 0 && waited > fault.boundNs;
}

/// Polls until ready(); false if the wait was given up, which the host then sees. Where threads
/// wait together, ready() and any(giving up) say the same to all of them.
template <class Ready, class Any>
__device__ __forceinline__ bool waitUntil(const FaultView& fault, Ready ready, Any any) {
  uint64_t since = 0;
  for (uint32_t polls = 1; !ready(); ++polls) {
    if (polls % kPollsPerLook == 0 && any(mustGiveUp(fault, &since))) {
      storeRelaxed(&fault.words->error, 1u);
      return false;
    }
  }
  return true;
}
template <class Ready>
__device__ __forceinline__ bool waitUntil(const FaultView& fault, Ready ready) {
  return waitUntil(fault, ready, [](bool mine) { return mine; });
}

}  // namespace rondo::device
