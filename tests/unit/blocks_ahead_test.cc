// A rank hands on its next block while it waits for a peer's.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "coll/registry.h"
#include "coll/runner.h"

namespace rondo {
namespace {

constexpr uint64_t kChunk = 1000, kPeriods = 5, kRest = 300;
constexpr uint64_t kSlot = kPeriods * kChunk + kRest;
constexpr uint32_t kStamp = 7;
constexpr char kMine = 1, kTheirs = 2;

/// Takes as many messages as a channel's area holds more than the peer has read.
class Out : public SendPort {
 public:
  void* tryAcquire(size_t) override { return posted < read + 2 ? space_.data() : nullptr; }
  void post(size_t bytes, void*) override {
    ++posted;
    good &= bytes == (posted <= kPeriods ? kChunk : kRest) && space_[0] == kMine;
  }
  bool tryPostInPlace(const void*, size_t, void*, Run) override { return false; }
  bool reaches(const void*, size_t) const override { return false; }
  bool drained() override { return true; }

  uint64_t posted = 0, read = 0;
  bool good = true;

 private:
  std::vector<char> space_ = std::vector<char>(kChunk);
};

/// A peer that gives its block of a period only once it has the next one of this rank, which it
/// then reads; after some looks all the same.
class In : public RecvPort {
 public:
  explicit In(Out* out) : out_(out) {}

  bool tryPeek(Message* message) override {
    const bool there = out_->posted >= std::min(given_ + 2, kPeriods);
    if (!there && ++looks_ < 1000) return false;
    early += there ? 0 : 1;
    looks_ = 0;
    *message = {data_.data(), given_ < kPeriods ? kChunk : kRest, kStamp, nullptr};
    return true;
  }
  void release() override {
    ++given_;
    ++out_->read;
  }

  uint64_t early = 0;  // blocks that it had to give without having the next

 private:
  Out* out_;
  uint64_t given_ = 0;
  int looks_ = 0;
  std::vector<char> data_ = std::vector<char>(kChunk, kTheirs);
};

TEST(BlocksAhead, OneMoreIsPostedWhileARankWaits) {
  Channels channels;
  channels.ranks = 2;
  channels.chunkBytes = kChunk;
  channels.sends.resize(2);
  channels.pairRecvs.resize(2);
  channels.allRecvs.resize(2);
  auto out = std::make_unique<Out>();
  Out* const its = out.get();
  auto in = std::make_unique<In>(its);
  In* const theirs = in.get();
  channels.sends[0] = std::move(out);
  channels.allRecvs[1] = std::move(in);

  const Plan plan = recordPlan(*findAlgorithm(Collective::AllGather, "direct"), {0, 2, 0},
                               {kSlot, 1, 1, kChunk, 1});
  const BoundPlan bound = bindPlan(plan, rondoInt8, rondoSum, {&channels, CpuLevel{}});
  Runner runner(2, channels.stamp.get());
  WaitPolicy policy;
  policy.aborted = [] { return false; };
  const std::vector<char> src(kSlot, kMine);
  std::vector<char> dst(2 * kSlot, 0), wanted(kSlot, kMine);
  wanted.resize(2 * kSlot, kTheirs);
  EXPECT_EQ(runner.run(bound, {src.data(), dst.data(), false, kStamp, false}, policy),
            RunResult::Ok);
  EXPECT_EQ(dst, wanted);
  EXPECT_TRUE(its->good);
  EXPECT_EQ(its->posted, kPeriods + 1);
  // Every second period has two at once; in the others the area is full until the peer has read.
  EXPECT_LE(theirs->early, kPeriods / 2);
}

}  // namespace
}  // namespace rondo
