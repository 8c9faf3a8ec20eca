// Every collective, type and operator at every number of ranks, equal in every bit to a plain
// reference. Algorithms, counts, in place, roots, memory and alignment are sampled. With
// RONDO_FULL_GRID=1 (half an hour on two busy cores; GTEST_TOTAL_SHARDS splits it) every collective
// x type x operator x count x in place runs at every number of ranks: up to 2 ranks under every
// rule, from there on under the planner's choice and one rule more, in turn.

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>

#include "support/buffer.h"
#include "support/collective_case.h"
#include "support/tune_rules.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

/// How a rank's buffers lie.
struct Placement {
  uint32_t sharedSend, sharedRecv;  ///< Bit r: rank r's buffer is from rondoMemAlloc.
  size_t skew;                      ///< Bytes off alignment, other ones at every rank.
};

struct Sample {
  Case call;
  Placement place;
  std::string text() const {
    return call.text() + " shared " + std::to_string(place.sharedSend) + "/" +
           std::to_string(place.sharedRecv) + " skew " + std::to_string(place.skew);
  }
};

/// Makes the call with sendbuff and recvbuff apart.
void checkApart(const Rank& me, const Sample& s, const Side& side) {
  const size_t element = typeSize(s.call.type);
  const auto shared = [&](uint32_t bits) { return (bits >> me.rank & 1) != 0; };
  const size_t skew = s.place.skew * static_cast<size_t>(me.rank % 3);
  // A buffer that does not count is NULL, or memory that must stay as it is.
  const bool null = (s.call.salt & 1) != 0;
  Buffer send(side.sendCount * element, shared(s.place.sharedSend), skew);
  Buffer recv(side.recvCount * element, shared(s.place.sharedRecv), 3 * skew);
  if (side.usesSend) lay(send.data(), side.sendCount, inputPattern(s.call, me.rank), 0);
  const std::vector<char> sent(send.data(), send.data() + send.bytes());
  std::vector<char> wanted(recv.data(), recv.data() + recv.bytes());
  applyBlocks(s.call, side, wanted.data());
  const void* in = side.usesSend || !null ? send.data() : nullptr;
  void* out = side.usesRecv || !null ? recv.data() : nullptr;
  ASSERT_EQ(invoke(s.call, side, in, out, me.rank, me.comm), rondoSuccess)
      << rondoGetLastError(me.comm) << "; " << s.text();
  const size_t wrong = firstWrong(recv.data(), recv.bytes(), wanted);
  EXPECT_EQ(wrong, recv.bytes()) << "rank " << me.rank << " of " << me.size << ", " << s.text();
  EXPECT_EQ(firstWrong(send.data(), send.bytes(), sent), send.bytes())
      << "sendbuff changed, " << s.text();
  EXPECT_TRUE(send.intact() && recv.intact()) << s.text();
}

/// Makes the call with one buffer inside the other.
void checkInPlace(const Rank& me, const Sample& s, const Side& side) {
  const size_t element = typeSize(s.call.type);
  const auto before = static_cast<size_t>(side.alias < 0 ? -side.alias : 0);
  const auto past = static_cast<size_t>(side.alias > 0 ? side.alias : 0);
  const size_t count = std::max(before + side.recvCount, past + side.sendCount);
  const size_t skew = s.place.skew * static_cast<size_t>(me.rank % 3);
  Buffer both(count * element, (s.place.sharedSend >> me.rank & 1) != 0, skew);
  char* const in = both.data() + past * element;
  char* const out = both.data() + before * element;
  if (side.usesSend) lay(in, side.sendCount, inputPattern(s.call, me.rank), 0);
  // Of sendbuff only what recvbuff covers may change.
  std::vector<char> wanted(both.data(), both.data() + both.bytes());
  applyBlocks(s.call, side, wanted.data() + before * element);
  ASSERT_EQ(invoke(s.call, side, in, out, me.rank, me.comm), rondoSuccess)
      << rondoGetLastError(me.comm) << "; " << s.text();
  const size_t wrong = firstWrong(both.data(), both.bytes(), wanted);
  EXPECT_EQ(wrong, both.bytes()) << "rank " << me.rank << " of " << me.size << ", " << s.text();
  EXPECT_TRUE(both.intact()) << s.text();
}

