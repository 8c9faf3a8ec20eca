#pragma once
// The one wait loop of all kernels.

#include "kernels/impl/memory.h"
#include "kernels/launching.h"
#include "p2p/channel_view.h"

namespace rondo::device {

/// Polls between two looks at whether the wait must end. A wait that works ends long before the
/// first.
constexpr uint32_t kPollsPerLook = 1024;

/// How often somebody looks at the fault words. They are in host memory, which serves loads of one
/// line one after the other: the 672 warps of a ring that wait took 1.5 ms for a look of each, and
/// ranks that waited for ranks that looked began to look themselves, so that broadcasts of 64 MiB
/// took 4.7 ms instead of 0.21 once any wait had been long (4 x H200, 2026-11).
constexpr uint64_t kBetweenLooksNs = 20000;

/// A wait that takes this long (100 ms) is told to the host, in these units: 2^20 ns.
constexpr uint32_t kLongWait = 96, kLongWaitShift = 20;

/// First of all in a kernel: `close` as CallArgs has it.
__device__ __forceinline__ void followClosely(int32_t close) {
#if __CUDA_ARCH__ >= 900
  if ((close & kFollows) != 0) asm volatile("griddepcontrol.wait;" ::: "memory");
  if ((close & kLets) != 0) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

__device__ __forceinline__ uint64_t nanoseconds() {
  uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

/// Whether this thread is the one to look at the fault words now.
__device__ __forceinline__ bool itsTurn(FaultLook* look, uint64_t now) {
  if (static_cast<int>(threadIdx.x % 32) != __ffs(static_cast<int>(__activemask())) - 1)
    return false;
  auto* const word = reinterpret_cast<unsigned long long*>(&look->next);
  const unsigned long long next = loadRelaxed(word);
  // Also if the clock has been set back.
  const bool due = next - now - 1 >= kBetweenLooksNs;
  return due && atomicCAS(word, next, now + kBetweenLooksNs) == next;
}

/// True if the wait that began at `since` (0: not known yet) must end. Tells of one that is long.
__device__ __forceinline__ bool mustGiveUp(const FaultView& fault, uint64_t* since) {
  if (loadRelaxed(&fault.look->stop) != 0) return true;
  const uint64_t now = nanoseconds();
  if (*since == 0) *since = now;
  const uint64_t waited = now - *since;
  if (itsTurn(fault.look, now)) {
    if (loadRelaxed(&fault.words->abort) != 0 || loadRelaxed(&fault.words->error) != 0) {
      storeRelaxed(&fault.look->stop, 1u);
      return true;
    }
    if (waited >> kLongWaitShift > kLongWait) {
      storeRelaxed(&fault.words->waited, static_cast<uint32_t>(waited >> kLongWaitShift));
    }
  }
  return fault.boundNs != 0 && waited > fault.boundNs;
}

/// The host is to see that a wait was given up, unless it sees already why waits are, and so are
/// this rank's kernels behind this one.
__device__ __forceinline__ void noteGivenUp(const FaultView& fault) {
  storeRelaxed(&fault.look->stop, 1u);
  if (loadRelaxed(&fault.words->error) == 0) storeRelaxed(&fault.words->error, 1u);
}

/// Polls until ready(); false if the wait was given up, which the host then sees. Where threads
/// wait together, ready() and any(giving up) say the same to all of them.
template <class Ready, class Any>
__device__ __forceinline__ bool waitUntil(const FaultView& fault, Ready ready, Any any) {
  uint64_t since = 0;
  for (uint32_t polls = 1; !ready(); ++polls) {
    if (polls % kPollsPerLook == 0 && any(mustGiveUp(fault, &since))) {
      noteGivenUp(fault);
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
