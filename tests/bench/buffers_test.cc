#include "../../benchmarks/rondo_bench/buffers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <vector>

#include "../../benchmarks/rondo_bench/pattern.h"
#include "../../benchmarks/rondo_bench/timing.h"
#include "../../benchmarks/rondo_bench/values.h"

namespace rondo::bench {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

/// Of buffers that are as large on all ranks.
RingPlan plan(size_t send, size_t recv, bool inPlace, bool hot) {
  const size_t common = std::max(send, recv);
  return planRing({send, recv, common, inPlace ? common : send + recv}, inPlace, hot, 64);
}

TEST(BenchRing, TouchesEnoughButNotTooMuch) {
  EXPECT_EQ(plan(4, 4, false, false).sets, 64u);
  EXPECT_EQ(plan(kMiB, kMiB, false, false).sets, 32u);
  EXPECT_EQ(plan(kMiB, kMiB, true, false).sets, 64u);
  EXPECT_EQ(plan(16 * kMiB, 16 * kMiB, false, false).sets, 2u);
  EXPECT_EQ(plan(256 * kMiB, 256 * kMiB, false, false).sets, 2u);
  EXPECT_EQ(plan(512 * kMiB, 512 * kMiB, false, false).sets, 1u);
  EXPECT_EQ(plan(4096 * kMiB, 4096 * kMiB, false, false).sets, 1u);
  EXPECT_EQ(plan(4, 4, false, true).sets, 1u);
  EXPECT_EQ(plan(0, 0, false, false).sets, 64u);
  // The rank that touches least decides how many are cold, the one that touches most how many fit.
  EXPECT_EQ(planRing({kMiB, 16 * kMiB, 16 * kMiB, 4 * kMiB}, false, false, 64).sets, 16u);
  EXPECT_EQ(planRing({kMiB, 127 * kMiB, 127 * kMiB, kMiB}, false, false, 64).sets, 8u);
}

TEST(BenchRing, BuffersDoNotOverlapOrShareCacheLines) {
  for (size_t bytes : {size_t{1}, size_t{63}, size_t{64}, size_t{4096}, size_t{5000}}) {
    const RingPlan ring = plan(bytes, bytes, false, false);
    EXPECT_EQ(ring.sendStride % 64, 0u);
    EXPECT_EQ(ring.setStride % 64, 0u);
    EXPECT_GE(ring.sendStride, bytes);
    EXPECT_GE(ring.setStride, ring.sendStride + bytes);
    EXPECT_GE(ring.blockBytes(), ring.sets * ring.setStride);
    EXPECT_EQ(ring.setStride / 64 % 2, 1u) << "sets would share few lines of a cache";
  }
  EXPECT_EQ(plan(64, 64, true, false).sendStride, 0u);
}

TEST(BenchRing, BuffersBeginAtOddMultiplesOfALine) {
  for (size_t line : {size_t{16}, size_t{64}, size_t{4096}}) {
    for (bool inPlace : {false, true}) {
      const RingPlan ring = planRing({5000, 300, 5000, 300}, inPlace, false, line);
      EXPECT_EQ(ring.sendStride % line, 0u) << line;
      EXPECT_EQ(ring.setStride % line, 0u) << line;
      EXPECT_EQ(ring.setStride / line % 2, 1u) << line;
      EXPECT_GE(ring.setStride, inPlace ? 5000u : ring.sendStride + 300u);
      if (!inPlace) {
        EXPECT_EQ(ring.sendStride / line % 2, 1u) << line;
      }
    }
  }
}

TEST(BenchRing, OffsetsLeaveRoomForWhatBeginsLater) {
  const RingPlan apart = planRing({5000, 300, 5000, 300}, false, false, 64, {60, 4});
  EXPECT_EQ(apart.sendStride % 64, 0u);
  EXPECT_EQ(apart.setStride % 64, 0u);
  EXPECT_GE(apart.sendStride + 4u, 60u + 5000u);
  EXPECT_GE(apart.setStride, apart.sendStride + 4u + 300u);
  const RingPlan one = planRing({5000, 300, 5000, 300}, true, false, 64, {60, 4});
  EXPECT_EQ(one.offsets.recv, 60u) << "one buffer begins at one place";
  EXPECT_GE(one.setStride, 60u + 5000u);
}

class PlainMemory : public Memory {
 public:
  void* allocate(size_t bytes, size_t align) override {
    return std::aligned_alloc(align, (bytes + align - 1) / align * align);
  }
  void release(void* block) override { std::free(block); }
};

/// A rank's buffers of a benchmark, as a call leaves them that does what it is to do.
class StrayRing {
 public:
  StrayRing(const char* name, bool inPlace)
      : layout_(findBenchmark(name)->place({2, 1, 1}, 100, inPlace)),
        plan_(planRing(extentOf(*findBenchmark(name), {2, 1, 1}, 400, 4, inPlace), inPlace, false,
                       64)),
        block_(memory_, plan_.blockBytes(), 64),
        ring_(block_, patterns_, layout_, plan_, inPlace) {
    ring_.prepare(1);
    ring_.guard(1);
  }
  char* send() const { return static_cast<char*>(const_cast<void*>(ring_.send(1))); }
  char* recv() const { return static_cast<char*>(ring_.recv(1)); }
  size_t sendBytes() const { return 4 * layout_.sendElements(); }
  size_t recvBytes() const { return 4 * layout_.recvElements(); }
  /// Strays after a byte has been changed, which is changed back.
  uint64_t with(char* byte) const {
    *byte ^= 1;
    const uint64_t strays = ring_.countStrays(1);
    *byte ^= 1;
    return strays;
  }
  uint64_t strays() const { return ring_.countStrays(1); }

