// What goes through page-locked memory, chunk by chunk.

#include "coll/far_predict.h"

#include <gtest/gtest.h>

namespace rondo {
namespace {

FarCourse courseOf(uint64_t chunks, int lanes, FarChunkTimes times, bool oneWay = false) {
  return {chunks, lanes, times, times, oneWay};
}

TEST(FarPredict, OneChunkIsCopiedCalledAndCopied) {
  EXPECT_EQ(farCourseTime(courseOf(1, 4, {10, 100, 7})), 117u);
  EXPECT_EQ(farCourseTime({1, 4, {1, 1, 1}, {10, 100, 7}}), 117u) << "it is the last one";
}

TEST(FarPredict, CallsOfALaneWaitForEachOther) {
  // In at 10, 20, 30; calls until 110, 210, 310; the copies out of all but the last are hidden.
  EXPECT_EQ(farCourseTime(courseOf(3, 1, {10, 100, 7})), 317u);
  // A lane each.
  EXPECT_EQ(farCourseTime(courseOf(3, 4, {10, 100, 7})), 30u + 100 + 7);
  // Two lanes: the third chunk waits for the first.
  EXPECT_EQ(farCourseTime(courseOf(3, 2, {10, 100, 7})), 10u + 200 + 7);
}

TEST(FarPredict, AKernelCopiesOneChunkAtATime) {
  // Four chunks in, then four out, as calls take no time.
  EXPECT_EQ(farCourseTime(courseOf(4, 4, {10, 0, 10})), 80u);
  // What ranks only put in or only take out passes through.
  EXPECT_EQ(farCourseTime(courseOf(4, 4, {10, 0, 10}, true)), 50u);
  EXPECT_EQ(farCourseTime(courseOf(1000, 4, {10, 0, 10})), 20'000u);
}

TEST(FarPredict, ThereAreEightPlaces) {
  // The ninth chunk goes in when the first one is out.
  EXPECT_EQ(farCourseTime(courseOf(8, 8, {1, 1000, 1})), 1000u + 8 + 1);
  EXPECT_EQ(farCourseTime(courseOf(9, 16, {1, 1000, 1})), 1u + 1000 + 1 + 1 + 1000 + 1);
}

TEST(FarPredict, TheLastChunkIsShorter) {
  EXPECT_EQ(farCourseTime({3, 1, {10, 100, 7}, {1, 20, 2}}), 10u + 200 + 20 + 2);
}

TEST(FarPredict, LongCallsGoOnAsTheyBegan) {
  const FarChunkTimes times{13, 101, 5};
  const uint64_t some = farCourseTime(courseOf(64, 4, times));
  const uint64_t twice = farCourseTime(courseOf(128, 4, times));
  EXPECT_NEAR(static_cast<double>(twice), 2.0 * static_cast<double>(some), 120);
  EXPECT_GT(farCourseTime(courseOf(65, 4, times)), some);
}

}  // namespace
}  // namespace rondo
