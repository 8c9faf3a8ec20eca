#pragma once
// Who is quicker at a movement on this machine, now: Rondo or MPI. The ranks try both in turn, in
// the program's own calls, and agree on what they saw. Only movements: they give the same bytes
// whoever does them, while a reduction's last bits are its algorithm's.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "drop_in/mpi/calls.h"

namespace rondo::drop_in {

/// What the ranks of a communicator know of one collective on blocks of one size class. MPI orders
/// the blocking collectives on a communicator, those of threads too, so that all but the times is
/// the same on all ranks in each call.
class MeasuredChoice {
 public:
  enum Who : uint8_t { kRondo, kMpi };
  struct Times {
    uint64_t of[2];  ///< By Who, in ticks.
  };

  /// A call begins: who does it. `sum(Times*)` adds up the times of all ranks, which all call it in
  /// the same call, and says whether it could.
  template <class Sum>
  Who next(const Sum& sum) {
    now_ = best_;
    if (calls_++ < gap_) [[likely]]
      return now_;
    const uint32_t at = calls_ - 1 - gap_;
    if (at == kTrial) {
      decide(sum);
      return now_ = best_;
    }
    place_ = at % kRun;
    timed_ = true;
    return now_ = (at / kRun) % 2 == 0 ? best_ : other(best_);
  }

  /// Whether ended() wants to know how long the call took.
  bool timed() const { return timed_; }
  void ended(uint64_t ticks) {
    timed_ = false;
    // The first ones of a run find caches, and ranks, as the other one left them.
    if (place_ >= kRun / 2) run_ += ticks;
    if (place_ + 1 < kRun) return;
    uint64_t& kept = runs_.of[now_];
    kept = kept == 0 ? run_ : now_ == kMpi ? std::max(kept, run_) : std::min(kept, run_);
    run_ = 0;
  }

  // A trial: two runs of each in turn. Half of its calls are the slower one's; where nothing
  // changes the next one is after twice as many calls. So a trial of one that takes twice as long
  // costs 3 % of the calls before the next one, and soon 0.1 %.
  static constexpr uint32_t kRun = 8;
  static constexpr uint32_t kTrial = 4 * kRun;
  /// Calls. A program that makes fewer pays nothing, and Rondo has found its own ways by then.
  static constexpr uint32_t kFirstGap = 64;
  static constexpr uint32_t kLeastGap = 512;
  static constexpr uint32_t kMostGap = 16384;
  /// MPI has to take less than this part of Rondo's time, in its longer run and Rondo's shorter.
  static constexpr uint64_t kBetterPercent = 95;

 private:
  static Who other(Who who) { return who == kRondo ? kMpi : kRondo; }

  template <class Sum>
  void decide(const Sum& sum) {
    calls_ = 1;
    Times all = runs_;
    runs_ = {};
    Who quicker = best_;
    if (sum(&all)) quicker = all.of[kMpi] * 100 < all.of[kRondo] * kBetterPercent ? kMpi : kRondo;
    gap_ = quicker != best_ ? kLeastGap : std::min(std::max(2 * gap_, kLeastGap), kMostGap);
    best_ = quicker;
  }

  uint32_t calls_ = 0;  ///< Since the last trial.
  uint32_t gap_ = kFirstGap;
  uint32_t place_ = 0;  ///< In the run at hand.
  Who best_ = kRondo, now_ = kRondo;
  bool timed_ = false;
  uint64_t run_ = 0;
  Times runs_{};  ///< Rondo's shorter run and MPI's longer one.
};

/// All of a communicator.
class MeasuredChoices {
 public:
  /// `bytes`: of a block, as all ranks know it.
  MeasuredChoice& of(Call call, size_t bytes) {
    const auto width = static_cast<size_t>(std::bit_width(bytes));
    return choices_[kindOf(call) * kClasses + std::min(width, kClasses - 1)];
  }

 private:
  static constexpr size_t kKinds = 9, kClasses = 33;  ///< From 4 GiB on all are of the last one.

  static constexpr size_t kindOf(Call call) {
    switch (call) {
      case Call::Allgather:
        return 0;
      case Call::Allgatherv:
        return 1;
      case Call::Alltoall:
        return 2;
      case Call::Alltoallv:
        return 3;
      case Call::Bcast:
        return 4;
      case Call::Gather:
        return 5;
      case Call::Gatherv:
        return 6;
      case Call::Scatter:
        return 7;
      default:
        return 8;  // Scatterv
    }
  }

  std::array<MeasuredChoice, kKinds * kClasses> choices_{};
};

}  // namespace rondo::drop_in
