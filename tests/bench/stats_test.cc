#include "../../benchmarks/rondo_bench/stats.h"

#include <gtest/gtest.h>

#include <vector>

namespace rondo::bench {
namespace {

TEST(BenchStats, PercentilesAreOfTheNearestRank) {
  std::vector<double> values;
  for (int i = 1; i <= 200; ++i) values.push_back(i);
  EXPECT_EQ(percentile(values, 50), 100);
  EXPECT_EQ(percentile(values, 99), 198);
  EXPECT_EQ(percentile(values, 100), 200);
  EXPECT_EQ(percentile(values, 0), 1);
  const std::vector<double> few = {1, 2, 3};
  EXPECT_EQ(percentile(few, 50), 2);
  EXPECT_EQ(percentile(few, 99), 3);
}

TEST(BenchStats, MeansOverRanksAndExtremesOfAll) {
  // Two ranks, three iterations: means 5, 3, 10.
  const std::vector<double> times = {1, 2, 8, 9, 4, 12};
  const Summary summary = summarize(times, 2, AcrossRanks::kMean);
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.p50, 5);
  EXPECT_EQ(summary.p99, 10);
  EXPECT_EQ(summary.max, 12);
}

TEST(BenchStats, SlowestRankCounts) {
  const std::vector<double> times = {1, 2, 8, 9, 4, 12};  // slowest: 9, 4, 12
  const Summary summary = summarize(times, 2, AcrossRanks::kMax);
  EXPECT_EQ(summary.min, 4);
  EXPECT_EQ(summary.p50, 9);
  EXPECT_EQ(summary.p99, 12);
  EXPECT_EQ(summary.max, 12);
}

TEST(BenchStats, OnePairsTimeIsRankZeros) {
  const std::vector<double> times = {1, 2, 8, 9, 4, 12};
  const Summary summary = summarize(times, 2, AcrossRanks::kFirst);
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.p50, 2);
  EXPECT_EQ(summary.max, 8);
}

TEST(BenchStats, OverlapIsTheHiddenShare) {
  EXPECT_EQ(overlapPercent(100, 100, 100), 100);
  EXPECT_EQ(overlapPercent(200, 100, 100), 0);
  EXPECT_EQ(overlapPercent(130, 100, 100), 70);
  EXPECT_EQ(overlapPercent(300, 100, 100), 0) << "never below 0";
  EXPECT_EQ(overlapPercent(90, 100, 100), 100) << "nor above 100";
  EXPECT_EQ(overlapPercent(5, 5, 0), 0);
}

TEST(BenchStats, NothingMeasuredIsZero) { EXPECT_EQ(summarize({}, 4, AcrossRanks::kMean).p50, 0); }

}  // namespace
}  // namespace rondo::bench
