// How a channel's writer finds out which way into staging is the better one. Costs are made up:
// what a machine does may change while a test runs.

#include "p2p/staging_way.h"

#include <gtest/gtest.h>

#include <vector>

#include "coll/staging_copy.h"

namespace rondo {
namespace {

constexpr size_t kBytes = 32768;

/// Ticks a byte of either way.
struct Machine {
  double through, past;
  double wide = 0;  ///< 0: there is no wide area.
};
constexpr Machine kSharedCache{0.1, 0.15};
constexpr Machine kApart{1.2, 0.2};

void write(StagingWay& way, const Machine& machine, double disturbed = 1) {
  way.choose(machine.wide > 0);
  const double cost = way.past() ? machine.past : way.wide() ? machine.wide : machine.through;
  way.learn(static_cast<uint64_t>(cost * disturbed * kBytes), kBytes);
}

/// Of the next `count` messages, how many go past the caches.
int written(StagingWay& way, const Machine& machine, int count) {
  int past = 0;
  for (int i = 0; i < count; ++i) {
    write(way, machine);
    past += way.past() ? 1 : 0;
  }
  return past;
}

TEST(StagingWay, goesThroughTheCachesAndTriesTheOtherWayNowAndThen) {
  StagingWay way;
  EXPECT_EQ(written(way, kSharedCache, 8), 0);
  EXPECT_EQ(written(way, kSharedCache, 1), 1);
  EXPECT_EQ(written(way, kSharedCache, 247), 3);
  EXPECT_EQ(written(way, kSharedCache, 2560), 10);
}

TEST(StagingWay, takesTheCheaperWayAfterOneTry) {
  StagingWay way;
  EXPECT_EQ(written(way, kApart, 9), 1);
  EXPECT_EQ(written(way, kApart, 55), 55);
  EXPECT_EQ(written(way, kApart, 64), 63);
}

TEST(StagingWay, followsTheMachine) {
  StagingWay way;
  written(way, kApart, 300);
  EXPECT_TRUE(way.past());
  written(way, kSharedCache, 2560);
  EXPECT_LE(written(way, kSharedCache, 256), 1);
  written(way, kApart, 2560);
  EXPECT_GE(written(way, kApart, 256), 255);
}

TEST(StagingWay, isNotTurnedByADisturbance) {
  StagingWay way;
  written(way, kSharedCache, 100);
  write(way, kSharedCache, 10000);
  EXPECT_FALSE(way.past());
  written(way, kApart, 600);
  write(way, kApart, 10000);
  EXPECT_TRUE(way.past());
}

TEST(StagingWay, GoesIntoTheWideAreaWhereThatIsCheaper) {
  const Machine oneLastCache{0.28, 0.1, 0.06}, apart{1.2, 0.06, 0.5}, oneCore{0.09, 0.2, 0.12};
  const auto wide = [](StagingWay& way, const Machine& machine, int count) {
    int found = 0;
    for (int i = 0; i < count; ++i) {
      write(way, machine);
      found += way.wide() ? 1 : 0;
    }
    return found;
  };
  StagingWay way;
  EXPECT_EQ(wide(way, oneLastCache, 40), 0);
  EXPECT_EQ(wide(way, oneLastCache, 32), 32);
  EXPECT_GE(wide(way, oneLastCache, 256), 246);
  wide(way, apart, 2560);
  EXPECT_LE(wide(way, apart, 256), 1);
  EXPECT_TRUE(way.past());
  wide(way, oneLastCache, 5120);
  EXPECT_GE(wide(way, oneLastCache, 256), 254);
  wide(way, oneCore, 5120);
  EXPECT_LE(wide(way, oneCore, 256), 1);
  EXPECT_FALSE(way.past());
}

TEST(StagingWay, CountsAMessageInPartsOnce) {
  StagingWay way;
  for (int message = 0; message < 9; ++message) {
    way.choose(false);
    EXPECT_EQ(way.past(), message == 8);
    for (int part = 0; part < 4; ++part) way.learn(1000, 8192);
  }
}

TEST(StagingWay, keepsItsWayWhereBothCostNearlyTheSame) {
  const Machine between{0.5, 0.2};
  StagingWay first, second;
  EXPECT_LE(written(first, between, 256), 4);
  written(second, kApart, 300);
  EXPECT_GE(written(second, between, 2560), 2550);
}

class PortWithWay final : public SendPort {
 public:
  explicit PortWithWay(StagingWay* way) { way_ = way; }
  void* tryAcquire(size_t) override { return nullptr; }
  void post(size_t, void*) override {}
  bool tryPostInPlace(const void*, size_t, void*, Run) override { return false; }
  bool reaches(const void*, size_t) const override { return false; }
  bool drained() override { return true; }
};

std::vector<CopyTo> copies;
void noteCopy(void*, void*, const void*, size_t, CopyTo to) { copies.push_back(to); }

int pastAmong(const SendPort& port, uint64_t bytes, int count) {
  copies.clear();
  for (int i = 0; i < count; ++i) {
    if (port.way() != nullptr) port.way()->choose(false);
    copyToStaging(noteCopy, port, nullptr, nullptr, bytes);
  }
  EXPECT_EQ(copies.size(), static_cast<size_t>(count));
  return static_cast<int>(std::count(copies.begin(), copies.end(), CopyTo::kPast));
}

TEST(StagingWay, IsAskedForEachLongCopyWhereThereIsOne) {
  StagingWay way;
  const PortWithWay port(&way), without(nullptr);
  EXPECT_EQ(pastAmong(port, kLeastPast, 8), 0);
  EXPECT_EQ(pastAmong(port, kLeastPast - 1, 100), 0);
  EXPECT_EQ(pastAmong(without, kLeastPast, 100), 0);
  EXPECT_EQ(pastAmong(port, kLeastPast, 1), 1);
}

}  // namespace
}  // namespace rondo
