#include "../../benchmarks/rondo_bench/sizes.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace rondo::bench {
namespace {

using Sizes = std::vector<size_t>;

TEST(BenchSizes, ReadsPowersOf1024) {
  EXPECT_EQ(parseSize("4"), 4u);
  EXPECT_EQ(parseSize("64K"), 65536u);
  EXPECT_EQ(parseSize("64k"), 65536u);
  EXPECT_EQ(parseSize("3MiB"), 3u << 20);
  EXPECT_EQ(parseSize("3MB"), 3u << 20);
  EXPECT_EQ(parseSize("1G"), size_t{1} << 30);
  EXPECT_EQ(parseSize("64T"), size_t{1} << 46);
}

TEST(BenchSizes, RefusesWhatIsNoSize) {
  for (const char* text : {"", "0", "0K", "-4", "K", "4X", "4KX", "4 K", "1.5K", "4Ki", "65T",
                           "18446744073709551615T", "18446744073709551616"}) {
    EXPECT_THROW(parseSize(text), std::invalid_argument) << text;
  }
}

TEST(BenchSizes, WritesWhatItReads) {
  for (const char* text : {"1", "1000", "1K", "1025", "16M", "3G", "2T"}) {
    EXPECT_EQ(formatSize(parseSize(text)), text);
  }
}

TEST(BenchSizes, SweepGoesUpToTheLargest) {
  EXPECT_EQ(sweepSizes(4, 300, 4, 4), (Sizes{4, 16, 64, 256}));
  EXPECT_EQ(sweepSizes(4, 256, 4, 4), (Sizes{4, 16, 64, 256}));
  EXPECT_EQ(sweepSizes(7, 7, 2, 1), (Sizes{7}));
}

TEST(BenchSizes, SweepRoundsToWholeElementsWithoutRepeats) {
  EXPECT_EQ(sweepSizes(1, 64, 2, 8), (Sizes{8, 16, 32, 64}));
  EXPECT_EQ(sweepSizes(5, 45, 3, 4), (Sizes{4, 12, 44}));
}

TEST(BenchSizes, SweepEndsWhereSizesWouldOverflow) {
  const size_t large = size_t{1} << 46;
  EXPECT_EQ(sweepSizes(large, ~size_t{0}, 1024, 1), (Sizes{large, large << 10}));
}

}  // namespace
}  // namespace rondo::bench