void check(const Rank& me, const Sample& s) {
  const Side side = sideOf(s.call, me.rank, me.size);
  if (s.call.inPlace && side.mayAlias) {
    checkInPlace(me, s, side);
  } else {
    checkApart(me, s, side);
  }
}

/// Tune rules that together run every algorithm of the registry, with its usual chunks and with
/// chunks of 1 KiB. The first is the planner's choice.
std::vector<std::string> allRules() {
  return tuneRules([](const Algorithm&) { return true; }, {"", "/2/1K"});
}

/// Bytes of a staging chunk under a rule.
size_t chunkOf(const std::string& rule) {
  return rule.find("/1K") != std::string::npos ? 1024 : 32768;
}

struct Kind {
  Call call;
  rondoDataType_t type;
  rondoRedOp_t op;
};

/// Every collective x type x operator where it is defined.
std::vector<Kind> allKinds() {
  std::vector<Kind> kinds;
  for (int k = 0; k < kCalls; ++k) {
    const auto call = static_cast<Call>(k);
    for (const rondoDataType_t type : kAllTypes) {
      if (!reduces(call)) {
        kinds.push_back({call, type, rondoSum});
        continue;
      }
      for (const rondoRedOp_t op : kAllOps) {
        if (opMakesSense(type, op) && !(isScan(call) && op == rondoAvg)) {
          kinds.push_back({call, type, op});
        }
      }
    }
  }
  return kinds;
}

/// Nothing, little, odd numbers, and the boundaries of chunks and of blocks of chunks. What takes
/// too long with every type is left out, but for one large count in the full grid.
std::vector<size_t> allCounts(int ranks, size_t element, size_t chunk, bool full) {
  constexpr size_t kMostBytes = 300'000;
  const size_t block = chunk / element, n = static_cast<size_t>(ranks);
  std::vector<size_t> counts{0, 1, 3, n, 257, 4096 / element};
  for (const size_t edge : {block, 2 * block, n * block}) {
    if (edge > kMostBytes / element) continue;
    for (const size_t count : {edge - 1, edge, edge + 1}) counts.push_back(count);
  }
  if (full) counts.push_back(kMostBytes / (ranks > 8 ? 4 : 1) / element + 1);
  return counts;
}

Sample sample(std::mt19937& random, const Kind& kind, int ranks, size_t count) {
  const auto bits = [&random] {
    const auto any = static_cast<uint32_t>(random());
    const uint32_t some[] = {0, ~0u, any, any};
    return some[random() % 4];
  };
  const size_t element = typeSize(kind.type);
  const size_t skews[] = {0, 0, element, 1, 5};
  Sample s;
  s.call = {kind.call, kind.type, kind.op, count, 0, random() % 2 == 0, false, 0};
  s.call.root = static_cast<int>(random() % static_cast<unsigned>(ranks));
  s.call.gaps = hasDispls(kind.call) && random() % 2 == 0;
  s.call.salt = static_cast<unsigned>(random() % 1000);
  s.place = {bits(), bits(), skews[random() % 5]};
  return s;
}

/// Groups of near ranks for hierarchies, of any sizes; other algorithms do not look at them.
std::string someGroups(std::mt19937& random, int ranks) {
  std::string text = "0";
  for (int r = 1; r < ranks; ++r) text += "," + std::to_string(random() % 4);
  return text;
}

void runSamples(int ranks, const std::string& rule, const std::vector<Sample>& samples,
                const std::string& groups = "") {
  SCOPED_TRACE("RONDO_TUNE=" + rule + " RONDO_GROUPS=" + groups);
  World(ranks).tune(rule.c_str()).groups(groups).run([&](const Rank& me) {
    for (const Sample& s : samples) {
      check(me, s);
      if (::testing::Test::HasFailure()) return;
    }
  });
}

constexpr int kWorlds[] = {1, 2, 3, 4, 5, 7, 8, 16};

/// One number of ranks under one rule.
struct Cell {
  int ranks;
  size_t rule;
};

