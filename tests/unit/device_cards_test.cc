// What ranks conclude from each other's devices before they share memory.

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifdef HAVE_CUDA

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "coll/device_budget.h"
#include "coll/device_lease.h"
#include "kernels/far.h"

namespace rondo {
namespace {

DeviceCard cardOf(unsigned char device, uint64_t process, bool together) {
  DeviceCard card{};
  card.device.fill(device);
  card.process = {process, 1};
  card.together = together ? 1 : 0;
  return card;
}

std::string turns(const std::vector<DeviceCard>& cards) { return turnsTaken(tenantsOf(cards)); }

constexpr int kBlocks = 264;  // of an H100

/// Nothing is promised to anybody.
DeviceCard roomyCard(unsigned char device) {
  DeviceCard card = cardOf(device, 1, true);
  card.room = {kBlocks, 0, 1};
  return card;
}
/// One rank a process, and of each kind of kernels what it gets without asking.
DeviceCard levelsCard(unsigned char device, int processes) {
  DeviceCard card = roomyCard(device);
  card.sharers = {processes, 1};
  card.blocksHeld = DeviceBudget::carrying(card.room.share(card.sharers), 0);
  card.room.taken = card.blocksHeld;
  return card;
}

int lanesOf(const std::vector<DeviceCard>& cards, std::string* why = nullptr) {
  std::string none;
  return agreedLanes(cards, why == nullptr ? &none : why);
}

TEST(DeviceCards, ThreadsOfAProcessAndGpusOfTheirOwnTakeNoTurns) {
  EXPECT_EQ(turns({cardOf(1, 1, false), cardOf(1, 1, false)}), "");
  EXPECT_EQ(turns({cardOf(1, 1, false), cardOf(2, 2, false), cardOf(3, 3, false)}), "");
  EXPECT_EQ(turns({}), "");
}

TEST(DeviceCards, ProcessesOnOneGpuTakeTurnsButUnderMps) {
  const std::string said = turns({cardOf(1, 1, false), cardOf(2, 2, false), cardOf(2, 3, false)});
  EXPECT_NE(said.find("ranks 1 and 2 are processes that share a GPU"), std::string::npos) << said;
  EXPECT_NE(said.find("nvidia-cuda-mps-control"), std::string::npos) << said;
  EXPECT_EQ(turns({cardOf(2, 2, true), cardOf(2, 3, true)}), "");
  EXPECT_NE(turns({cardOf(2, 2, true), cardOf(2, 3, false)}), "");
}

TEST(DeviceCards, RanksOfAProcessDivideWhatItHas) {
  const DeviceTenant one = cardOf(1, 1, true), other = cardOf(1, 2, true), far = cardOf(2, 2, true);
  const std::vector<DeviceTenant> tenants = {one, other, far, one};
  EXPECT_EQ(sharersOf(tenants, 0).processes, 2);
  EXPECT_EQ(sharersOf(tenants, 0).inProcess, 2);
  EXPECT_EQ(sharersOf(tenants, 1).inProcess, 1);
  EXPECT_EQ(sharersOf(tenants, 2).processes, 1);
  EXPECT_EQ((DeviceRoom{kBlocks, 32, 1}).share(sharersOf(tenants, 0)), 50);
  EXPECT_EQ((DeviceRoom{kBlocks, 32, 4}).share(sharersOf(tenants, 0)), 17);
  EXPECT_EQ((DeviceRoom{kBlocks, 200, 2}).share(sharersOf(tenants, 1)), 0);
}

// A rank of this host and one of another, a process each, on each of two devices.
TEST(DeviceCards, KernelsOfAllHostsRanksFitOnADevice) {
  EXPECT_EQ(lanesOf({roomyCard(1), roomyCard(2)}), 128);
  const std::vector<DeviceCard> cards = {levelsCard(1, 2), levelsCard(2, 2)};
  EXPECT_EQ(lanesOf(cards), 66);
  EXPECT_LE(2 * (66 + cards[0].blocksHeld), kBlocks);
}

TEST(DeviceCards, HoweverManyShareItAllFitOrTheSentenceSaysSo) {
  for (int processes = 1; processes <= kBlocks / 2; ++processes) {
    const DeviceCard card = levelsCard(1, processes);
    std::string why;
    const int lanes = lanesOf({card}, &why);
    EXPECT_LE(processes * (lanes + card.blocksHeld), kBlocks) << processes;
    if (lanes > 0) continue;
    EXPECT_GT(processes * (card.blocksHeld + 1), kBlocks) << processes;
    EXPECT_NE(why.find("for " + std::to_string(processes) + " processes"), std::string::npos)
        << why;
  }
}

// Choices follow from it, so all ranks must see the same: what one cannot, nobody does.
TEST(DeviceCards, WhoSharesAContext) {
  const auto in = [](uint64_t process, uint64_t context) {
    DeviceCard card = cardOf(1, process, true);
    card.context = context;
    return card;
  };
  const std::vector<DeviceCard> cards{in(1, 10), in(2, 10), in(2, 20), in(2, 10)};
  EXPECT_FALSE(sharesContext(cards, 0)) << "another process's has the address";
  EXPECT_TRUE(sharesContext(cards, 1));
  EXPECT_FALSE(sharesContext(cards, 2));
  EXPECT_TRUE(sharesContext(cards, 3));
  EXPECT_FALSE(sharesContext({in(1, 10)}, 0));
}

TEST(DeviceCards, AllComeAsCloseAsEveryoneMay) {
  const auto ofDevice = [](unsigned char device, uint64_t process) {
    DeviceCard card = cardOf(device, process, true);
    card.close = Close::kBeside;
    return card;
  };
  std::vector<DeviceCard> cards{ofDevice(1, 1), ofDevice(2, 2), ofDevice(3, 2)};
  EXPECT_EQ(agreedClose(cards), Close::kBeside);
  EXPECT_EQ(agreedClose({cards[0]}), Close::kBeside);
  cards[1].close = Close::kAtItsEnd;
  EXPECT_EQ(agreedClose(cards), Close::kAtItsEnd);
  cards[2].close = Close::kNot;
  EXPECT_EQ(agreedClose(cards), Close::kNot);
  cards[1].close = cards[2].close = Close::kBeside;
  cards.push_back(ofDevice(1, 1));
  EXPECT_EQ(agreedClose(cards), Close::kAtItsEnd) << "two of a process on one device";
  cards.back() = ofDevice(3, 4);
  EXPECT_EQ(agreedClose(cards), Close::kAtItsEnd) << "two processes on one device";
}

TEST(DeviceCards, WhatIsLeftIsSharedToo) {
  DeviceCard card = roomyCard(1);
  card.room.taken = 136;
  card.blocksHeld = 8;
  EXPECT_EQ(lanesOf({card}), 19);  // a fifth of 136 less 44
  card.room = {kBlocks, 38, 4};
  EXPECT_EQ(lanesOf({card}), 2);
  card.blocksWanted = 29;
  EXPECT_EQ(lanesOf({card}), 0);
  card.blocksWanted = 28;
  EXPECT_EQ(lanesOf({card}), 28);
}

TEST(DeviceCards, WhoAsksForNoMoreThanSomethingGetsLessWhereLessIsLeft) {
  DeviceCard card = roomyCard(1);
  card.blocksMost = 64;
  EXPECT_EQ(lanesOf({card}), 64);
  card.room.taken = 64;
  EXPECT_EQ(lanesOf({card}), 32) << "as without";
  card.room.taken = kBlocks - 1;
  EXPECT_EQ(lanesOf({card}), 1);
  card.room.taken = 0;
  card.blocksMost = 4 * kBlocks;
  EXPECT_EQ(lanesOf({card}), kShapeLL128.lanes) << "no more than without";
  card.blocksWanted = 28;
  EXPECT_EQ(lanesOf({card}), 28);
  card.blocksMost = 6;
  EXPECT_EQ(lanesOf({card}), 6);
}

// Communicators of few processes each do not know how many share the device; one of all has said.
TEST(DeviceCards, ManyCommunicatorsOfProcessesThatShareADeviceFitOnIt) {
  constexpr int kDevice = 4711, kProcesses = 4;
  std::vector<DeviceBudget> taken(30);
  DeviceBudget::sharedBy(kDevice, kProcesses);
  DeviceBudget::sharedBy(kDevice, 1);
  int sum = 0;
  for (DeviceBudget& budget : taken) {
    DeviceCard card = roomyCard(1);
    card.room = DeviceBudget::room(kDevice, kBlocks);
    EXPECT_EQ(card.room.taken, sum);
    const int lanes = lanesOf({card});
    ASSERT_GE(lanes, 1);
    ASSERT_TRUE(budget.take(kDevice, kBlocks, lanes));
    sum += lanes;
  }
  EXPECT_LE(kProcesses * sum, kBlocks);
  EXPECT_FALSE(DeviceBudget().take(kDevice, kBlocks, kBlocks / kProcesses - sum + 1));
}

// As in a group that makes them: all have looked before the first has taken anything.
TEST(DeviceCards, CommunicatorsThatAreMadeAtOnceAllFit) {
  constexpr int kDevice = 4712;
  struct Making {
    DeviceBudget budget;
    DeviceCard card;
  };
  std::vector<Making> made(5);
  for (Making& each : made) {
    each.card = roomyCard(1);
    each.card.room = each.budget.look(kDevice, kBlocks);
  }
  int sum = 0;
  for (size_t i = made.size(); i-- > 0;) {
    const int lanes = lanesOf({made[i].card});
    EXPECT_EQ(lanes, std::min(128, kBlocks >> (i + 1)));
    ASSERT_TRUE(made[i].budget.take(kDevice, kBlocks, lanes)) << i;
    sum += lanes;
  }
  EXPECT_EQ(DeviceBudget::room(kDevice, kBlocks).looking, 0);
  EXPECT_EQ(DeviceBudget::room(kDevice, kBlocks).taken, sum);
  DeviceCard later = roomyCard(1);
  later.room = DeviceBudget::room(kDevice, kBlocks);
  EXPECT_GE(lanesOf({later}), 1);
  made.clear();
  DeviceBudget alone;
  EXPECT_EQ(alone.look(kDevice, kBlocks).looking, 0);
  alone = DeviceBudget();  // it was not made
  EXPECT_EQ(DeviceBudget::room(kDevice, kBlocks).looking, 0);
}

// The same of further ones: each takes what it would after those that looked before it.
TEST(DeviceCards, FurtherOnesThatAreMadeAtOnceAllFit) {
  constexpr int kDevice = 4714;
  DeviceBudget first;
  ASSERT_TRUE(first.take(kDevice, kBlocks, 128));
  struct Making {
    DeviceBudget budget;
    DeviceCard card;
  };
  std::vector<Making> made(40);
  for (Making& each : made) {
    each.card = roomyCard(1);
    each.card.room = each.budget.look(kDevice, kBlocks);
  }
  int before = 128;
  for (Making& each : made) {
    const int lanes = lanesOf({each.card});
    EXPECT_GE(lanes, 1);
    EXPECT_LE(lanes, before);
    ASSERT_TRUE(each.budget.take(kDevice, kBlocks, lanes));
    before = lanes;
  }
  EXPECT_GE(lanesOf({made[2].card}), 12);
}

// A first communicator has memory for all of its blocks, a further one that asked for none keeps to
// its share.
TEST(DeviceCards, FurtherOnesAreLean) {
  constexpr int kLanes = 19;
  const auto bytesOf = [](const DeviceCard& card) {
    return leaseBytes(2, agreedShape({card, cardOf(2, 2, true)}, kLanes, false));
  };
  const uint64_t whole = leaseBytes(2, leaseShape(2, kLanes));
  DeviceCard card = roomyCard(1);
  EXPECT_EQ(bytesOf(card), whole);
  card.room.taken = 128;
  EXPECT_LE(bytesOf(card), kLeanBytes);
  card.blocksMost = kLanes;
  EXPECT_EQ(bytesOf(card), whole);
  card.blocksMost = 0;
  card.blocksWanted = kLanes;
  EXPECT_EQ(bytesOf(card), whole);
  card.blocksWanted = 0;
  card.blocksHeld = 128;
  EXPECT_EQ(bytesOf(card), whole) << "its own, between hosts";
}

// Ranks of one communicator that share a device in a process are no others.
TEST(DeviceCards, RanksOfACommunicatorAreNotTakenForOthers) {
  constexpr int kDevice = 4713;
  std::vector<DeviceBudget> budgets(4);
  std::vector<DeviceCard> cards;
  for (DeviceBudget& budget : budgets) {
    cards.push_back(roomyCard(1));
    cards.back().room = budget.look(kDevice, kBlocks);
  }
  EXPECT_EQ(lanesOf(cards), kBlocks / 4 / 2);
}

TEST(DeviceCards, WhoTalksToTheHostTakesASixteenthAndTwoAtLeast) {
  EXPECT_EQ(DeviceBudget::carrying(264, 0), 2 * kFarBlocks);
  EXPECT_EQ(DeviceBudget::carrying(132, 0), 8);
  EXPECT_EQ(DeviceBudget::carrying(3, 0), 2);
  EXPECT_EQ(DeviceBudget::carrying(264, 1), 2);
  EXPECT_EQ(DeviceBudget::carrying(264, 7), 6) << "as many for sends";
  EXPECT_EQ(DeviceBudget::carrying(264, 200), 2 * kFarBlocks);
  EXPECT_EQ(DeviceBudget::carrying(264, 0, 4), 4);
  EXPECT_EQ(DeviceBudget::carrying(264, 7, 4), 4);
  EXPECT_EQ(DeviceBudget::carrying(216, 0), 12) << "a sixteenth is 13";
  EXPECT_EQ(DeviceBudget::carrying(264, 0, 1), 2);
}

}  // namespace
}  // namespace rondo

#endif
