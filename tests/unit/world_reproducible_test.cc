// Of any bits at all: every reduction gives the same bits on every run, and with `reproducible` one
// association's, whatever the algorithm, its lanes and chunks, the kind of memory and the hosts.

#include <gtest/gtest.h>

#include "support/buffer.h"
#include "support/collective_case.h"
#include "support/tune_rules.h"
#include "support/wild_elements.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

struct Kind {
  Call call;
  rondoDataType_t type;
  rondoRedOp_t op;
};

/// Reductions of types whose results hang on the association: floats and complex numbers.
std::vector<Kind> kindsThatRound() {
  constexpr rondoDataType_t kTypes[] = {rondoFloat8e4m3, rondoFloat8e5m2, rondoFloat16,
                                        rondoBfloat16,   rondoFloat32,    rondoFloat64,
                                        rondoComplex64,  rondoComplex128};
  std::vector<Kind> kinds;
  for (int k = 0; k < kCalls; ++k) {
    const auto call = static_cast<Call>(k);
    if (!reduces(call)) continue;
    for (const rondoDataType_t type : kTypes) {
      for (const rondoRedOp_t op : kAllOps) {
        if (opDefined(type, op) && !(isScan(call) && op == rondoAvg)) {
          kinds.push_back({call, type, op});
        }
      }
    }
  }
  return kinds;
}

constexpr size_t kCount = 1201;

Case caseOf(const Kind& kind) {
  return {kind.call, kind.type, kind.op, kCount, 1, false, false, 5};
}

/// What the balanced tree over ranks lo .. hi - 1 gives of kValuePeriod elements.
std::vector<char> treeOf(const Kind& kind, int lo, int hi) {
  std::vector<std::vector<char>> parts;
  std::vector<const char*> inputs;
  for (int r = lo; r < hi; ++r) parts.push_back(wildElements(kind.type, r, kValuePeriod));
  for (const auto& part : parts) inputs.push_back(part.data());
  return plainReduce(kind.type, kind.op, kValuePeriod, inputs, true);
}

/// A rank's recvbuff after the call; `shared`: buffers are memory of rondoMemAlloc.
std::vector<char> resultOf(const Kind& kind, const Rank& me, bool shared) {
  const Case c = caseOf(kind);
  const Side side = sideOf(c, me.rank, me.size);
  const size_t element = typeSize(kind.type);
  Buffer send(side.sendCount * element, shared, 0), recv(side.recvCount * element, shared, element);
  lay(send.data(), side.sendCount, wildElements(kind.type, me.rank, kValuePeriod), 0);
  EXPECT_EQ(invoke(c, side, send.data(), recv.data(), me.rank, me.comm), rondoSuccess)
      << rondoGetLastError(me.comm) << "; " << c.text();
  return {recv.data(), recv.data() + recv.bytes()};
}

/// Of what the call leaves alone the mark stays.
void expectTheTree(const Kind& kind, const Rank& me, bool shared) {
  const Side side = sideOf(caseOf(kind), me.rank, me.size);
  const size_t element = typeSize(kind.type);
  const std::vector<char> got = resultOf(kind, me, shared);
  std::vector<char> wanted(got.size(), 0x5a);
  for (const Block& block : side.blocks) {
    if (!side.usesRecv || block.count == 0) continue;
    lay(wanted.data() + block.at * element, block.count, treeOf(kind, block.lo, block.hi),
        block.from);
  }
  const auto wrong = std::mismatch(got.begin(), got.end(), wanted.begin()).first - got.begin();
  EXPECT_EQ(wrong, static_cast<ptrdiff_t>(got.size()))
      << "rank " << me.rank << " of " << me.size << ", " << caseOf(kind).text()
      << (shared ? ", memory of rondoMemAlloc" : "");
}

/// One host; every second rank on another one; two hosts side by side.
std::vector<std::vector<int>> placements(int ranks) {
  std::vector<int> turns, halves;
  for (int r = 0; r < ranks; ++r) {
    turns.push_back(r % 2);
    halves.push_back(2 * r / ranks);
  }
  return {{}, turns, halves};
}

class WorldReproducibleBits : public ::testing::TestWithParam<int> {};

/// Several hosts take their time: with them one shape of each algorithm, and each kind with one of
/// the two kinds of memory.
TEST_P(WorldReproducibleBits, AreTheTreesHoweverTheyAreMade) {
  const Env on("RONDO_REPRODUCIBLE", "1");
  const std::vector<Kind> kinds = kindsThatRound();
  const auto rules =
      tuneRules([](const Algorithm& row) { return row.reproducible; }, {"", "/1", "/2/1K"});
  for (const std::vector<int>& hosts : placements(GetParam())) {
    for (const std::string& rule : rules) {
      if (!hosts.empty() && rule.find('/') != std::string::npos) continue;
      SCOPED_TRACE("RONDO_TUNE=" + rule + (hosts.empty() ? "" : ", two hosts"));
      World(GetParam()).tune(rule.c_str()).hosts(hosts).run([&](const Rank& me) {
        for (size_t k = 0; k < kinds.size(); ++k) {
          if (hosts.empty() || k % 2 == 0) expectTheTree(kinds[k], me, false);
          if (hosts.empty() || k % 2 == 1) expectTheTree(kinds[k], me, true);
          if (::testing::Test::HasFailure()) return;
        }
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(World, WorldReproducibleBits, ::testing::Values(2, 3, 6));

/// Results of all kinds, [kind][rank], of one communicator.
using Results = std::vector<std::vector<std::vector<char>>>;
Results run(int ranks, const std::string& rule, const std::vector<Kind>& kinds) {
  Results all(kinds.size(), std::vector<std::vector<char>>(static_cast<size_t>(ranks)));
  World(ranks).tune(rule.c_str()).run([&](const Rank& me) {
    for (size_t k = 0; k < kinds.size(); ++k) {
      all[k][static_cast<size_t>(me.rank)] = resultOf(kinds[k], me, false);
    }
  });
  return all;
}

/// Without `reproducible`, under every algorithm: two runs agree, and where all ranks get the same
/// result, all ranks.
TEST(WorldSameBits, EveryReductionUnderEveryAlgorithm) {
  constexpr int kRanks = 5;
  const std::vector<Kind> kinds = kindsThatRound();
  for (const std::string& rule : tuneRules([](const Algorithm&) { return true; }, {"/2/1K"})) {
    SCOPED_TRACE("RONDO_TUNE=" + rule);
    const Results first = run(kRanks, rule, kinds), again = run(kRanks, rule, kinds);
    for (size_t k = 0; k < kinds.size(); ++k) {
      ASSERT_EQ(again[k], first[k]) << caseOf(kinds[k]).text();
      if (kinds[k].call != Call::AllReduce) continue;
      for (const auto& other : first[k]) ASSERT_EQ(other, first[k][0]) << caseOf(kinds[k]).text();
    }
  }
}

}  // namespace
}  // namespace rondo::testing
