#pragma once
// When processes left the full periods, and what further ones would take. A pipeline is full from
// when the last process has left the first period to when the first one has left the last: before
// that not all have work, and after it those who still have some have the links for themselves.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "coll/sim/fair_links.h"
#include "coll/sim/job.h"

namespace rondo::sim {

class PeriodTimes {
 public:
  /// `workers`: those of the processes that have steps in full periods.
  PeriodTimes(size_t processes, size_t workers) : leaves_(processes), workers_(workers) {}

  /// A process has left its next full period.
  void leave(size_t process, Time now);
  /// Now the first process has left the last of the periods that are simulated; `left` are not.
  /// True if the pipeline was full for at least half of them, and steady: the whole call comes out
  /// nearly the same by its last process, by the mean of all, and by what that was before.
  bool firstLeft(Count left, Time now);
  /// What that said last.
  bool seenFull() const { return seenFull_; }
  /// The last two periods took the same time, within a thousandth. There have to be three.
  bool lastAlike() const;
  /// What `left` further ones take: as long as the later half of those, but for the last, that
  /// all left while the pipeline was full. If there were none, the later half of all counts, and of
  /// a single one `whole`. `midway`: if it was not steady, halfway from there to the mean of all
  /// processes. At most kMostTime.
  Time further(Count left, Time whole, bool midway) const;

 private:
  using Wide = unsigned __int128;
  static Time atMost(Wide time) { return static_cast<Time>(std::min<Wide>(time, kMostTime)); }
  /// Periods, and their time one after the other.
  struct Course {
    Wide time = 0;
    Count periods = 0;
    Time further(Count left) const { return atMost(time * left / periods); }
  };
  /// By ends: the later half of the first so many.
  Course laterHalf(Count periods) const;
  /// Of all processes.
  Course between(Time begin, Time end) const;

  std::vector<std::vector<Time>> leaves_;  ///< By process and period.
  size_t workers_;
  std::vector<Time> ends_;    ///< By period: when the last process so far left it.
  std::vector<size_t> left_;  ///< By period: processes that have.
  Count over_ = 0;            ///< Periods that all have left.
  Time firstLeft_ = 0;        ///< When the first process left the last period.
  bool seenFull_ = false;
};

}  // namespace rondo::sim
