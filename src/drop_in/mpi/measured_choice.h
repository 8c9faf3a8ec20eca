#pragma once
// Who is quicker at a collective on this machine, now: Rondo or MPI. The ranks try both in turn, in
// the program's own calls, and agree on what they saw. Only at those which give the same bytes
// whoever does them: movements, and reductions whose last bits are nobody's choice.

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "drop_in/mpi/calls.h"

namespace rondo::drop_in {

/// What the ranks of a communicator know of one collective on blocks of one size class. MPI orders
/// the collectives on a communicator, those of threads too, so that all but the times is the same
/// on all ranks in each call.
class MeasuredChoice {
 public:
  enum Who : uint8_t { kRondo, kMpi };

  // A trial: two runs of each in turn. Half of its calls are the slower one's; where it is clear
  // who is quicker, and nothing changes, the next one is after twice as many calls, at least 512.
  // So a trial of one that takes twice as long costs 3 % of the calls before the next one, and soon
  // 0.1 %. A rank may run ahead of another one by what lies in Rondo's buffers or MPI's; runs of
  // short blocks are long enough to see what comes then: four non-blocking broadcasts of 64 KiB
  // took half as long a call as many (EPYC, 2 ranks without a common cache, 2026-11-23).
  static constexpr uint32_t kRun = 8, kShortsRun = 32, kRuns = 4;
  static constexpr size_t kShort = size_t{256} << 10;  ///< Bytes; blocks under it are short.
  static constexpr uint32_t kTrial = kRuns * kRun;
  /// Calls. A program that makes fewer pays nothing, and Rondo has found its own ways by then.
  static constexpr uint32_t kFirstGap = 64;
  static constexpr uint32_t kLeastGap = 512;
  static constexpr uint32_t kMostGap = 16384;
  /// Who has not got the calls has to take less than this part of the other one's time, in its
  /// longer run and the other one's shorter.
  static constexpr uint64_t kBetterPercent = 95;

  /// Of short blocks. Before the first call.
  void haveLongRuns() { run_ = kShortsRun; }

  /// Who does a call, and in which run of a trial it is timed; kNot: it is not.
  struct Turn {
    static constexpr uint32_t kNot = UINT32_MAX;
    Who who = kRondo;
    uint32_t run = kNot;
    uint32_t trial = 0;  ///< The how-manieth.
    bool timed() const { return run != kNot; }
  };
  /// A trial as a rank saw it, in ticks, or as all did, added up.
  struct Trial {
    uint64_t of[kRuns];
    uint64_t incomplete;  ///< Ranks that did not see the time of every call.
  };

  /// A call begins.
  Turn next() {
    if (calls_ < gap_) [[likely]] {
      ++calls_;
      return {best_};
    }
    const uint32_t at = calls_ - gap_;
    if (at == trial()) return {best_};
    ++calls_;
    if (at == 0) first_ = best_;
    const uint32_t run = at / run_;
    // The first ones of a run find caches, and ranks, as the other one left them.
    return {run % 2 == 0 ? first_ : other(first_), at % run_ < run_ / 2 ? Turn::kNot : run,
            trials_.load(kRelaxed)};
  }
  /// A call begins, if it is MPI's and neither it nor a call before it belongs to a trial: true.
  /// False: none has begun, next() is to be asked.
  bool goesToMpi() {
    if (best_ != kMpi || calls_ >= gap_) return false;
    ++calls_;
    return true;
  }
  /// The same if it is Rondo's.
  bool staysRondos() {
    if (best_ != kRondo || calls_ >= gap_) return false;
    ++calls_;
    return true;
  }
  /// A call that was timed has ended; in time, or the next trial has begun. Any thread.
  void ended(const Turn& turn, uint64_t ticks) {
    if (turn.trial != trials_.load(kRelaxed)) return;
    runs_[turn.run].fetch_add(ticks, kRelaxed);
    samples_.fetch_add(1, kRelaxed);
  }
  /// A trial is over, and the ranks have not met since.
  bool due() const { return calls_ == gap_ + trial(); }
  /// The ranks meet: all of them in the same call. What this one saw.
  Trial seen() {
    Trial mine{};
    for (uint32_t run = 0; run < kRuns; ++run) mine.of[run] = runs_[run].exchange(0, kRelaxed);
    mine.incomplete = samples_.exchange(0, kRelaxed) != trial() / 2;
    return mine;
  }
  /// `all`: what all saw, added up; nullptr: that could not be, and nothing changes. Where times
  /// are missing Rondo is, or becomes, the quicker one.
  void decide(const Trial* all) {
    const Who before = best_;
    bool clear = true;
    if (all != nullptr) best_ = all->incomplete > 0 ? kRondo : quickerOf(*all, &clear);
    // One that was disturbed, or a tie, says little: again soon, but ever more seldom.
    gap_ = best_ != before ? kLeastGap
                           : std::min(clear ? std::max(2 * gap_, kLeastGap) : 2 * gap_, kMostGap);
    calls_ = 0;
    decided_ = true;
    trials_.fetch_add(1, kRelaxed);
  }

