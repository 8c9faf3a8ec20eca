// A block that goes to the peers past the caches is copied to its rank's own result with it.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "coll/registry.h"
#include "coll/runner.h"
#include "p2p/staging_way.h"

namespace rondo {
namespace {

constexpr uint64_t kChunk = 4096, kPeriods = 12, kRest = 640;
constexpr uint64_t kSlot = kPeriods * kChunk + kRest;
constexpr uint32_t kStamp = 7;

/// A rank of an all-gather of two, whose memory begins at a line or `off` bytes behind one.
struct Memory {
  explicit Memory(size_t off) : srcs(kSlot), dsts(2 * kSlot + 64 + off) {
    for (uint64_t i = 0; i < kSlot; ++i) srcs[i] = static_cast<char>(1 + i % 101);
    const auto address = reinterpret_cast<uintptr_t>(dsts.data());
    dst = dsts.data() + (64 - address % 64) % 64 + off;
  }
  bool hasOwn(uint64_t period) const {
    return std::memcmp(dst + period * kChunk, srcs.data() + period * kChunk, kChunk) == 0;
  }
  std::vector<char> srcs, dsts;
  char* dst;
};

/// A way that always goes past the caches, or never does.
StagingWay wayOf(bool past) {
  StagingWay way;
  way.choose(0);
  for (int i = 0; i < 300 || way.past() != past; ++i) {
    way.learn(way.past() == past ? 1000 : 10000, 1000);
    way.posted();
    way.choose(0);
  }
  return way;
}

/// Takes everything at once; `pattern` says of its messages in turn whether they go past the
/// caches.
class Everyone : public SendPort {
 public:
  Everyone(const Memory& memory, std::string pattern)
      : memory_(memory), pattern_(std::move(pattern)), space_(kChunk + 64) {}

  void* tryAcquire(size_t) override {
    if (full_) return full_ = false, nullptr;
    way_ = pattern_[posted_.size() % pattern_.size()] == 'p' ? &past_ : &through_;
    way_->choose(0);
    return space();
  }
  void post(size_t bytes, void*) override {
    const uint64_t period = posted_.size();
    if (period < kPeriods && memory_.hasOwn(period)) ++kept;
    posted_.push_back(std::string(space(), bytes));
    full_ = posted_.size() % 2 == 0;
  }
  bool tryPostInPlace(const void*, size_t, void*, Run) override { return false; }
  bool reaches(const void*, size_t) const override { return false; }
  bool drained() override { return true; }

  std::string sent() const {
    std::string all;
    for (const std::string& one : posted_) all += one;
    return all;
  }
  uint64_t kept = 0;

 private:
  char* space() {
    const auto address = reinterpret_cast<uintptr_t>(space_.data());
    return space_.data() + (64 - address % 64) % 64;
  }
  const Memory& memory_;
  std::string pattern_;
  std::vector<char> space_;
  std::vector<std::string> posted_;
  StagingWay past_ = wayOf(true), through_ = wayOf(false);
  bool full_ = false;
};

/// The peer: a message at every `every`th look.
class Peer : public RecvPort {
 public:
  explicit Peer(int every) : every_(every), data_(kChunk, 'x') {}
  bool tryPeek(Message* message) override {
    if (++looks_ % every_ != 0) return false;
    *message = {data_.data(), taken_ < kPeriods ? kChunk : kRest, kStamp, nullptr};
    return true;
  }
  void release() override { ++taken_; }

 private:
  int every_, looks_ = 0;
  uint64_t taken_ = 0;
  std::vector<char> data_;
};

/// Runs the all-gather, checks it, and returns how many own blocks were there when they were
/// posted.
uint64_t gather(const std::string& pattern, int every, size_t off, bool stream) {
  Memory memory(off);
  Channels channels;
  channels.ranks = 2;
  channels.chunkBytes = kChunk;
  channels.sends.resize(2);
  channels.pairRecvs.resize(2);
  channels.allRecvs.resize(2);
  auto port = std::make_unique<Everyone>(memory, pattern);
  const Everyone* const its = port.get();
  channels.sends[0] = std::move(port);
  channels.allRecvs[1] = std::make_unique<Peer>(every);

  const Plan plan = recordPlan(*findAlgorithm(Collective::AllGather, "direct"), {0, 2, 0},
                               {kSlot, 1, 1, kChunk, 1});
  const BoundPlan bound = bindPlan(plan, rondoInt8, rondoSum, {&channels, CpuLevel{}});
  Runner runner(2, channels.stamp.get());
  WaitPolicy policy;
  policy.aborted = [] { return false; };
  const HostCall call{memory.srcs.data(), memory.dst, stream, kStamp, false};
  EXPECT_EQ(runner.run(bound, call, policy), RunResult::Ok);
  EXPECT_EQ(its->sent(), std::string(memory.srcs.data(), kSlot));
  EXPECT_EQ(std::string(memory.dst, kSlot), std::string(memory.srcs.data(), kSlot));
  EXPECT_EQ(std::string(memory.dst + kSlot, kSlot), std::string(kSlot, 'x'));
  return its->kept;
}

TEST(KeptBlocks, AreCopiedWithWhatGoesPastTheCaches) {
  for (const int every : {1, 2, 3}) EXPECT_EQ(gather("p", every, 0, true), kPeriods) << every;
}

TEST(KeptBlocks, AreCopiedByThemselvesWhereThatIsNotOnePass) {
  EXPECT_LT(gather("t", 1, 0, true), kPeriods) << "through the caches";
  EXPECT_LT(gather("p", 1, 0, false), kPeriods) << "a result that the caches hold";
  EXPECT_LT(gather("p", 1, 16, true), kPeriods) << "a result that begins within a line";
}

TEST(KeptBlocks, OneThatGoesAnotherWayDoesNotEndThem) {
  EXPECT_GE(gather("ppppppt", 1, 0, true), kPeriods - 4);
}

/// The writer's way may change from message to message: each block is copied once, or twice, but
/// none is left out.
TEST(KeptBlocks, NoneIsLeftOutWhereWaysChange) {
  for (const char* pattern : {"pt", "tp", "ppt", "ttp", "tppp", "pttt", "ppptttpp"}) {
    for (const int every : {1, 2, 3, 5}) {
      SCOPED_TRACE(pattern);
      gather(pattern, every, 0, true);
    }
  }
}

}  // namespace
}  // namespace rondo