 private:
  PlainMemory memory_;
  PatternSet patterns_{{findElementType("float32"), findOperator("sum"), 2}};
  Layout layout_;
  RingPlan plan_;
  Block block_;
  BufferRing ring_;
};

TEST(BenchRing, WhatIsWrittenBesideAResultOrIntoAnInputIsCounted) {
  for (const char* name : {"allreduce", "allgather", "gather", "scatter", "reduce_scatter"}) {
    for (const bool inPlace : {false, true}) {
      SCOPED_TRACE(std::string(name) + (inPlace ? " in place" : ""));
      const StrayRing ring(name, inPlace);
      char* const begin = inPlace ? std::min(ring.send(), ring.recv()) : ring.recv();
      char* const end = std::max(ring.recv() + ring.recvBytes(),
                                 inPlace ? ring.send() + ring.sendBytes() : nullptr);
      EXPECT_EQ(ring.strays(), 0u);
      EXPECT_EQ(ring.with(begin - 1), 1u);
      EXPECT_EQ(ring.with(begin - 64), 1u);
      EXPECT_EQ(ring.with(begin), 0u) << "the call's to write";
      EXPECT_EQ(ring.with(end - 1), 0u);
      EXPECT_EQ(ring.with(end), 1u);
      EXPECT_EQ(ring.with(end + 63), 1u);
      if (inPlace) continue;
      EXPECT_EQ(ring.with(ring.send()), 1u);
      EXPECT_EQ(ring.with(ring.send() - 1), 1u);
      EXPECT_EQ(ring.with(ring.send() + ring.sendBytes()), 1u);
    }
  }
}

TEST(BenchRing, AllLibrariesMeetAllSetsAndEachSetRests) {
  for (size_t sets : {1, 2, 3, 4, 7, 64}) {
    for (size_t contenders : {1, 2, 3}) {
      std::vector<std::set<size_t>> met(contenders);
      for (size_t round = 0; round < 12 * sets; ++round) {
        std::set<size_t> inRound;
        for (size_t place = 0; place < contenders; ++place) {
          const size_t c = contenderAt(round, place, contenders, sets);
          ASSERT_LT(c, contenders);
          inRound.insert(c);
          met[c].insert((round * contenders + place) % sets);
        }
        ASSERT_EQ(inRound.size(), contenders) << "a library is left out of a round";
      }
      if (contenders > 2) continue;  // the middle one of three keeps its sets
      for (const std::set<size_t>& each : met) EXPECT_EQ(each.size(), sets);
    }
  }
}

/// Samples that take the graphs in turn, two libraries in alternating order.
void checkGraphTurns(size_t sets, size_t calls) {
  const GraphTurns turns = graphTurns(sets, calls);
  ASSERT_GT(turns.sets, 0u);
  ASSERT_LE(turns.sets, sets);
  EXPECT_GE(turns.sets, sets == 4 ? 3 : (7 * sets + 7) / 8);
  EXPECT_EQ(turns.graphs * calls % turns.sets, 0u) << "the last graph ends where the first begins";
  std::set<size_t> taken[2];
  for (size_t round = 0; round < 2 * turns.graphs; ++round) {
    for (size_t place = 0; place < 2; ++place) {
      taken[alternating(round, place, 2)].insert((2 * round + place) % turns.graphs);
    }
  }
  EXPECT_EQ(taken[0].size(), turns.graphs);
  EXPECT_EQ(taken[1].size(), turns.graphs);
}

TEST(BenchRing, GraphsTakeAllLibrariesToAllSetsAtOneDistance) {
  for (size_t sets = 1; sets <= 64; ++sets) {
    for (size_t calls : {1, 2, 3, 7, 8, 16, 20, 64, 100, 1000}) {
      SCOPED_TRACE(std::to_string(sets) + " sets, " + std::to_string(calls) + " calls");
      checkGraphTurns(sets, calls);
    }
  }
  EXPECT_EQ(graphTurns(64, 20).graphs, 3u);
  EXPECT_EQ(graphTurns(64, 20).sets, 60u);
  EXPECT_EQ(graphTurns(2, 20).graphs, 1u);
}

TEST(BenchPattern, CountsEveryDifferentElement) {
  const ElementType& type = *findElementType("int16");
  const Pattern pattern(type, [](size_t i) { return Value{static_cast<double>(i + 1)}; });
  std::vector<int16_t> data(3 * kValuePeriod + 5);
  const size_t bytes = data.size() * sizeof data[0];
  pattern.fill(data.data(), bytes, 20);
  EXPECT_EQ(data[0], 21);
  EXPECT_EQ(data[kValuePeriod], 21);
  EXPECT_EQ(pattern.countDifferent(data.data(), bytes, 20), 0u);
  EXPECT_EQ(pattern.countDifferent(data.data(), bytes, 21), data.size());
  data.front() ^= 1;
  data[kValuePeriod] ^= 0x4000;
  data.back() ^= 1;
  EXPECT_EQ(pattern.countDifferent(data.data(), bytes, 20), 3u);
  pattern.fillInverted(data.data(), bytes, 20);
  EXPECT_EQ(pattern.countDifferent(data.data(), bytes, 20), data.size());
}

TEST(BenchPattern, MovedBlocksAreNoticed) {
  const Reduction reduction{findElementType("float32"), findOperator("sum"), 4};
  const Pattern pattern(*reduction.type, [&](size_t i) { return reducedValue(reduction, i); });
  for (size_t block = 1; block <= 1 << 16; block *= 2) {
    std::vector<float> data(2 * block);
    const size_t bytes = data.size() * sizeof(float);
    pattern.fill(data.data(), bytes, 0);
    std::rotate(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(block), data.end());
    EXPECT_GT(pattern.countDifferent(data.data(), bytes, 0), data.size() * 9 / 10) << block;
  }
}

}  // namespace
}  // namespace rondo::bench