  bool decided() const { return decided_; }
  Who best() const { return best_; }
  /// Before it is decided: as `twin` is.
  void follow(const MeasuredChoice& twin) {
    if (!decided_) best_ = twin.best_;
  }

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;
  static Who other(Who who) { return who == kRondo ? kMpi : kRondo; }
  uint32_t trial() const { return kRuns * run_; }
  /// Runs 0 and 2 are those of who has the calls.
  Who quickerOf(const Trial& all, bool* clear) const {
    const auto [least, most] = std::minmax(all.of[0], all.of[2]);
    const auto [othersLeast, othersMost] = std::minmax(all.of[1], all.of[3]);
    const bool changes = othersMost * 100 < least * kBetterPercent;
    *clear = changes || most < othersLeast;
    // Who has them because of a twin has shown nothing yet: the shorter runs, which nothing
    // disturbed, say who is to go on.
    const bool fails = !decided_ && first_ == kMpi && least * 100 >= othersLeast * kBetterPercent;
    return changes || fails ? other(first_) : first_;
  }

  uint32_t run_ = kRun;  ///< Calls in a run.
  uint32_t calls_ = 0;   ///< Since the last trial was decided, to the end of the next one.
  uint32_t gap_ = kFirstGap;
  Who best_ = kRondo, first_ = kRondo;
  bool decided_ = false;
  std::atomic<uint32_t> trials_{0};  ///< Those that are over.
  std::atomic<uint32_t> samples_{0};
  std::array<std::atomic<uint64_t>, kRuns> runs_{};
};

/// All of a communicator's blocking calls, or of its non-blocking ones.
class MeasuredChoices {
 public:
  MeasuredChoices() {
    for (size_t i = 0; i < choices_.size(); ++i) {
      if (i % kClasses <= kShortClasses) choices_[i].haveLongRuns();
    }
  }
  /// `bytes`: of a block, as all ranks know it. A call and its non-blocking twin are alike.
  MeasuredChoice& of(Call call, size_t bytes) {
    const auto width = static_cast<size_t>(std::bit_width(bytes));
    return choices_[kindOf(call) * kClasses + std::min(width, kClasses - 1)];
  }

 private:
  static constexpr size_t kKinds = 12, kClasses = 33;  ///< From 4 GiB on all are of the last one.
  static constexpr size_t kShortClasses = std::bit_width(MeasuredChoice::kShort - 1);

  static constexpr size_t kindOf(Call call) {
    switch (call) {
      case Call::Allgather:
      case Call::Iallgather:
        return 0;
      case Call::Allgatherv:
      case Call::Iallgatherv:
        return 1;
      case Call::Alltoall:
      case Call::Ialltoall:
        return 2;
      case Call::Alltoallv:
      case Call::Ialltoallv:
        return 3;
      case Call::Bcast:
      case Call::Ibcast:
        return 4;
      case Call::Gather:
      case Call::Igather:
        return 5;
      case Call::Gatherv:
      case Call::Igatherv:
        return 6;
      case Call::Scatter:
      case Call::Iscatter:
        return 7;
      case Call::Scatterv:
      case Call::Iscatterv:
        return 8;
      case Call::Exscan:
      case Call::Iexscan:
        return 9;
      case Call::Scan:
      case Call::Iscan:
        return 10;
      default:
        return 11;  // Reduce, Ireduce
    }
  }

  std::array<MeasuredChoice, kKinds * kClasses> choices_{};
};

/// Of a communicator's non-blocking calls. What they took is known when the program has waited, and
/// ranks may wait for each other in a blocking collective only: there they decide.
class LaterChoices {
 public:
  /// Nobody decides here: all are Rondo's.
  void close() { closed_ = true; }
  struct Turn {
    MeasuredChoice* choice;  ///< nullptr: it is not timed.
    MeasuredChoice::Turn turn;
  };
  /// A call begins. `twin`: what is known of the blocking one.
  Turn next(Call call, size_t bytes, const MeasuredChoice& twin) {
    if (closed_) return {nullptr, {MeasuredChoice::kRondo}};
    if (all_ == nullptr) all_ = std::make_shared<MeasuredChoices>();
    MeasuredChoice& choice = all_->of(call, bytes);
    choice.follow(twin);
    const bool before = choice.due();
    const MeasuredChoice::Turn turn = choice.next();
    if (choice.due() && !before) due_.push_back(&choice);
    return {turn.timed() ? &choice : nullptr, turn};
  }
  /// One of a call's, that outlives the communicator.
  std::shared_ptr<MeasuredChoice> share(MeasuredChoice* choice) const { return {all_, choice}; }
  bool due() const { return !due_.empty(); }
  /// By all ranks in the same blocking collective: `meet(MeasuredChoice&)` for those that are due.
  template <class Meet>
  void decide(const Meet& meet) {
    for (MeasuredChoice* const choice : due_) meet(*choice);
    due_.clear();
  }
  /// Who does such calls now, but for those of trials.
  MeasuredChoice::Who best(Call call, size_t bytes, const MeasuredChoice& twin) const {
    if (all_ == nullptr || !all_->of(call, bytes).decided()) return twin.best();
    return all_->of(call, bytes).best();
  }

 private:
  bool closed_ = false;
  std::shared_ptr<MeasuredChoices> all_;
  std::vector<MeasuredChoice*> due_;
};

}  // namespace rondo::drop_in
