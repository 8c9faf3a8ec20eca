#include "coll/sim/link_course.h"

#include <algorithm>

namespace rondo::sim {
namespace {

/// Of so many marks those are joined that are closer than a part of the time so far: less than half
/// a column of a picture that is 240 wide.
constexpr size_t kMostMarks = 2048;
constexpr uint64_t kParts = 512;

}  // namespace

void LinkCourse::change(uint64_t now, double rate) {
  bytes_ += rate_ * static_cast<double>(now - since_);
  since_ = now;
  if (rate == rate_) return;
  rate_ = rate;
  if (!marks_.empty() && marks_.back().time == now) {
    marks_.back().bytes = bytes_;
    return;
  }
  marks_.push_back({now, bytes_});
  if (marks_.size() >= kMostMarks) thinOut();
}

/// Two neighbours of what is left are further apart than the shortest time, or the marks beside
/// them are: a pause stays a pause, however little was carried around it.
void LinkCourse::thinOut() {
  const uint64_t shortest = marks_.back().time / kParts;
  size_t kept = 1;
  for (size_t i = 1; i + 1 < marks_.size(); ++i) {
    if (marks_[i + 1].time - marks_[kept - 1].time < shortest) continue;
    marks_[kept++] = marks_[i];
  }
  marks_[kept++] = marks_.back();
  marks_.resize(kept);
}

double LinkCourse::until(uint64_t time) const {
  const auto next = std::upper_bound(marks_.begin(), marks_.end(), time,
                                     [](uint64_t t, const Mark& mark) { return t < mark.time; });
  if (next == marks_.begin()) return 0;
  const Mark& last = *(next - 1);
  if (next == marks_.end()) return last.bytes;
  const double part =
      static_cast<double>(time - last.time) / static_cast<double>(next->time - last.time);
  return last.bytes + part * (next->bytes - last.bytes);
}

void LinkCourse::stretch(uint64_t whole, uint64_t was) {
  for (Mark& mark : marks_) {
    mark.time = static_cast<uint64_t>(static_cast<unsigned __int128>(mark.time) * whole / was);
  }
}

}  // namespace rondo::sim
