// What can be checked of budgets, memory and the cutting of transfers without a GPU.

#include <gtest/gtest.h>

#include <vector>

#include "coll/close_launch.h"
#include "coll/device_budget.h"
#include "coll/device_exchange.h"
#include "coll/device_lease.h"

namespace rondo::test {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr int kH200Blocks = 264;

int freeOf(int device, int total) { return total - DeviceBudget::room(device, total).taken; }

// Calls that are not captured follow whoever is before them, and let nobody come: whether that is
// the communicator's own next one is not known.
TEST(CloseLaunches, CallsFollowAndLetNobodyCome) {
  const auto closeOf = [](DependentLaunch use, bool possible, int blocks) {
    return CloseLaunch(use, possible, 8, nullptr).next(blocks, nullptr).ofCall();
  };
  for (const int blocks : {1, 4, 5, 8}) {
    EXPECT_EQ(closeOf(DependentLaunch::On, true, blocks), kFollows);
    EXPECT_EQ(closeOf(DependentLaunch::Eager, true, blocks), kFollows);
    EXPECT_EQ(closeOf(DependentLaunch::Off, true, blocks), 0);
    EXPECT_EQ(closeOf(DependentLaunch::On, false, blocks), 0) << "no device that can";
  }
}

// Fifty communicators get something, all of them together no more than there is, and memory as
// promised: 64 MiB for the first with its kernels, 4 for each further one.
TEST(Budget, FiftyCommunicatorsFitTheDeviceAndTheirMemory) {
  std::vector<DeviceBudget> taken(50);
  int sum = 0;
  for (size_t k = 0; k < taken.size(); ++k) {
    const int free = freeOf(7, kH200Blocks);
    EXPECT_EQ(free, kH200Blocks - sum);
    const int usual = DeviceBudget::usual(kH200Blocks, free);
    ASSERT_GE(usual, 1) << k;
    for (int ranks = 1; ranks <= kMaxPairRanks; ++ranks) {
      const uint64_t bytes = leaseBytes(ranks, leanShape(ranks, usual));
      EXPECT_LE(bytes, (k == 0 ? 56 : 4) * kMiB) << ranks << " ranks, " << usual << " blocks";
      const uint64_t passingOn = leaseBytes(ranks, leanShape(ranks, usual, true)) - bytes;
      EXPECT_LE(passingOn, (k == 0 ? 12 : 2) * kMiB + 256 * 1024) << ranks << " ranks";
      EXPECT_EQ(passingOn > 0, ranks > 1) << ranks << " ranks";
    }
    ASSERT_TRUE(taken[k].take(7, kH200Blocks, usual));
    sum += usual;
  }
  EXPECT_LE(sum, kH200Blocks);
  EXPECT_FALSE(DeviceBudget().take(7, kH200Blocks, kH200Blocks - sum + 1));
  EXPECT_EQ(freeOf(8, 10), 10);  // another device
  taken.clear();
  EXPECT_EQ(freeOf(7, kH200Blocks), kH200Blocks);
}

// Within 4 MiB a communicator of 19 blocks has windows for as many of them as fit, and no less of
// rings and sends than one of eight had.
TEST(Budget, LeanOnesKeepToTheirMemory) {
  constexpr int kLanes = 19;
  for (int ranks = 2; ranks <= kMaxPairRanks; ++ranks) {
    const LeaseShape lean = leanShape(ranks, kLanes), few = leaseShape(ranks, 8);
    EXPECT_LE(leaseBytes(ranks, lean), kLeanBytes) << ranks;
    EXPECT_GT(leaseBytes(ranks, leaseShape(ranks, kLanes)), kLeanBytes) << ranks;
    EXPECT_EQ(lean.pairLanes, few.pairLanes) << ranks;
    EXPECT_GE(lean.windowLL.lanes, 3) << ranks;
    EXPECT_GE(lean.ringLanes, ranks < 5 ? 4 : few.ringLanes) << ranks;
    if (ranks > kMaxWindowRanks) continue;
    EXPECT_GE(lean.windowLL128.lanes, ranks < 5 ? kLanes : 10) << ranks;
  }
  // Where no lines arrive whole LL has as many lanes as before.
  const LeaseShape slow = leanShape(4, kLanes, false, false);
  EXPECT_LE(leaseBytes(4, slow), kLeanBytes);
  EXPECT_EQ(slow.windowLL.lanes, leaseShape(4, kLanes).windowLL.lanes);
  EXPECT_GE(slow.ringLanes, 8);
  // Who asked for more than that many, or needs no more, has what there is for its blocks.
  EXPECT_EQ(leaseBytes(2, leanShape(2, 8)), leaseBytes(2, leaseShape(2, 8)));
  EXPECT_EQ(leaseBytes(2, leanShape(2, kLeanLanes + 1)),
            leaseBytes(2, leaseShape(2, kLeanLanes + 1)));
}

TEST(Budget, MovesWithItsOwner) {
  {
    DeviceBudget first;
    ASSERT_TRUE(first.take(9, 10, 6));
    DeviceBudget second(std::move(first));
    EXPECT_EQ(freeOf(9, 10), 4);
    DeviceBudget third;
    third = std::move(second);
    EXPECT_EQ(freeOf(9, 10), 4);
  }
  EXPECT_EQ(freeOf(9, 10), 10);
}

// Lanes cover a transfer without gap or overlap, none is empty, and blocks fit slots. A short one
// has no more lanes than the call says.
TEST(Cut, CoversATransfer) {
  const auto covers = [](const PairView& pairs, int most, uint64_t bytes) {
    const TransferCut cut = cutTransfer(pairs, most, bytes);
    ASSERT_GE(cut.lanes, 1);
    ASSERT_LE(cut.lanes, bytes < kAsksFrom ? most : pairs.lanes);
    EXPECT_GE(static_cast<uint64_t>(cut.lanes) * cut.perLane, bytes);
    EXPECT_LT(static_cast<uint64_t>(cut.lanes - 1) * cut.perLane, bytes);
    EXPECT_EQ(cut.perLane % 16, 0u);  // what is aligned stays so
    EXPECT_EQ(cut.block % 16, 0u);
    EXPECT_LE(pairs.lines != 0 ? cut.block / 15 * 16 : cut.block, kPairSlotBytes);
  };
  for (const int lanes : {1, 2, 5, 64}) {
    for (const int lines : {0, 1}) {
      PairView pairs{};
      pairs.lanes = lanes;
      pairs.lines = lines;
      for (const uint64_t bytes : {uint64_t{1}, uint64_t{479}, uint64_t{3840}, uint64_t{3841},
                                   uint64_t{100001}, uint64_t{1} << 20, (uint64_t{1} << 33) + 5}) {
        covers(pairs, lanes, bytes);
        covers(pairs, (lanes + 1) / 2, bytes);
      }
    }
  }
}

// A scatter's root has a lane with every rank, itself too, and with all of them no more than
// blocks.
TEST(Cut, ScattersLeaveNoBlockTwoLanes) {
  EXPECT_EQ(lanesOfScatter(pairLanes(2, 128), 128, 2), 64);
  EXPECT_EQ(lanesOfScatter(pairLanes(4, 128), 128, 4), 32);
  for (int ranks = 2; ranks <= kMaxPairRanks; ++ranks) {
    for (const int blocks : {1, 7, 33, 128}) {
      const int lanes = lanesOfScatter(pairLanes(ranks, blocks), blocks, ranks);
      EXPECT_GE(lanes, 1);
      EXPECT_LE(lanes, pairLanes(ranks, blocks));
      EXPECT_TRUE(lanes == 1 || lanes * ranks <= blocks) << ranks << " ranks, " << blocks;
    }
  }
}

// A launch has room for as many transfers of every queue, and blocks for all lanes.
TEST(Cut, LaunchesHaveRoom) {
  for (int ranks = 1; ranks <= kMaxPairRanks; ++ranks) {
    const int most = DeviceExchange::mostPerQueue(ranks);
    EXPECT_GE(most, 1);
    EXPECT_LE(2 * (ranks - 1) * most + 2 * most, kMostPieces) << ranks;
    for (const int lanes : {1, 2, 8, 33, 128}) {
      const int items = (2 * (ranks - 1) + 1) * leaseShape(ranks, lanes).pairLanes;
      EXPECT_LE(items, lanes * kMostHeld) << ranks << " ranks, " << lanes << " blocks";
    }
  }
}

// An offer holds any address that fits it, and tells a transfer from the one before, also where the
// number's kept bits wrap; counters that were all set to one value are no offer of the next.
TEST(Offer, HoldsAnAddressAndANumber) {
  const uint64_t there = 0x7f12'3456'7895;
  EXPECT_TRUE(fitsOffer(there, uint64_t{1} << 40));
  EXPECT_FALSE(fitsOffer(there, uint64_t{1} << 48));
  EXPECT_FALSE(fitsOffer(uint64_t{1} << 48, 1));
  for (const uint64_t number : {uint64_t{1}, uint64_t{65535}, uint64_t{65536}, uint64_t{1} << 40}) {
    EXPECT_EQ(packOffer(there, number) >> 16, there);
    EXPECT_EQ((packOffer(there, number) ^ number) & kOfferNumbers, 0u);
    EXPECT_NE((packOffer(there, number) ^ (number + 1)) & kOfferNumbers, 0u);
    EXPECT_EQ(packOffer(0, number) >> 16, 0u);
  }
  const uint64_t set = 0xfffffffafffffffau;
  EXPECT_NE((set ^ (set + 1)) & kOfferNumbers, 0u);
}

}  // namespace
}  // namespace rondo::test
