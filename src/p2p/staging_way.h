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

/// What one channel's writer knows of the ways.
class StagingWay {
 public:
  /// Decides how the next message is to be written. Now and then a way that is not the best one,
  /// so that what it costs by now is known. `wideThere`: whether there is a wide area.
  void choose(bool wideThere) {
    const uint64_t turn = written_ % (written_ < 256 ? 64 : 256);
    way_ = best_;
    if (turn == 8) way_ = best_ == kPast ? kNarrow : kPast;
    // A wide area that is far from the best costs more to try than it may give.
    const bool hopeless = cost_[kWide] > 4 * cost_[best_] && written_ % 1024 != 40;
    if (turn == 40 && wideThere && !hopeless) way_ = best_ == kWide ? kNarrow : kWide;
    if (way_ == kWide && !wideThere) way_ = kNarrow;
    begins_ = true;
  }
  bool past() const { return way_ == kPast; }
  bool wide() const { return way_ == kWide; }

  /// Writing `bytes` bytes, a message or a part of it, as chosen took `ticks`.
  void learn(uint64_t ticks, size_t bytes) {
    const double now = static_cast<double>(ticks) / static_cast<double>(bytes);
    double& cost = cost_[way_];
    if (begins_) ++written_;
    begins_ = false;
    // What is longer may have been disturbed; what is shorter has not.
    cost =
        cost == 0 ? now : cost + (now < cost ? (now - cost) / 4 : std::min(now - cost, cost) / 8);
    if (cost_[kNarrow] == 0) return;
    // A wide area takes room in the caches from the caller's data; what has gone past the caches
    // the reader has to fetch from memory: so they have to be cheaper by far.
    const bool wide =
        cost_[kWide] != 0 && cost_[kWide] < cost_[kNarrow] * (best_ == kWide ? 0.7 : 0.5);
    const Way through = wide ? kWide : kNarrow;
    const bool past =
        cost_[kPast] != 0 && cost_[kPast] < cost_[through] * (best_ == kPast ? 0.5 : 0.3);
    best_ = past ? kPast : through;
  }

 private:
  enum Way { kNarrow, kPast, kWide };
  uint64_t written_ = 0;  // messages
  bool begins_ = false;   // nothing was learnt from the message at hand
  double cost_[3] = {};   // ticks a byte; 0: not known
  Way best_ = kNarrow;
  Way way_ = kNarrow;  // of the message at hand
};

}  // namespace rondo
