// How a channel's writer finds out which way into staging is the better one. Costs are made up:
// what a machine does may change while a test runs.

#include "p2p/staging_way.h"

#include <gtest/gtest.h>

#include <vector>

#include "coll/staging_copy.h"

namespace rondo {
namespace {

constexpr size_t kBytes = 32768;
constexpr uint64_t kWideBytes = 3 << 19;

/// Ticks a byte of either way.
struct Machine {
  double through, past;
  double wide = 0;  ///< 0: there is no wide area.
};
constexpr Machine kSharedCache{0.1, 0.15};
constexpr Machine kApart{1.2, 0.2};

void write(StagingWay& way, const Machine& machine, double disturbed = 1) {
  way.choose(machine.wide > 0 ? kWideBytes : 0);
  const double cost = way.past() ? machine.past : way.wide() ? machine.wide : machine.through;
  way.learn(static_cast<uint64_t>(cost * disturbed * kBytes), kBytes);
  way.posted();
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

TEST(StagingWay, ComesBackAtTheFirstTryAfterTheCallersDataWereCold) {
  StagingWay way;
  written(way, kApart, 20);
  EXPECT_TRUE(way.past());
  for (int i = 0; i < 16; ++i) write(way, {1.2, 1.0});
  EXPECT_FALSE(way.past());
  written(way, kApart, 128);
  EXPECT_TRUE(way.past());
}

/// A machine whose ways through the caches are not what they seem at first: windows that were not
/// used for long are cold, a narrow area that was not is out of the reader's caches, and wide
/// staging costs more while it is only tried, as less is written through the caches then.
class Changing {
 public:
  explicit Changing(const Machine& machine) : machine_(machine) {}
  void change(const Machine& machine) { machine_ = machine; }
  /// What the reader's line takes from now on.
  void comeTo(uint64_t ticks) { line_ = ticks; }
  /// All that was written is out of the caches.
  void pause() { wideInARow_ = 0; }

  struct Ways {
    int narrow = 0, past = 0, wide = 0;
  };
  /// How so many messages of `bytes` bytes are written.
  Ways write(int count, size_t bytes = kBytes) {
    Ways found;
    for (int i = 0; i < count; ++i) {
      if (line_ != 0 && i % 16 == 0) way_.heard(line_ + static_cast<uint64_t>(i % 48));
      way_.choose(kWideBytes);
      (way_.past() ? found.past : way_.wide() ? found.wide : found.narrow) += 1;
      way_.learn(static_cast<uint64_t>(cost(bytes) * static_cast<double>(bytes)), bytes);
      way_.posted();
    }
    return found;
  }

 private:
  double cost(size_t bytes) {
    if (way_.wide()) {
      wideInARow_ += bytes;
      outOfCaches_ = kNarrowBytes;
      return machine_.wide * (wideInARow_ <= kWideBytes       ? 5
                              : wideInARow_ <= 2 * kWideBytes ? 1.5
                                                              : 1);
    }
    if (wideInARow_ <= 2 * kWideBytes || !way_.past()) wideInARow_ = 0;
    // What goes past the caches lies in the same place, and the reader reads it there.
    const bool cold = outOfCaches_ > 0;
    if (cold) outOfCaches_ -= std::min(bytes, outOfCaches_);
    if (way_.past()) return machine_.past;
    return cold ? std::min(machine_.through, machine_.wide) : machine_.through;
  }

  static constexpr size_t kNarrowBytes = 64 << 10;
  Machine machine_;
  StagingWay way_;
  size_t wideInARow_ = 0, outOfCaches_ = 0;
  uint64_t line_ = 0;
};

/// The three states of two cores of an EPYC, family 25 (2026-11-22).
constexpr Machine kOneCore{0.09, 0.2, 0.12}, kOneLastCache{0.28, 0.1, 0.06},
    kNoCache{1.2, 0.15, 0.5};
constexpr int kMany = 40000;  // messages, some GiB

TEST(StagingWay, FindsTheBestOfThreeWays) {
  Changing core(kOneCore), last(kOneLastCache), none(kNoCache);
  for (Changing* machine : {&core, &last, &none}) machine->write(1100);
  EXPECT_GE(core.write(kMany).narrow, kMany * 98 / 100);
  EXPECT_GE(last.write(kMany).wide, kMany * 98 / 100);
  EXPECT_GE(none.write(kMany).past, kMany * 98 / 100);
}

TEST(StagingWay, TellsCoresWithALastCacheFromCoresWithNoneByATrialOfTheWideArea) {
  Changing last({0.35, 0.1, 0.06}), none({0.6, 0.15, 0.5});
  EXPECT_GT(last.write(64).past, 50);
  for (Changing* machine : {&last, &none}) machine->write(1100);
  EXPECT_GE(last.write(kMany).wide, kMany * 98 / 100);
  EXPECT_GE(none.write(kMany).past, kMany * 98 / 100);
}

TEST(StagingWay, FollowsEveryChangeOfTheMachine) {
  Changing machine(kOneCore);
  machine.write(kMany);
  const auto changed = [&](const Machine& to) {
    machine.change(to);
    machine.write(4096);  // 128 MiB, hundredths of a second
    return machine.write(2048);
  };
  for (int round = 0; round < 3; ++round) {
    EXPECT_GE(changed(kOneLastCache).wide, 1700) << round;
    EXPECT_GE(changed(kNoCache).past, 1700) << round;
    EXPECT_GE(changed(kOneCore).narrow, 1700) << round;
    EXPECT_GE(changed(kNoCache).past, 1700) << round;
    EXPECT_GE(changed(kOneLastCache).wide, 1700) << round;
    EXPECT_GE(changed(kOneCore).narrow, 1700) << round;
  }
}

TEST(StagingWay, TriesAWideAreaForLessThanAHundredthOfTheBytes) {
  for (const size_t bytes : {size_t{8192}, size_t{16384}, kBytes}) {
    Changing machine(kOneCore);
    const int gib = static_cast<int>((size_t{1} << 30) / bytes);
    const int perMiB = static_cast<int>((1 << 20) / bytes);
    EXPECT_EQ(machine.write(perMiB, bytes).wide, 0) << bytes;
    EXPECT_GT(machine.write(4 * perMiB, bytes).wide, perMiB) << bytes;
    EXPECT_LE(machine.write(gib, bytes).wide, gib * 3 / 200) << bytes;
    EXPECT_LE(machine.write(gib, bytes).wide, gib / 99) << bytes;
  }
}

TEST(StagingWay, DoesNotGoPastTheCachesOfAReaderThatIsNear) {
  // As scatters and gathers of 4 to 16 KiB found them: the writer's costs alone speak for past.
  for (const Machine& costs : {Machine{0.27, 0.05, 0.166}, Machine{0.34, 0.06, 0.177}}) {
    for (const size_t bytes : {size_t{4096}, size_t{16384}, kBytes}) {
      Changing machine(costs);
      machine.comeTo(80);
      const Changing::Ways first = machine.write(1024, bytes);
      EXPECT_EQ(first.past, 0);
      EXPECT_GE(first.wide, 800) << bytes;
      EXPECT_GE(machine.write(kMany, bytes).wide, kMany * 95 / 100) << bytes;
    }
  }
}

TEST(StagingWay, LeavesTheWideAreaWhereItIsNoBetter) {
  Changing machine(kOneCore);
  machine.comeTo(80);
  machine.write(400);
  EXPECT_GE(machine.write(kMany).narrow, kMany * 98 / 100);
}

TEST(StagingWay, LearnsNothingFromALineThatWasFetchedAhead) {
  Changing machine(kNoCache);
  machine.comeTo(370);
  machine.write(64);
  machine.comeTo(17);  // to 64
  EXPECT_EQ(machine.write(kMany).wide, 0);
  // But what was heard long ago does not keep it from what costs say.
  machine.change(kOneLastCache);
  machine.write(4096);
  EXPECT_GE(machine.write(kMany).wide, kMany * 98 / 100);
}

TEST(StagingWay, DoesNotTryAWideAreaForAReaderThatIsFar) {
  Changing machine({0.6, 0.3, 0.1});
  machine.comeTo(370);
  EXPECT_EQ(machine.write(kMany).wide, 0);
}

TEST(StagingWay, TurnsWhenTheReaderComesAndGoes) {
  const Machine near{0.27, 0.05, 0.166};
  Changing machine(near);
  for (int round = 0; round < 3; ++round) {
    machine.change(near);
    machine.comeTo(80);
    machine.write(512);
    EXPECT_GE(machine.write(1024).wide, 900) << round;
    machine.change(kNoCache);
    machine.comeTo(370);
    machine.write(512);
    EXPECT_GE(machine.write(1024).past, 1000) << round;
  }
}

TEST(StagingWay, StaysWithTheWideAreaAfterAPause) {
  Changing machine(kOneLastCache);
  machine.write(4096);
  for (int pause = 0; pause < 20; ++pause) {
    machine.pause();
    EXPECT_GE(machine.write(512).wide, 490) << pause;
  }
}

TEST(StagingWay, DoesNotTryAWideAreaWhereNoCacheIsShared) {
  Changing machine(kNoCache);
  EXPECT_EQ(machine.write(kMany).wide, 0);
  EXPECT_EQ(machine.write(kMany, 4096).wide, 0);
}

TEST(StagingWay, HoldsItsWayWhereTheWideAreaIsALittleBetter) {
  const Machine between{0.1, 0.2, 0.07};
  Changing first(between), second(kOneLastCache);
  EXPECT_LE(first.write(kMany).wide, kMany / 90);
  second.write(kMany);
  second.change(between);
  EXPECT_GE(second.write(kMany).wide, kMany * 98 / 100);
}

TEST(StagingWay, CountsAMessageInPartsOnce) {
  StagingWay way;
  for (int message = 0; message < 9; ++message) {
    way.choose(0);
    EXPECT_EQ(way.past(), message == 8);
    for (int part = 0; part < 4; ++part) way.learn(1000, 8192);
    way.posted();
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
    if (port.way() != nullptr) port.way()->choose(0);
    copyToStaging(noteCopy, port, nullptr, nullptr, bytes);
    if (port.way() != nullptr) port.way()->posted();
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

/// `count` messages of `bytes` bytes; how many of them went into the wide area.
int wideOf(StagingWays& ways, size_t bytes, const Machine& machine, int count) {
  int wide = 0;
  for (int i = 0; i < count; ++i) {
    StagingWay& way = ways.of(bytes);
    way.choose(kWideBytes);
    const double cost = way.past() ? machine.past : way.wide() ? machine.wide : machine.through;
    wide += way.wide() ? 1 : 0;
    way.learn(static_cast<uint64_t>(cost * static_cast<double>(bytes)), bytes);
    way.posted();
    ways.heard(80);
  }
  return wide;
}

/// Short messages meet the narrow area so seldom again that it is as good for them; a trial leads
/// to it. Long ones do not have to find out first that this does not hold for them.
TEST(StagingWay, whatIsLearntOfShortMessagesIsNotHeldOfLongOnes) {
  constexpr Machine kShort{0.1, 0.14, 0.12}, kLong{0.24, 0.14, 0.12};
  StagingWays ways;
  wideOf(ways, 4096, kShort, 4000);
  EXPECT_LT(wideOf(ways, 4096, kShort, 100), 50);
  EXPECT_GT(wideOf(ways, 16384, kLong, 200), 190);
  EXPECT_LT(wideOf(ways, 4096, kShort, 100), 50);
}

}  // namespace
}  // namespace rondo
