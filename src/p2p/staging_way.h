#pragma once
// How a long message is written into staging: through the writer's caches or past them, and if
// through them, into a narrow area that stays in the caches or into a wide one that does not.
//
// Lines that the reader has read before have to be taken from it again. Threads of one core do so
// quickly. Cores that share a last cache take long for it while the reader's own cache holds the
// line; in an area longer than that it has been given up by then. Cores that share no cache write
// past the caches in a sixth of the time, but what was written so is read more slowly. Which of the
// three holds is found out while messages flow, because it changes: threads move, and so do the
// cores of a virtual machine. What the copies cost the writer tells the first two apart; the third
// one it does not, because there is little to tell between a fifth and a quarter, while the reader
// takes twice as long. A line that the reader has just written does: it comes in 50 to 105 ticks
// where a last cache is shared and in 360 to 400 where none is (2 cores of an EPYC, family 25).

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace rondo {

/// Shorter messages go through the caches, and nothing is learnt from them. One way, past the
/// caches against through them, between cores that share none: 1 KiB 1.1 against 1.5 us, 4 KiB 2.1
/// against 3.3, 32 KiB 8.4 against 20 (two cores of an EPYC, family 25, 2026-11-22).
constexpr size_t kLeastPast = 4096;
/// Shorter messages stay in the narrow area. On cores that share the last cache only, 4 KiB there
/// and in a wide area: all-to-all 0.91 and 0.60 us, gather 0.65 and 0.56, scatter 0.75 and 0.75
/// (EPYC, family 25, 2026-11-22).
constexpr size_t kLeastWide = 4096;

/// What one channel's writer knows of the ways.
class StagingWay {
 public:
  // A way through the caches is as good as the lines that it meets, so it is tried for as long as
  // it takes to meet those that it would always meet, and judged by what comes then.
  static constexpr int64_t kNarrowRound = 128 << 10;  ///< Bytes: the area, twice.
  static constexpr int64_t kJudged = 256 << 10;       ///< Bytes.
  /// Bytes between such trials. One of a wide area of 1.5 MiB costs some 0.5 MiB's time more than
  /// the better way: 0.8 % of the least distance, which holds after a change, 0.2 % of the most.
  /// From past the caches it is some 5 MiB's, where no cache is shared after all. Where one is for
  /// certain, all distances from the first one on, twice as long each time: the first trials find
  /// cold lines.
  static constexpr int64_t kFirstTrial = 2 << 20;
  static constexpr int64_t kLeastApart = 64 << 20;
  static constexpr int64_t kMostApart = 256 << 20;

  /// Decides how the next message is to be written. Now and then a way that is not the best one,
  /// so that what it costs by now is known. `wideBytes`: of the wide area; 0: it is not for
  /// this message.
  void choose(uint64_t wideBytes) {
    wideThere_ = wideBytes > 0;
    if (wideThere_) wideBytes_ = static_cast<int64_t>(wideBytes);
    if (keepsInCaches() && !begun_) [[unlikely]]
      begin();
    way_ = next_ != kWide || wideThere_ ? next_ : best_ == kPast ? kPast : kNarrow;
  }
  bool past() const { return way_ == kPast; }
  bool wide() const { return way_ == kWide; }

  /// A line that the reader had written since it was last looked at took `ticks` to come. Where
  /// nobody says so, costs decide alone.
  void heard(uint64_t ticks) {
    if (ticks < kLeastHeard) {
      if (++unheard_ >= kForgotten) line_ = 0;
      return;
    }
    unheard_ = 0;
    const bool wasNear = near();
    const auto now = static_cast<double>(std::min(ticks, kMostHeard));
    line_ = line_ == 0 ? now : line_ + (now - line_) / 8;
    if (near() == wasNear) return;
    begun_ = false;  // a wide area, where it has come near
    if (!near() && best_ == kWide) turnTo(kNarrow);
  }

  /// Writing `bytes` bytes, the message or a part of it, as chosen took `ticks`.
  void learn(uint64_t ticks, size_t bytes) {
    ticks_ += ticks;
    bytes_ += bytes;
  }

  /// The message is the reader's: what was learnt is weighed while nobody waits for it.
  void posted() {
    if (bytes_ == 0) return;
    ++written_;
    // Once a way is known, its messages are weighed by eights; a try comes behind such eight.
    if (known_ > kSettled && way_ == best_ && trial_ <= 0 && (written_ & 7) != 0) return;
    const double now = static_cast<double>(ticks_) / static_cast<double>(bytes_);
    const auto bytes = static_cast<int64_t>(bytes_);
    ticks_ = bytes_ = 0;
    sinceTrial_ += bytes;
    weigh(now, bytes);
    const bool tries = (written_ & (written_ < 256 ? 63 : 255)) == 8 && !keepsInCaches();
    next_ = trial_ > 0 ? rival() : !tries ? best_ : best_ == kPast ? kNarrow : kPast;
  }

 private:
  enum Way { kNarrow, kPast, kWide };
  static constexpr Way kWays[] = {kNarrow, kPast, kWide};

  /// Whether what is known says to turn from one way to another. The reader pays too: what went
  /// past the caches it fetches from memory, and a wide area takes room in its caches from the
  /// caller's data. Ticks a byte of the narrow area, past the caches and of the wide area on cores
  /// that share the last cache: 0.24, 0.06 and 0.10, where a call takes 11.4, 9.1 and 7.0 us (64
  /// KiB of all-reduce); on cores that share none 1.1, 0.2 to 0.27 and 1.0, 40, 11 and 29 us (64
  /// KiB of all-gather; EPYC, family 25, 2026-11-22). No three of these lead in a circle.
  bool leads(Way from, Way to) const {
    if (to == kPast && keepsInCaches()) return false;
    constexpr double kMost[3][3] = {{0, 0.3, 0.6}, {2, 0, 1.7}, {1.18, 0.5, 0}};
    double most = kMost[from][to];
    if (near() && from == kNarrow && to == kWide) most = kMostNear;
    if (far() && from == kNarrow && to == kPast) most = kMostFar;
    if (far() && from == kPast && to == kNarrow) most = 1;
    return cost_[to] != 0 && cost_[to] < most * cost_[from];
  }

  /// Of the reader's line: less where a last cache is shared. Two cores of one package that share
  /// none are some 100 ns apart.
  static constexpr double kNear = 250;
  /// Of the narrow area's cost a wide one's, where a last cache is shared for certain. There it is
  /// 0.3 to 0.62 of it, by the message's length and how cold the caller's data are.
  static constexpr double kMostNear = 0.8;
  /// The same of what goes past the caches where none is shared: 256 KiB and 1 MiB of all-reduce
  /// on cold buffers cost the writer too much for 0.3, and took 1.4 and 1.5 x in the narrow area.
  static constexpr double kMostFar = 0.7;
  /// What takes less was here already, fetched ahead, and says nothing: a look at a line of the own
  /// cache takes 26 or 52 ticks. Nor does a reader on the same core.
  static constexpr uint64_t kLeastHeard = 65;
  static constexpr int kForgotten = 32;  ///< Such looks, one after the other.
  /// What takes longer was disturbed.
  static constexpr uint64_t kMostHeard = 1000;
  bool near() const { return line_ > 0 && line_ < kNear; }
  bool far() const { return line_ >= kNear; }
  /// Then what goes past the caches is dear for the reader, whatever it costs the writer: gather of
  /// 16 KiB 1.39 us past them and 1.20 in a wide area, all-to-all 2.94 and 2.09 (as above).
  bool keepsInCaches() const { return near() && wideThere_; }

  /// The reader is near, for the first time or again. A trial would meet a wide area as cold as
  /// it will never be again, so it is taken at once, and the narrow one tried soon.
  void begin() {
    begun_ = true;
    if (best_ != kWide) turnTo(kWide);
  }

  /// All costs are another reader's.
  void turnTo(Way way) {
    best_ = next_ = way;
    trial_ = 0;
    for (double& cost : cost_) cost = 0;
    cold_ = roundOf(way);
    written_ = 0;
    settle();
    apart_ = 2 * kFirstTrial;
    sinceTrial_ = 0;
  }

  Way rival() const { return best_ == kWide ? kNarrow : kWide; }
  int64_t roundOf(Way way) const {
    return way == kWide ? wideBytes_ : way == kNarrow ? kNarrowRound : 0;
  }

  void weigh(double now, int64_t bytes) {
    if (trial_ > 0 && way_ == rival()) return learnOfRival(now, bytes);
    // A single message in the narrow area finds it as no reader has it.
    if (best_ == kWide && way_ == kNarrow) return;
    if (way_ == best_ && cold_ > 0) {
      cold_ -= bytes;
      return;
    }
    // What has gone past the caches costs what it costs, so a try that is shorter is the truth. A
    // caller's data that were cold once would else keep a writer from it for thousands of messages.
    if (way_ == kPast && best_ == kNarrow && now < cost_[kPast]) cost_[kPast] = now;
    adapt(cost_[way_], now);
    if (way_ == best_) watchBest(bytes);
    judge(bytes);
    if (trial_ <= 0 && trialIsDue()) beginTrial();
  }

  /// What is longer may have been disturbed; what is shorter has not.
  static void adapt(double& cost, double now) {
    cost =
        cost == 0 ? now : cost + (now < cost ? (now - cost) / 4 : std::min(now - cost, cost) / 8);
  }

  bool trialIsDue() const {
    if (!wideThere_ || known_ < kSettled || sinceTrial_ < apart_) return false;
    // Where nothing but memory is shared, a wide area takes three to four times as long.
    if (line_ > 0) return near();
    return best_ != kPast || cost_[kPast] > 0.23 * cost_[kNarrow];
  }

  void beginTrial() {
    trial_ = roundOf(rival()) + kJudged;
    trialCost_ = 0;
    sinceTrial_ = 0;
  }

  void learnOfRival(double now, int64_t bytes) {
    if (trial_ <= kJudged) adapt(trialCost_, now);
    trial_ -= bytes;
    if (trial_ > 0) return;
    cost_[rival()] = trialCost_;
    apart_ = std::clamp(2 * apart_, near() ? kFirstTrial : kLeastApart, kMostApart);
    cold_ = roundOf(best_);
    judge(kLasting);
    forgetWide();
  }

  /// What a wide area cost long ago is no reason to turn to it.
  void forgetWide() {
    if (best_ != kWide) cost_[kWide] = 0;
  }

  /// Where a way through the caches that is in use has come to cost much more or less than it did,
  /// and goes on so, the machine has changed: what was learnt of the others holds no more.
  void watchBest(int64_t bytes) {
    if (++known_ == kSettled) before_ = cost_[best_];
    const bool alike = cost_[best_] < 2 * before_ && before_ < 2 * cost_[best_];
    off_ = known_ <= kSettled || best_ == kPast || alike ? 0 : off_ + bytes;
    if (off_ < kLasting) return;
    for (const Way way : kWays) {
      if (way != best_) cost_[way] = 0;
    }
    written_ = 256;
    settle();
  }

  /// Turns to the way that is better by far. From a wide area only a trial or `bytes` bytes and
  /// more before them that were dear lead away: after a pause it is cold for a round.
  void judge(int64_t bytes) {
    Way to = best_;
    for (const Way way : kWays) {
      if (leads(to, way)) to = way;
    }
    dear_ = to != best_ ? dear_ + bytes : 0;
    if (to == best_ || (best_ == kWide && dear_ < kLasting)) return;
    best_ = to;
    cold_ = roundOf(best_);
    forgetWide();
    settle();
  }

  /// All that is known of the way in use holds from now on.
  void settle() {
    known_ = 0;
    off_ = dear_ = 0;
    apart_ = std::min(apart_, kLeastApart);
  }

  static constexpr int kSettled = 32;
  /// Bytes. After a pause all that a way meets is out of the caches, a wide area for a round.
  static constexpr int64_t kLasting = 4 << 20;

  Way best_ = kNarrow;
  Way next_ = kNarrow;
  Way way_ = kNarrow;  // of the message at hand, and what writing it took so far
  uint64_t ticks_ = 0, bytes_ = 0;
  uint64_t written_ = 0;  // messages
  bool wideThere_ = false;
  bool begun_ = false;  // what is to be done once a reader is near
  int64_t wideBytes_ = 0;
  double cost_[3] = {};   // ticks a byte; 0: not known
  double line_ = 0;       // ticks that the reader's line takes; 0: not known
  uint64_t unheard_ = 0;  // looks since the line was last heard of
  double trialCost_ = 0;
  double before_ = 0;   // the best way's cost when it had settled
  uint64_t known_ = 0;  // what was weighed the best way since it is the best, or since a change
  // Bytes, the last ones, throughout which the best way's cost was another than before, and
  // another way's was less by far.
  int64_t off_ = 0, dear_ = 0;
  int64_t trial_ = 0;  // bytes of the trial at hand that are left
  // Bytes until the best way meets what it always meets; the first ones meet pages nobody touched.
  int64_t cold_ = kNarrowRound;
  int64_t sinceTrial_ = 0, apart_ = kFirstTrial;  // bytes
};

/// What one channel's writer knows, by the length of messages: the narrow area is met again after
/// sixteen messages of 4 KiB and after four of 16 KiB. A writer that had learnt from the short ones
/// wrote the long ones the wrong way for megabytes: 4 KiB 0.10 ticks a byte in the narrow area and
/// 0.12 in the wide one, 16 KiB 0.24 and 0.12 (EPYC, cores that share the last cache, 2026-11-23).
class StagingWays {
 public:
  static constexpr size_t kLeastLong = 8192;
  StagingWay& of(size_t bytes) { return bytes < kLeastLong ? short_ : long_; }
  /// StagingWay::heard().
  void heard(uint64_t ticks) {
    short_.heard(ticks);
    long_.heard(ticks);
  }

 private:
  StagingWay short_, long_;
};

}  // namespace rondo
