// What the library does when it is loaded, because it is dear later.

#include "base/before_threads.h"

#include <gtest/gtest.h>
#include <linux/membarrier.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
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

/// Whether this program can have been loaded with one thread, and the library can know it.
constexpr bool kKnown =
#if defined(__SANITIZE_THREAD__) || !__has_include(<sys/single_threaded.h>)
    false;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
    false;
#else
    true;
#endif
#else
    true;
#endif

/// A process of this program's that does nothing but this test.
class BeforeThreads : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  void TearDown() override { GTEST_FLAG_SET(death_test_style, "fast"); }
};

TEST_F(BeforeThreads, TheTableOfDescriptorsIsLargeOnceTheLibraryIsLoaded) {
  if (!kKnown) GTEST_SKIP() << "it may have had threads from the first";
  const auto check = [] {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    std::fprintf(stderr, "room for %u\n", tableSize());
    std::_Exit(tableSize() >= std::min<rlim_t>(limit.rlim_cur, 1024) ? 0 : 1);
  };
  EXPECT_EXIT(check(), ::testing::ExitedWithCode(0), "room for");
}

TEST_F(BeforeThreads, TheTableDoesNotGrowUnderThreads) {
  std::thread([] {}).join();  // from now on the process counts as one with threads
  const unsigned before = tableSize();
  EXPECT_FALSE(growDescriptorTable(2 * before));
  EXPECT_EQ(tableSize(), before);
}

TEST_F(BeforeThreads, FencesAreAskedFor) {
  if (!kKnown) GTEST_SKIP() << "it may have had threads from the first";
  const auto check = [] {
    // Without having been asked for, it is refused, as it is where there is none at all.
    const bool before = syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
    std::fprintf(stderr, "%s when it was loaded\n", before ? "asked for" : "not asked for");
    std::_Exit(canFenceAllThreads() == before ? 0 : 1);
  };
  EXPECT_EXIT(check(), ::testing::ExitedWithCode(0), "when it was loaded");
}

}  // namespace
}  // namespace rondo::test
