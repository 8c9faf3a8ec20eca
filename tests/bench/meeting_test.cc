#include "../../benchmarks/rondo_bench/meeting.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace rondo::bench {
namespace {

using std::chrono::nanoseconds;

/// Ranks as threads; on a crowded machine the one that waits gives its core away.
class Ranks {
 public:
  explicit Ranks(int ranks) : lines_(static_cast<size_t>(ranks) + 1) {}

  template <class Work>
  void run(const Work& work) {
    std::vector<std::thread> threads;
    const int ranks = static_cast<int>(lines_.size()) - 1;
    for (int r = 0; r < ranks; ++r) {
      threads.emplace_back([&, r] {
        Meeting meeting(lines_.data(), r, ranks, std::this_thread::yield);
        work(r, meeting);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

 private:
  std::vector<MeetingLine> lines_;
};

constexpr int kMeetings = 20;

TEST(BenchMeeting, NobodyLeavesBeforeAllHaveCome) {
  for (int n : {1, 2, 3, 5}) {
    std::atomic<int> come{0};
    std::atomic<int> early{0};
    Ranks(n).run([&](int, Meeting& meeting) {
      for (int m = 1; m <= kMeetings; ++m) {
        ++come;
        meeting.meet();
        if (come.load() < m * n) ++early;
      }
    });
    EXPECT_EQ(early.load(), 0) << n << " ranks";
  }
}

TEST(BenchMeeting, AllHearTheSameStartAndNobodyGoesBeforeIt) {
  constexpr int kRanks = 3;
  std::vector<std::vector<Meeting::Clock::time_point>> starts(kRanks);
  std::atomic<int> early{0};
  Ranks(kRanks).run([&](int rank, Meeting& meeting) {
    for (int m = 0; m < kMeetings; ++m) {
      const auto start = meeting.meet();
      if (Meeting::Clock::now() < start) ++early;
      starts[static_cast<size_t>(rank)].push_back(start);
    }
  });
  EXPECT_EQ(early.load(), 0);
  for (size_t m = 0; m < kMeetings; ++m) {
    for (size_t r = 1; r < kRanks; ++r) EXPECT_EQ(starts[r][m], starts[0][m]);
    if (m > 0) {
      EXPECT_GT(starts[0][m] - starts[0][m - 1], nanoseconds(0));
    }
  }
}

TEST(BenchMeeting, AStartOfAnotherClockIsNotWaitedFor) {
  MeetingLine lines[3];
  const auto far = Meeting::Clock::now() + std::chrono::hours(1);
  lines[0].value = nanoseconds(far.time_since_epoch()).count();
  Meeting meeting(lines, 1, 2, [] {});
  EXPECT_EQ(meeting.meet(), far);
  EXPECT_LT(Meeting::Clock::now(), far);
  EXPECT_EQ(lines[2].value.load(), 1) << "the others hear that it came";
}

TEST(BenchMeeting, WhoWaitsLongDoesWhatTheOthersMayNeed) {
  MeetingLine lines[3];
  Meeting meeting(lines, 0, 2, [&] { lines[2].value = 1; });
  meeting.meet();  // would wait for ever: only the call above lets rank 1 come
  EXPECT_EQ(lines[2].value.load(), 1);
}

}  // namespace
}  // namespace rondo::bench
