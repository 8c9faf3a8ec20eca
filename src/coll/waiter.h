#pragma once
// How a host thread waits for a peer: the one wait loop of the host executor.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

namespace rondo {

enum class RunResult { Ok, Aborted, SpinBound, Mismatch };

/// Decided when the communicator is made.
struct WaitPolicy {
  uint32_t spinsBeforeYield = 2000;  ///< About 50 us of pausing; few where ranks outnumber cores.
  std::function<bool()> aborted;     ///< The communicator's abort word.
  std::function<void()> hook;        ///< Polls MPI; may be empty.
  /// Asked now and then in a wait: whether a peer is in another call than this rank. `late`: the
  /// wait is a long one by the clock, too. May be empty.
  std::function<bool(bool late)> mismatch;
  /// Asked every few milliseconds of a wait, with its length so far: looks for peers that ended,
  /// and for a stall. May be empty.
  std::function<void(std::chrono::steady_clock::duration waited)> watch;
  uint64_t spinBoundMs = 0;  ///< Tests only; 0: a slow rank is legal for ever.
};

/// One call's waiting. A slow rank is legal: only the abort word ends a wait (and, in tests, the
/// spin bound).
class Waiter {
 public:
  explicit Waiter(const WaitPolicy& policy) : policy_(policy) {}

  /// Something arrived: the next wait starts afresh.
  void reset() {
    spins_ = 0;
    since_ = {};
  }

  /// Waits a little. Ok: look again.
  RunResult wait() {
    if (++spins_ < policy_.spinsBeforeYield && (spins_ & 255) != 0) {
      pause();
      return RunResult::Ok;
    }
    return waitLonger();
  }

 private:
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  RunResult waitLonger();
  RunResult lookAround();

  const WaitPolicy& policy_;
  uint32_t spins_ = 0;
  uint32_t rounds_ = 0;
  std::chrono::steady_clock::time_point since_;  // of this wait; none: not known yet
  std::chrono::steady_clock::time_point watchAt_;
};

/// Calls poll(&moved) until it gives a result or the wait is ended. The one wait loop.
template <class Poll>
RunResult waitUntil(const WaitPolicy& policy, const Poll& poll) {
  Waiter waiter(policy);
  for (;;) {
    bool moved = false;
    if (const std::optional<RunResult> end = poll(&moved)) return *end;
    if (moved) {
      waiter.reset();
      continue;
    }
    const RunResult result = waiter.wait();
    if (result != RunResult::Ok) return result;
  }
}

}  // namespace rondo
