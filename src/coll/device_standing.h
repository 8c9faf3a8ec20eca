#pragma once
// Calls whose end the caller waits for, one after the other: the kernel of one stays for a while,
// and the next one is handed to it through host memory instead of being launched.

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

#include "api/rondo_types.h"
#include "kernels/standing_call.h"

namespace rondo {

/// When it is worth while for a kernel to stay: local to a rank, as it may be of any opinion.
class StandingPolicy {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Calls that begin so long before a kernel would leave that had stayed since the end of the one
  /// before (or its beginning, where its end is not known) may find it. So many of them in a row,
  /// and a kernel stays; twice as many after each one that fewer than kGood calls came to, as a
  /// program that waits for its device then waits for that kernel, too, for the time that a dozen
  /// calls gain.
  static constexpr std::chrono::microseconds kMargin{10};
  static constexpr int kLeastInRow = 4;
  static constexpr int kMostInRow = 1 << 14;
  static constexpr int kGood = 12;
  /// Calls that no kernel can stay for take nobody's time but are launched where a caller may have
  /// had a graph: they raise the number, too, but not as far, as calls of another kind may follow.
  static constexpr int kMostAfterMisfits = 64;

  /// Whether the call that begins now is to go that way.
  bool wants(Time now, std::chrono::nanoseconds linger) {
    inRow_ = now - last_ < linger - kMargin ? inRow_ + 1 : 0;
    last_ = now;
    if (inRow_ > kMostInRow) inRow_ = kMostInRow;
    return inRow_ >= needed_;
  }
  void ended(Time now) { last_ = now; }
  /// A kernel stays no longer, to which so many calls came.
  void left(int calls) {
    if (calls >= kGood) {
      needed_ = kLeastInRow;
      return;
    }
    inRow_ = 0;
    if (needed_ < kMostInRow) needed_ *= 2;
  }
  /// A call that was to go that way cannot.
  void misfit() {
    inRow_ = 0;
    if (needed_ < kMostAfterMisfits) needed_ *= 2;
  }

 private:
  Time last_{};
  int inRow_ = 0, needed_ = kLeastInRow;
};

/// How an awaited call went.
enum class Awaited : uint8_t {
  kRuns,
  kDone,
  kOnStream,  ///< As every other: its end is that of its stream.
};

/// What a kernel that can stand is launched with.
struct StandingWork {
  const Kernel* kernel;
  WindowCall window;
  int lanes, threads;
  rondoStream_t stream;
};

/// One communicator's. Calls on it come from one thread at a time. Results are those of `launcher`:
/// a cudaError_t, or 0.
class StandingKernel {
 public:
  using Launch =
      std::function<int(const Kernel&, const StandingCall&, int blocks, int threads, CUstream_st*)>;

  /// `host`, `device`: kStandingDeskBytes of zeroed host memory, by its two addresses.
  StandingKernel(void* host, void* device, Launch launcher)
      : host_(standingDesk(host)), device_(standingDesk(device)), launch_(std::move(launcher)) {}

  /// Whether its numbers fit into an order, and no kernel that may still be there is on another
  /// stream: two at once would take each other's orders.
  bool serves(const StandingWork& work) const;
  /// Hands it to the kernel that stands, or launches one, which stays for `lingerNs`. The one
  /// before has been seen to end.
  int begin(const StandingWork& work, uint64_t lingerNs);
  /// Of the last begin(). A kernel that had ended before it saw the call is launched anew; if that
  /// fails, each look says so.
  int look(Awaited* state);
  /// Whether the last call has not been seen to end.
  bool runs() const { return runs_; }
  rondoStream_t stream() const { return work_.stream; }
  /// Before anything else is enqueued: the call has begun (another kernel comes behind its), and
  /// its kernel stays no longer. False: no answer came for `kMostSilence`.
  bool leave(int* error);
  static constexpr std::chrono::seconds kMostSilence{10};
  /// Threads of one that stands at least, so that calls of somewhat more elements find it, too.
  static constexpr int kLeastThreads = 128;
  /// Calls that a kernel takes at most: others may wait for it to end, by the stream or the device.
  static constexpr int kMostCalls = 256;

  StandingPolicy& policy() { return policy_; }
  /// Calls that were handed to a kernel, those of them whose kernel had gone, and kernels that were
  /// launched.
  uint64_t handedOver() const { return handedOver_; }
  uint64_t late() const { return late_; }
  uint64_t launched() const { return launched_; }

 private:
  int launch();
  void post(uint32_t number, int lane, bool ends) const;
  void end();
  enum class Begun : uint8_t { kNotYet, kYes, kMissed };
  /// Of a call that was handed over.
  Begun begun() const;
  uint64_t answer(int lane) const;
  int again();

  const StandingDesk host_, device_;
  const Launch launch_;
  StandingPolicy policy_;
  StandingWork work_{};
  uint64_t lingerNs_ = 0;
  uint32_t order_ = 0;           ///< Number of the last call, or of the end that came after it.
  uint32_t call_ = 0;            ///< Number of the last call.
  int lanes_ = 0, threads_ = 0;  ///< Of the kernel that stands; 0: none does.
  int came_ = 0;                 ///< Calls that were handed to it.
  bool runs_ = false;
  bool posted_ = false;  ///< The last call was handed over, and may not have been seen.
  int failed_ = 0;       ///< What became of launching its kernel anew.
  uint64_t handedOver_ = 0, late_ = 0, launched_ = 0;
};

}  // namespace rondo