std::vector<Cell> allCells() {
  std::vector<Cell> cells;
  for (const int ranks : kWorlds) {
    for (size_t r = 0; r < allRules().size(); ++r) cells.push_back({ranks, r});
  }
  return cells;
}

class WorldConformance : public ::testing::TestWithParam<Cell> {
 protected:
  /// Whether combination `number` of kind, count and in place runs under rule r in the full grid.
  bool isChosen(size_t number) const {
    const size_t r = GetParam().rule, others = allRules().size() - 1;
    return GetParam().ranks <= 2 || r == 0 || number % others == r - 1;
  }
};

TEST_P(WorldConformance, EqualsThePlainReference) {
  const auto [ranks, r] = GetParam();
  const bool full = std::getenv("RONDO_FULL_GRID") != nullptr;
  const std::vector<std::string> rules = allRules();
  const std::vector<Kind> kinds = allKinds();
  std::mt19937 random(static_cast<unsigned>(ranks * 100 + static_cast<int>(r)) + 2026);
  std::vector<Sample> samples;
  size_t number = 0;
  for (size_t k = 0; k < kinds.size(); ++k) {
    const Kind& kind = kinds[k];
    const auto counts = allCounts(ranks, typeSize(kind.type), chunkOf(rules[r]), full);
    if (!full) {
      if ((k + r) % rules.size() != 0) continue;  // under one rule each
      samples.push_back(sample(random, kind, ranks, counts[random() % counts.size()]));
      continue;
    }
    for (const size_t count : counts) {
      for (const bool inPlace : {false, true}) {
        if (!isChosen(number++)) continue;
        samples.push_back(sample(random, kind, ranks, count));
        samples.back().call.inPlace = inPlace;
      }
    }
  }
  RecordProperty("calls", static_cast<int>(samples.size()));
  if (full) std::cout << samples.size() << " calls\n";
  runSamples(ranks, rules[r], samples, r == 0 ? "" : someGroups(random, ranks));
}

INSTANTIATE_TEST_SUITE_P(World, WorldConformance, ::testing::ValuesIn(allCells()),
                         [](const auto& cell) {
                           return std::to_string(cell.param.ranks) + "_ranks_rule_" +
                                  std::to_string(cell.param.rule);
                         });

TEST(WorldConformanceEdges, EveryCallAroundTheChunkUnderEveryRule) {
  constexpr int kRanks = 3;
  std::mt19937 random(71);
  for (const std::string& rule : allRules()) {
    std::vector<Sample> samples;
    for (int k = 0; k < kCalls; ++k) {
      const Kind kind{static_cast<Call>(k), rondoInt16, rondoSum};
      for (const size_t count : allCounts(kRanks, 2, chunkOf(rule), false)) {
        samples.push_back(sample(random, kind, kRanks, count));
      }
    }
    runSamples(kRanks, rule, samples);
  }
}

TEST(WorldConformanceEdges, EveryRoot) {
  constexpr int kRanks = 5;
  std::mt19937 random(72);
  for (const std::string& rule : allRules()) {
    std::vector<Sample> samples;
    for (int k = 0; k < kCalls; ++k) {
      const Kind kind{static_cast<Call>(k), rondoFloat32, rondoSum};
      if (!isRooted(kind.call)) continue;
      for (int root = 0; root < kRanks; ++root) {
        for (const bool inPlace : {false, true}) {
          samples.push_back(sample(random, kind, kRanks, 700));
          samples.back().call.root = root;
          samples.back().call.inPlace = inPlace;
        }
      }
    }
    runSamples(kRanks, rule, samples);
  }
}

TEST(WorldConformanceEdges, LargeOnes) {
  constexpr int kRanks = 3;
  std::mt19937 random(73);
  std::vector<Sample> samples;
  for (int k = 0; k < kCalls; ++k) {  // results of megabytes are written past the caches
    const Kind kind{static_cast<Call>(k), rondoFloat64, rondoMax};
    for (const bool inPlace : {false, true}) {
      samples.push_back(sample(random, kind, kRanks, 600'001));
      samples.back().call.inPlace = inPlace;
    }
  }
  runSamples(kRanks, "", samples);
}

}  // namespace
}  // namespace rondo::testing
