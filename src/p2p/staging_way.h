#pragma once
// How a long message is written into staging: through the writer's caches or past them, and if
// through them, into a narrow area that stays in the caches or into a wide one that does not.
//
// Lines that the reader has read before have to be taken from it again. Threads of one core do so
// quickly. Cores that share a last cache take long for it while the reader's own cache holds the
// line; in an area longer than that it has been given up by then. Cores that share no cache write
// past the caches in a sixth of the time, but what was written so is read more slowly. Which of the
// three holds is found out while messages flow, because it changes: threads move, and so do the
// cores of a virtual machine.

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace rondo {

/// Shorter messages go through the caches, and nothing is learnt from them. One way, past the
/// caches against through them, between cores that share none: 1 KiB 1.1 against 1.5 us, 4 KiB 2.1
/// against 3.3, 32 KiB 8.4 against 20 (two cores of an EPYC, family 25, 2026-11-22).
constexpr size_t kLeastPast = 4096;
/// Shorter messages gain little in a wide area: all-reduce of 4 KiB 0.73 us either way.
constexpr size_t kLeastWide = 8192;

/// What one channel's writer knows of the ways.
class StagingWay {
 public:
  // A way through the caches is as good as the lines that it meets, so it is tried for as long as
  // it takes to meet those that it would always meet, and judged by what comes then.
  static constexpr int64_t kNarrowRound = 128 << 10;  ///< Bytes: the area, twice.
  static constexpr int64_t kJudged = 256 << 10;       ///< Bytes.
  /// Bytes between such trials. One of a wide area of 1.5 MiB costs some 0.5 MiB's time more than
  /// the better way: 0.8 % of the least distance, which holds after a change, 0.2 % of the most.
  static constexpr int64_t kFirstTrial = 4 << 20;
  static constexpr int64_t kLeastApart = 64 << 20;
  static constexpr int64_t kMostApart = 256 << 20;

  /// Decides how the next message is to be written. Now and then a way that is not the best one,
  /// so that what it costs by now is known. `wideBytes`: of the wide area; 0: it is not for
  /// this message.
  void choose(uint64_t wideBytes) {
    begins_ = true;
    wideThere_ = wideBytes > 0;
    if (wideThere_) wideBytes_ = static_cast<int64_t>(wideBytes);
    if (trial_ > 0) {
      way_ = rival();
    } else {
      const bool tries = written_ % (written_ < 256 ? 64 : 256) == 8;
      way_ = !tries ? best_ : best_ == kPast ? kNarrow : kPast;
    }
    if (way_ == kWide && !wideThere_) way_ = kNarrow;
  }
  bool past() const { return way_ == kPast; }
  bool wide() const { return way_ == kWide; }

  /// Writing `bytes` bytes, a message or a part of it, as chosen took `ticks`.
  void learn(uint64_t ticks, size_t bytes) {
    const double now = static_cast<double>(ticks) / static_cast<double>(bytes);
    if (begins_) ++written_;
    begins_ = false;
    untilTrial_ -= static_cast<int64_t>(bytes);
    if (trial_ > 0 && way_ == rival()) return learnOfRival(now, static_cast<int64_t>(bytes));
    // A single message in the narrow area finds it as no reader has it.
    if (best_ == kWide && way_ == kNarrow) return;
    if (way_ == best_ && cold_ > 0) {
      cold_ -= static_cast<int64_t>(bytes);
      return;
    }
    adapt(cost_[way_], now);
    if (way_ == best_ && best_ != kPast) watchBest(static_cast<int64_t>(bytes));
    judge(false);
    if (untilTrial_ <= 0 && trial_ <= 0 && wideThere_ && best_ != kPast) beginTrial();
  }

 private:
  enum Way { kNarrow, kPast, kWide };

  Way rival() const { return best_ == kWide ? kNarrow : kWide; }
  int64_t roundOf(Way way) const {
    return way == kWide ? wideBytes_ : way == kNarrow ? kNarrowRound : 0;
  }

  /// What is longer may have been disturbed; what is shorter has not.
  static void adapt(double& cost, double now) {
    cost =
        cost == 0 ? now : cost + (now < cost ? (now - cost) / 4 : std::min(now - cost, cost) / 8);
  }

  void beginTrial() {
    trial_ = roundOf(rival()) + kJudged;
    trialCost_ = 0;
  }

  void learnOfRival(double now, int64_t bytes) {
    if (trial_ <= kJudged) adapt(trialCost_, now);
    trial_ -= bytes;
    if (trial_ > 0) return;
    cost_[rival()] = trialCost_;
    const Way before = best_;
    judge(true);
    const bool stays = best_ == before;
    cold_ = stays ? roundOf(best_) : 0;
    untilTrial_ = apart_ = stays ? std::min(2 * apart_, kMostApart) : kLeastApart;
  }

  /// Where the way in use has come to cost much more or less than it did, and goes on so, the
  /// machine has changed: what was learnt of the others before holds no more.
  void watchBest(int64_t bytes) {
    if (++known_ == kSettled) before_ = cost_[best_];
    const bool alike = cost_[best_] < 2 * before_ && before_ < 2 * cost_[best_];
    off_ = known_ <= kSettled || alike ? 0 : off_ + bytes;
    const bool dear = best_ == kWide && cost_[kWide] > 0.7 * cost_[kNarrow] && cost_[kNarrow] != 0;
    dear_ = dear ? dear_ + bytes : 0;
    if (off_ < kLasting) return;
    for (const Way way : {kNarrow, kPast, kWide}) {
      if (way != best_) cost_[way] = 0;
    }
    known_ = 0;
    off_ = dear_ = 0;
    written_ = 256;
    untilTrial_ -= apart_ - kLeastApart;
    apart_ = kLeastApart;
  }

  void judge(bool tried) {
    // A wide area takes room in the caches from the caller's data; what has gone past the caches
    // the reader has to fetch from memory: so they have to be cheaper by far. What a wide area cost
    // long ago is no reason to turn to it.
    const double narrow = cost_[kNarrow], wide = cost_[kWide];
    const bool stays = best_ == kWide && (tried ? wide < 0.7 * narrow : dear_ < kLasting);
    const Way through = stays || (tried && wide != 0 && wide < 0.5 * narrow) ? kWide : kNarrow;
    if (cost_[through] == 0) return;
    // Between a fifth and a third either state of cores that are not threads of one core is
    // possible: only where a wide area is out of the question is it past the caches.
    const bool ruledOut = !wideThere_ || (wide != 0 && wide > 0.5 * narrow);
    const double least = best_ == kPast ? 0.4 : ruledOut ? 0.3 : 0.2;
    const bool past = cost_[kPast] != 0 && cost_[kPast] < cost_[through] * least;
    const Way now = past ? kPast : through;
    if (now == best_) return;
    known_ = 0;
    off_ = dear_ = 0;
    best_ = now;
    // What the narrow area costs was learnt by single tries, which find it as no reader has it.
    if (best_ == kNarrow) untilTrial_ = std::max(untilTrial_, kLasting);
  }

  static constexpr int kSettled = 32;  // pieces
  /// Bytes. After a pause all that a way meets is out of the caches, a wide area for a round.
  static constexpr int64_t kLasting = 4 << 20;

  uint64_t written_ = 0;  // messages
  bool begins_ = false;   // nothing was learnt from the message at hand
  bool wideThere_ = false;
  int64_t wideBytes_ = 0;
  double cost_[3] = {};  // ticks a byte; 0: not known
  double trialCost_ = 0;
  double before_ = 0;  // the best way's cost when it had settled
  int known_ = 0;      // pieces written the best way since it is the best, or since a change
  // Bytes, the last ones, throughout which the best way's cost was another than before, and the
  // wide area's too near the narrow one's.
  int64_t off_ = 0, dear_ = 0;
  int64_t trial_ = 0;  // bytes of the trial at hand that are left
  // Bytes until the best way meets what it always meets; the first ones meet pages nobody touched.
  int64_t cold_ = kNarrowRound;
  int64_t untilTrial_ = kFirstTrial;  // bytes
  int64_t apart_ = kLeastApart / 2;
  Way best_ = kNarrow;
  Way way_ = kNarrow;  // of the message at hand
};

}  // namespace rondo
