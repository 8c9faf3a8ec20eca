// Groups of short collectives that need each other's results: right, or refused.

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <vector>

#include "support/world.h"

namespace rondo::testing {
namespace {

/// What each rank does on its slots; roots' calls have buffers that only roots use, so that one
/// rank alone would refuse.
enum class Kind : uint8_t {
  AllReduce,
  Broadcast,
  AllGather,
  ReduceScatter,
  AllToAll,
  Scan,
  Barrier
};
constexpr int kKinds = 7;
constexpr size_t kSlots = 10, kMost = 64;

struct Step {
  Kind kind;
  size_t count;
  size_t from, to;  ///< Slots.
  int root;
};

/// By rank: its slots.
class Memory {
 public:
  Memory(int ranks, std::mt19937& random) : ranks_(static_cast<size_t>(ranks)) {
    for (size_t r = 0; r < ranks_; ++r) {
      for (uint32_t& each : all_.emplace_back(kSlots * slot())) each = random();
    }
  }
  size_t slot() const { return ranks_ * kMost; }
  std::vector<uint32_t>& of(int rank) { return all_[static_cast<size_t>(rank)]; }
  uint32_t* at(size_t rank, size_t slot) { return all_[rank].data() + slot * this->slot(); }

  /// The step as it is described, after all before it.
  void apply(const Step& step) {
    Memory before = *this;
    for (size_t r = 0; r < ranks_; ++r) {
      uint32_t* const to = at(r, step.to);
      for (size_t i = 0; i < step.count; ++i) {
        switch (step.kind) {
          case Kind::AllReduce:
            to[i] = before.sum(step.from, i, ranks_);
            break;
          case Kind::ReduceScatter:
            to[i] = before.sum(step.from, r * step.count + i, ranks_);
            break;
          case Kind::Scan:
            to[i] = before.sum(step.from, i, r + 1);
            break;
          case Kind::Broadcast:
            to[i] = before.at(static_cast<size_t>(step.root), step.from)[i];
            break;
          case Kind::AllGather:
          case Kind::AllToAll:
            for (size_t q = 0; q < ranks_; ++q) {
              const size_t block = step.kind == Kind::AllToAll ? r * step.count : 0;
              to[q * step.count + i] = before.at(q, step.from)[block + i];
            }
            break;
          case Kind::Barrier:
            break;
        }
      }
    }
  }

 private:
  uint32_t sum(size_t slot, size_t i, size_t ranks) {
    uint32_t out = 0;
    for (size_t q = 0; q < ranks; ++q) out += at(q, slot)[i];
    return out;
  }

  size_t ranks_;
  std::vector<std::vector<uint32_t>> all_;
};

rondoResult_t call(std::vector<uint32_t>& memory, size_t slot, const Step& step, rondoComm_t comm) {
  const uint32_t* const from = memory.data() + step.from * slot;
  uint32_t* const to = memory.data() + step.to * slot;
  switch (step.kind) {
    case Kind::AllReduce:
      return rondoAllReduce(from, to, step.count, rondoUint32, rondoSum, comm, nullptr);
    case Kind::Broadcast:
      return rondoBroadcast(from, to, step.count, rondoUint32, step.root, comm, nullptr);
    case Kind::AllGather:
      return rondoAllGather(from, to, step.count, rondoUint32, comm, nullptr);
    case Kind::ReduceScatter:
      return rondoReduceScatter(from, to, step.count, rondoUint32, rondoSum, comm, nullptr);
    case Kind::AllToAll:
      return rondoAllToAll(from, to, step.count, rondoUint32, comm, nullptr);
    case Kind::Scan:
      return rondoScan(from, to, step.count, rondoUint32, rondoSum, comm, nullptr);
    case Kind::Barrier:
      break;
  }
  return rondoBarrier(comm, nullptr);
}

/// Of one to four neighbouring kinds, so that alike calls and mixed ones meet.
std::vector<Step> stepsOf(std::mt19937& random, int ranks) {
  const auto below = [&random](size_t most) { return static_cast<size_t>(random()) % most; };
  const size_t steps = 2 + below(7), kinds = 1 + below(4), first = below(kKinds);
  std::vector<Step> out;
  for (size_t s = 0; s < steps; ++s) {
    Step step{static_cast<Kind>((first + below(kinds)) % kKinds), 1 + below(4), below(kSlots), 0,
              below(2) == 0 ? 0 : static_cast<int>(below(static_cast<size_t>(ranks)))};
    if (below(6) == 0) step.count = kMost;
    if (below(12) == 0) step.count = 0;
    step.to = (step.from + 1 + below(kSlots - 1)) % kSlots;
    const bool mayStay = step.kind == Kind::AllReduce || step.kind == Kind::Scan;
    if (step.kind == Kind::Broadcast || (mayStay && below(4) == 0)) step.to = step.from;
    out.push_back(step);
  }
  return out;
}

rondoResult_t grouped(std::vector<uint32_t>& memory, size_t slot, const std::vector<Step>& steps,
                      rondoComm_t comm) {
  rondoResult_t result = rondoGroupStart();
  for (const Step& step : steps) {
    if (const rondoResult_t bad = call(memory, slot, step, comm)) result = bad;
  }
  const rondoResult_t end = rondoGroupEnd();
  return result != rondoSuccess ? result : end;
}

class WorldDependentGroup : public ::testing::TestWithParam<int> {};

TEST_P(WorldDependentGroup, RandomStepsAreRightOrRefused) {
  std::atomic<int> refused = 0;
  World(GetParam()).run([&refused](const Rank& me) {
    std::mt19937 random(7);  // the same on all ranks
    for (int round = 0; round < 1500; ++round) {
      Memory memory(me.size, random), want = memory;
      const std::vector<Step> steps = stepsOf(random, me.size);
      for (const Step& step : steps) want.apply(step);
      const rondoResult_t result = grouped(memory.of(me.rank), memory.slot(), steps, me.comm);
      if (result != rondoSuccess) {
        ASSERT_EQ(result, rondoInvalidUsage) << rondoGetLastError(nullptr);
        refused += me.rank == 0 ? 1 : 0;
        continue;
      }
      ASSERT_EQ(memory.of(me.rank), want.of(me.rank)) << "round " << round;
    }
  });
  EXPECT_GT(refused, 20);
  EXPECT_LT(refused, 500);
}

INSTANTIATE_TEST_SUITE_P(World, WorldDependentGroup, ::testing::Values(2, 3));

// Alike calls behind a pass of mixed ones that ended early.
TEST(WorldDependentGroups, AlikeCallsBehindMixedOnes) {
  World(3).run([](const Rank& me) {
    uint32_t x = me.rank == 0 ? 1 : 0, a = 77, b = 77;
    ASSERT_EQ(rondoGroupStart(), rondoSuccess);
    rondoBroadcast(&x, &x, 1, rondoUint32, 0, me.comm, nullptr);
    rondoAllReduce(&x, &a, 1, rondoUint32, rondoSum, me.comm, nullptr);
    rondoAllReduce(&a, &b, 1, rondoUint32, rondoSum, me.comm, nullptr);
    ASSERT_EQ(rondoGroupEnd(), rondoSuccess) << rondoGetLastError(nullptr);
    EXPECT_EQ(a, 3u);
    EXPECT_EQ(b, 9u);
  });
}

}  // namespace
}  // namespace rondo::testing
