// What the library does when it is loaded, because it is dear later.

#include "base/before_threads.h"

#include <gtest/gtest.h>
#include <linux/membarrier.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

namespace rondo::test {
namespace {

/// How many descriptors the table holds before it has to grow.
unsigned tableSize() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    unsigned size = 0;
    if (word == "FDSize:" && status >> size) return size;
  }
  return 0;
}

/// ThreadSanitizer has a thread of its own before any library is loaded.
bool alwaysThreaded() {
#ifdef __SANITIZE_THREAD__
  return true;
#else
  return false;
#endif
}

TEST(BeforeThreads, TheTableOfDescriptorsIsLargeOnceTheLibraryIsLoaded) {
  if (alwaysThreaded()) GTEST_SKIP() << "this process never had one thread";
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_GE(tableSize(), std::min<rlim_t>(limit.rlim_cur, 1024));
}

TEST(BeforeThreads, TheTableDoesNotGrowUnderThreads) {
  std::thread([] {}).join();  // from now on the process counts as one with threads
  const unsigned before = tableSize();
  EXPECT_FALSE(growDescriptorTable(2 * before));
  EXPECT_EQ(tableSize(), before);
}

TEST(BeforeThreads, FencesAreAskedFor) {
  if (alwaysThreaded()) GTEST_SKIP() << "this process never had one thread";
  const auto fence = [] { return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0); };
  const bool before = fence() == 0;  // without having been asked for, it is refused
  EXPECT_EQ(canFenceAllThreads(), before) << "for this process nobody asked when it was loaded";
  EXPECT_EQ(fence() == 0, before);
}

}  // namespace
}  // namespace rondo::test
