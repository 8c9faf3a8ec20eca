// What a rank copies for itself does not keep waiting whom it receives from.

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "coll/registry.h"
#include "coll/runner.h"

namespace rondo {
namespace {

constexpr uint64_t kChunk = 1000, kPeriods = 5, kRest = 300;
constexpr uint64_t kSlot = kPeriods * kChunk + kRest;
constexpr char kMine = 1, kTheirs = 2;

/// The root of a gather of two ranks in chunks; the other one is a port.
struct Root {
  std::vector<char> src = std::vector<char>(kSlot, kMine);
  std::vector<char> dst = std::vector<char>(2 * kSlot, 0);

  uint64_t ownPeriods() const {
    uint64_t n = 0;
    while (n < kPeriods && dst[n * kChunk] == kMine) ++n;
    return n;
  }
};

/// Has a message at every `every`th look, and notes how many periods of its own the root has copied
/// when it lets go of one.
class Leaf : public RecvPort {
 public:
  Leaf(const Root& root, int every, uint32_t stamp)
      : root_(root), every_(every), stamp_(stamp), data_(kChunk, kTheirs) {}

  bool tryPeek(Message* message) override {
    if (++looks_ % every_ != 0) return false;
    const uint64_t bytes = copiedBefore.size() < kPeriods ? kChunk : kRest;
    *message = {data_.data(), bytes, stamp_, nullptr};
    return true;
  }
  void release() override { copiedBefore.push_back(root_.ownPeriods()); }

  std::vector<uint64_t> copiedBefore;

 private:
  const Root& root_;
  int every_;
  uint32_t stamp_;
  std::vector<char> data_;
  int looks_ = 0;
};

/// Runs the gather; returns what the leaf noted.
std::vector<uint64_t> gather(Root* root, int every) {
  constexpr uint32_t kStamp = 7;
  Channels channels;
  channels.ranks = 2;
  channels.chunkBytes = kChunk;
  channels.sends.resize(2);
  channels.pairRecvs.resize(2);
  channels.allRecvs.resize(2);
  auto leaf = std::make_unique<Leaf>(*root, every, kStamp);
  Leaf* const its = leaf.get();
  channels.pairRecvs[1] = std::move(leaf);

  const Plan plan =
      recordPlan(*findAlgorithm(Collective::Gather, "direct"), {0, 2, 0}, {kSlot, 1, 1, kChunk, 1});
  const BoundPlan bound = bindPlan(plan, rondoInt8, rondoSum, {&channels, CpuLevel{}});
  Runner runner(2, channels.stamp.get());
  WaitPolicy policy;
  policy.aborted = [] { return false; };
  const HostCall call{root->src.data(), root->dst.data(), false, kStamp, false};
  EXPECT_EQ(runner.run(bound, call, policy), RunResult::Ok);
  return its->copiedBefore;
}

void expectGathered(const Root& root) {
  for (uint64_t i = 0; i < kSlot; ++i) {
    ASSERT_EQ(root.dst[i], kMine) << i;
    ASSERT_EQ(root.dst[kSlot + i], kTheirs) << i;
  }
}

TEST(LateCopies, WhatIsThereIsTakenBeforeOwnBlocksAreCopied) {
  Root root;
  const std::vector<uint64_t> copied = gather(&root, 1);
  ASSERT_EQ(copied.size(), kPeriods + 1);
  EXPECT_EQ(copied.back(), 0u) << "the sender waited for copies that are none of its business";
  expectGathered(root);
}

TEST(LateCopies, WaitingIsUsedForThem) {
  Root root;
  const std::vector<uint64_t> copied = gather(&root, 2);
  ASSERT_EQ(copied.size(), kPeriods + 1);
  for (uint64_t period = 0; period < kPeriods; ++period) {
    EXPECT_EQ(copied[period], period + 1) << "each wait is long enough for one";
  }
  expectGathered(root);
}

}  // namespace
}  // namespace rondo
