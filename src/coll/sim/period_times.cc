#include "coll/sim/period_times.h"

#include <algorithm>
#include <cmath>

namespace rondo::sim {
namespace {

/// Fewer periods say nothing.
constexpr Count kFewest = 3;
/// What is taken for steady: of the whole call's time, how far the last process's periods may be
/// from the mean of all, and how far that may be from what it was before. With these, calls on 2 to
/// 2,048 ranks come out within 1.8 % where that holds (2026-11-27, docs/simulator.md).
constexpr double kLastFromMean = 0.01, kMeanFromBefore = 0.02;

}  // namespace

void PeriodTimes::leave(size_t process, Time now) {
  const size_t period = leaves_[process].size();
  leaves_[process].push_back(now);
  if (period == ends_.size()) {
    ends_.push_back(now);
    left_.push_back(0);
  }
  ends_[period] = now;  // time never goes back
  if (++left_[period] == workers_) ++over_;
}

PeriodTimes::Course PeriodTimes::laterHalf(Count periods) const {
  return {ends_[periods - 1] - ends_[periods - 1 - periods / 2], periods / 2};
}

PeriodTimes::Course PeriodTimes::between(Time begin, Time end) const {
  Course course;
  for (const std::vector<Time>& leaves : leaves_) {
    const auto first = std::lower_bound(leaves.begin(), leaves.end(), begin);
    const auto last = std::upper_bound(first, leaves.end(), end);
    if (last - first < 2) continue;
    course.time += *(last - 1) - *first;
    course.periods += static_cast<Count>(last - first - 1);
  }
  return course;
}

bool PeriodTimes::firstLeft(Count left, Time now) {
  firstLeft_ = now;
  seenFull_ = false;
  if (over_ < kFewest || over_ < ends_.size() / 2) return false;
  const Time middle = ends_[0] + (now - ends_[0]) / 2;
  const Course before = between(ends_[0], middle), mean = between(middle, now);
  if (before.periods == 0 || mean.periods == 0) return false;
  const auto further = [&](const Course& course) {
    return static_cast<double>(course.further(left));
  };
  const double last = further(laterHalf(over_)), whole = static_cast<double>(now) + last;
  seenFull_ = std::abs(last - further(mean)) <= kLastFromMean * whole &&
              std::abs(further(mean) - further(before)) <= kMeanFromBefore * whole;
  return seenFull_;
}

bool PeriodTimes::lastAlike() const {
  const size_t n = ends_.size();
  if (n < 3) return false;
  const Time last = ends_[n - 1] - ends_[n - 2], before = ends_[n - 2] - ends_[n - 3];
  return (last > before ? last - before : before - last) <= before / 1000;
}

Time PeriodTimes::further(Count left, Time whole, bool midway) const {
  if (ends_.empty()) return 0;
  if (ends_.size() == 1) return atMost(Wide{whole} * left);
  // The last period is quicker where no next one is under way beside it.
  const auto full = static_cast<Count>(
      std::upper_bound(ends_.begin(), ends_.end() - 1, firstLeft_) - ends_.begin());
  if (full < kFewest) return laterHalf(ends_.size()).further(left);
  const Time last = laterHalf(full).further(left);
  if (!midway || seenFull_) return last;
  const Course mean = between(ends_[0] + (firstLeft_ - ends_[0]) / 2, firstLeft_);
  if (mean.periods == 0) return last;
  return last / 2 + mean.further(left) / 2;
}

}  // namespace rondo::sim
