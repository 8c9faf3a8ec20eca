// The sleep that a rank in a call can end.

#include "ucx/wakeable_sleep.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace rondo {
namespace {

using SleepTime = std::chrono::milliseconds;
constexpr SleepTime kForEver{20'000}, kNone{0};

struct SleepPipe {
  SleepPipe() { EXPECT_EQ(pipe(ends.data()), 0); }
  ~SleepPipe() {
    close(ends[0]);
    close(ends[1]);
  }
  std::array<int, 2> ends{};
};

bool sleepOn(WakeableSleep& sleep, int fd, SleepTime most) {
  std::array<pollfd, 2> events{{{fd, POLLIN, 0}}};
  return sleep.until(events, most);
}

TEST(WakeableSleep, EndsWhenAnotherThreadWakesIt) {
  WakeableSleep sleep;
  const SleepPipe quiet;
  sleep.begin();
  const auto start = std::chrono::steady_clock::now();
  std::thread rank([&sleep] { sleep.wake(); });
  EXPECT_TRUE(sleepOn(sleep, quiet.ends[0], kForEver));
  EXPECT_LT(std::chrono::steady_clock::now() - start, kForEver / 2);
  rank.join();
}

TEST(WakeableSleep, AWakeBetweenBeginAndTheSleepCounts) {
  WakeableSleep sleep;
  const SleepPipe quiet;
  sleep.begin();
  sleep.wake();
  EXPECT_TRUE(sleepOn(sleep, quiet.ends[0], kForEver));
}

TEST(WakeableSleep, NoWakeIsLeftForTheNextSleep) {
  WakeableSleep sleep;
  const SleepPipe quiet;
  sleep.wake();  // nobody sleeps
  sleep.begin();
  sleep.wake();
  sleep.wake();
  EXPECT_TRUE(sleepOn(sleep, quiet.ends[0], kForEver));
  sleep.wake();
  sleep.begin();
  std::array<pollfd, 2> events{{{quiet.ends[0], POLLIN, 0}}};
  EXPECT_FALSE(sleep.until(events, kNone));
  EXPECT_EQ(events.back().revents, 0) << "it was ended before it began";
}

TEST(WakeableSleep, ItsDescriptorsEndItToo) {
  WakeableSleep sleep;
  const SleepPipe readable;
  ASSERT_EQ(write(readable.ends[1], "x", 1), 1);
  sleep.begin();
  EXPECT_FALSE(sleepOn(sleep, readable.ends[0], kForEver));
}

}  // namespace
}  // namespace rondo
