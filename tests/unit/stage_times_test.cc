// What the steps of something long took, as text.

#include "base/stage_times.h"

#include <gtest/gtest.h>

namespace rondo::test {
namespace {

constexpr uint64_t kMs = 1'000'000;

TEST(StageTimes, TellWhatEachStepTook) {
  StageTimes times(7 * kMs);
  times.end("ranks", 8 * kMs + 200'000);
  times.end("kernels", 30 * kMs);
  EXPECT_EQ(times.text(), "23.0 ms: ranks 1.2, kernels 21.8");
}

TEST(StageTimes, AddUpWhatComesTwiceAndLeaveOutWhatIsNothing) {
  StageTimes times(0);
  times.end("memory", 2 * kMs);
  times.end("places", 2 * kMs + 49'000);
  times.end("kernels", 5 * kMs);
  times.end("memory", 9 * kMs);
  EXPECT_EQ(times.text(), "9.0 ms: memory 6.0, kernels 3.0");
}

TEST(StageTimes, AreNoneBeforeTheFirst) { EXPECT_EQ(StageTimes(3).text(), "0.0 ms"); }

TEST(StageTimes, NeedNobody) { endStage(nullptr, "ranks"); }

}  // namespace
}  // namespace rondo::test
