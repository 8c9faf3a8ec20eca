// When rondo-bench says that other processes had the ranks' cores, and that it can see it.

#include "../../benchmarks/rondo_bench/lost_cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <string>
#include <thread>

namespace rondo::bench {
namespace {

std::string said(const CoreLoss& loss, int iterations) {
  LostCores cores;
  cores.add("allreduce 1M", loss, iterations);
  return cores.text();
}

TEST(LostCores, WhatIsInNoNumberIsNotTold) {
  EXPECT_EQ(LostCores().text(), "");
  EXPECT_EQ(said({0, 0.5}, 100), "");
  EXPECT_EQ(said({19, 0.5}, 2000), "") << "one long turn among many short calls";
  EXPECT_EQ(said({90, 0.009}, 100), "") << "many short turns in long calls";
}

TEST(LostCores, TheWorstIsTold) {
  LostCores cores;
  cores.add("allreduce 4", {0, 0}, 2000);
  cores.add("allreduce 1K", {20, 0.02}, 2000);
  cores.add("allreduce 1M", {150, 0.124}, 100);
  cores.add("allreduce 2M", {150, 0.2}, 200);
  EXPECT_EQ(
      cores.text(),
      "cores     other processes had ranks' cores in 3 of 4 measurements, most often in "
      "allreduce 1M: 150 times in 100 iterations, 12 % of a rank's time (calls, and what is "
      "between them); of short calls usec_p99 and usec_max hold it, of long ones usec_p50 too");
  EXPECT_NE(said({5, -1}, 100).find("allreduce 1M: 5 times in 100 iterations (calls"),
            std::string::npos)
      << "where the system does not say for how long";
}

TEST(LostCores, AThreadThatSharesItsCoreLosesIt) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  std::atomic<bool> ends{false};
  std::thread other([&ends] {
    while (!ends.load(std::memory_order_relaxed)) {
    }
  });
  const CoreClock clock;
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(300)) {
  }
  const CoreLoss loss = clock.lost();
  ends = true;
  other.join();
  EXPECT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_GT(loss.turns, 3);
  EXPECT_TRUE(loss.share < 0 || loss.share > 0.1) << loss.share;
}

}  // namespace
}  // namespace rondo::bench
