// First fit, merging of neighbours, and what is refused.

#include "p2p/range_allocator.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace rondo {
namespace {

constexpr uint64_t kPage = RangeAllocator::kPage;

TEST(RangeAllocator, FirstFitAndMerging) {
  RangeAllocator ranges(10 * kPage, 14 * kPage);
  EXPECT_EQ(ranges.allocate(kPage), 10 * kPage);
  EXPECT_EQ(ranges.allocate(2 * kPage), 11 * kPage);
  EXPECT_EQ(ranges.allocate(2 * kPage), RangeAllocator::kNone);
  EXPECT_EQ(ranges.allocate(kPage), 13 * kPage);
  EXPECT_EQ(ranges.used(), 4 * kPage);
  EXPECT_EQ(ranges.release(10 * kPage), kPage);
  EXPECT_EQ(ranges.release(13 * kPage), kPage);
  EXPECT_EQ(ranges.allocate(2 * kPage), RangeAllocator::kNone);
  EXPECT_EQ(ranges.release(11 * kPage), 2 * kPage);  // joins both neighbours
  EXPECT_EQ(ranges.allocate(4 * kPage), 10 * kPage);
}

TEST(RangeAllocator, RefusesWhatIsNotThere) {
  RangeAllocator ranges(0, 2 * kPage);
  EXPECT_EQ(ranges.allocate(0), RangeAllocator::kNone);
  EXPECT_EQ(ranges.allocate(~uint64_t{0} - 100), RangeAllocator::kNone);
  EXPECT_EQ(ranges.release(0), 0u);
  EXPECT_EQ(ranges.allocate(2 * kPage), 0u);
  EXPECT_EQ(ranges.release(kPage), 0u);
  EXPECT_EQ(ranges.release(0), 2 * kPage);
  EXPECT_EQ(ranges.release(0), 0u);
  RangeAllocator none(5, 5);
  EXPECT_EQ(none.allocate(1), RangeAllocator::kNone);
}

TEST(RangeAllocator, RandomUseNeverOverlapsAndEndsWhole) {
  constexpr uint64_t kPages = 200;
  RangeAllocator ranges(0, kPages * kPage);
  std::map<uint64_t, uint64_t> taken;
  std::mt19937 random(7);
  uint64_t used = 0;
  for (int i = 0; i < 20000; ++i) {
    if (random() % 2 == 0) {
      const uint64_t bytes = (1 + random() % 20) * kPage;
      const uint64_t at = ranges.allocate(bytes);
      if (at == RangeAllocator::kNone) continue;
      const auto after = taken.lower_bound(at);
      ASSERT_TRUE(after == taken.end() || at + bytes <= after->first);
      ASSERT_TRUE(after == taken.begin() ||
                  std::prev(after)->first + std::prev(after)->second <= at);
      ASSERT_LE(at + bytes, kPages * kPage);
      taken[at] = bytes;
      used += bytes;
    } else if (!taken.empty()) {
      const auto it = std::next(taken.begin(), static_cast<long>(random() % taken.size()));
      ASSERT_EQ(ranges.release(it->first), it->second);
      used -= it->second;
      taken.erase(it);
    }
    ASSERT_EQ(ranges.used(), used);
  }
  for (const auto& [at, bytes] : taken) ASSERT_EQ(ranges.release(at), bytes);
  EXPECT_EQ(ranges.allocate(kPages * kPage), 0u);
}

}  // namespace
}  // namespace rondo
