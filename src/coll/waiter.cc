#include "coll/waiter.h"

#include <sched.h>

namespace rondo {

RunResult Waiter::waitLonger() {
  if (policy_.aborted()) return RunResult::Aborted;
  if (spins_ >= policy_.spinsBeforeYield) {
    spins_ = policy_.spinsBeforeYield;
    sched_yield();
  }
  // Every eighth time: polling MPI costs some 100 ns, a yield without another runnable thread as
  // much.
  if ((++rounds_ & 7) == 0) {
    if (policy_.hook) policy_.hook();
    if ((rounds_ & 1023) == 0 && policy_.mismatch && policy_.mismatch()) {
      return RunResult::Mismatch;
    }
    if (policy_.spinBoundMs != 0) {
      const auto now = std::chrono::steady_clock::now();
      if (rounds_ == 8) since_ = now;
      if (now - since_ > std::chrono::milliseconds(policy_.spinBoundMs))
        return RunResult::SpinBound;
    }
  }
  return RunResult::Ok;
}

}  // namespace rondo
