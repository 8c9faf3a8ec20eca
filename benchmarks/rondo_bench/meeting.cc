#include "meeting.h"

#include <algorithm>
#include <utility>

namespace rondo::bench {
namespace {

/// From the first rank's word that all are here to the start: each rank must have heard of it, some
/// 0.1 to 0.4 us, and be looking at the clock.
constexpr int64_t kLeadNs = 1000;
constexpr int64_t kLeadPerRankNs = 100;
/// A start further away is another clock's.
constexpr int64_t kMostLeadNs = 1'000'000;

constexpr int kLooksOfALongWait = 128;

int64_t nowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             Meeting::Clock::now().time_since_epoch())
      .count();
}

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

Meeting::Meeting(MeetingLine* lines, int rank, int ranks, std::function<void()> onLongWait)
    : lines_(lines), rank_(rank), ranks_(ranks), onLongWait_(std::move(onLongWait)) {}

void Meeting::await(const std::atomic<int64_t>& word, int64_t least) const {
  for (int looks = 1; word.load(std::memory_order_acquire) < least; ++looks) {
    pause();
    if (looks % kLooksOfALongWait == 0) onLongWait_();
  }
}

/// The start of this meeting, which the first rank sets once all have come.
int64_t Meeting::agree() {
  std::atomic<int64_t>& start = lines_[0].value;
  if (rank_ != 0) {
    lines_[1 + rank_].value.store(meetings_, std::memory_order_release);
    await(start, start_ + 1);
    return start.load(std::memory_order_acquire);
  }
  for (int r = 1; r < ranks_; ++r) await(lines_[1 + r].value, meetings_);
  const int64_t next = std::max(nowNs() + kLeadNs + kLeadPerRankNs * ranks_, start_ + 1);
  start.store(next, std::memory_order_release);
  return next;
}

Meeting::Clock::time_point Meeting::meet() {
  ++meetings_;
  start_ = agree();
  for (int64_t now = nowNs(); now < start_ && start_ - now < kMostLeadNs;) now = nowNs();
  return Clock::time_point(std::chrono::nanoseconds(start_));
}

}  // namespace rondo::bench
