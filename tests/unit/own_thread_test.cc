#include "base/own_thread.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>

namespace rondo {
namespace {

bool blocked(int signal) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, signal) == 1;
}

TEST(OwnThread, TakesNoSignalsAndLeavesTheCallers) {
  sigset_t mine, before;
  sigemptyset(&mine);
  sigaddset(&mine, SIGUSR2);
  pthread_sigmask(SIG_SETMASK, &mine, &before);
  bool there = false;
  ownThread("a test's thread", [&there] { there = blocked(SIGUSR1) && blocked(SIGTERM); }).join();
  EXPECT_TRUE(there);
  EXPECT_FALSE(blocked(SIGUSR1));
  EXPECT_TRUE(blocked(SIGUSR2));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(OwnThread, SaysWhetherThereIsOneCore) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  std::thread([&all] {
    EXPECT_EQ(boundToOneCore(), CPU_COUNT(&all) == 1);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &all)) {
        CPU_SET(cpu, &one);
        break;
      }
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_TRUE(boundToOneCore());
  }).join();
}

}  // namespace
}  // namespace rondo
