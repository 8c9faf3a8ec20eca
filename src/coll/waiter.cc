#include "coll/waiter.h"

#include <sched.h>

namespace rondo {
namespace {

constexpr std::chrono::milliseconds kWatchEvery{10};

}  // namespace

RunResult Waiter::waitLonger() {
  if (policy_.aborted()) return RunResult::Aborted;
  if (spins_ >= policy_.spinsBeforeYield) {
    spins_ = policy_.spinsBeforeYield;
    sched_yield();
  }
  // Every eighth time: polling MPI costs some 100 ns, a yield without another runnable thread as
  // much.
  if ((++rounds_ & 7) != 0) return RunResult::Ok;
  if (policy_.hook) policy_.hook();
  if ((rounds_ & 1023) == 0 && policy_.mismatch && policy_.mismatch(false))
    return RunResult::Mismatch;
  return policy_.watch || policy_.spinBoundMs != 0 ? lookAround() : RunResult::Ok;
}

/// By the clock and not by rounds: on a crowded host a yield may take milliseconds.
RunResult Waiter::lookAround() {
  const auto now = std::chrono::steady_clock::now();
  if (since_ == std::chrono::steady_clock::time_point{}) {
    since_ = now;
    watchAt_ = now + kWatchEvery;
  }
  if (policy_.spinBoundMs != 0 && now - since_ > std::chrono::milliseconds(policy_.spinBoundMs)) {
    return RunResult::SpinBound;
  }
  if (policy_.watch && now >= watchAt_) {
    watchAt_ = now + kWatchEvery;
    policy_.watch(now - since_);
    // On a crowded host a thousand rounds are many seconds.
    if (policy_.mismatch && policy_.mismatch(true)) return RunResult::Mismatch;
  }
  return RunResult::Ok;
}

}  // namespace rondo
