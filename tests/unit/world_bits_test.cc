// Any bits at all (NaN, infinities, -0, denormals): all ranks and all runs agree, on every level of
// the CPU, and the algorithms that reduce in rank order give exactly the plain answer.

#include <gtest/gtest.h>

#include <span>

#include "coll/reduce/reduce.h"
#include "support/values.h"
#include "support/wild_elements.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

using Bytes = std::vector<char>;
constexpr size_t kCount = 3001;

struct Kind {
  rondoDataType_t type;
  rondoRedOp_t op;
};

/// What of `types` and all operators is defined.
std::vector<Kind> definedKinds(std::span<const rondoDataType_t> types) {
  std::vector<Kind> kinds;
  for (const rondoDataType_t type : types) {
    for (const rondoRedOp_t op : kAllOps) {
      if (opDefined(type, op)) kinds.push_back({type, op});
    }
  }
  return kinds;
}

/// Every rank's results of all-reduces, one of each kind: [kind][rank]. inputs: [kind][rank].
/// One communicator makes them all: to make it takes longer than a hundred of these calls.
using Results = std::vector<std::vector<Bytes>>;
Results results(int ranks, const char* rule, const std::vector<Kind>& kinds,
                const Results& inputs) {
  Results all(kinds.size(), std::vector<Bytes>(static_cast<size_t>(ranks)));
  World(ranks).tune(rule).run([&](const Rank& me) {
    for (size_t k = 0; k < kinds.size(); ++k) {
      const Bytes& mine = inputs[k][static_cast<size_t>(me.rank)];
      Bytes& out = all[k][static_cast<size_t>(me.rank)];
      out.resize(mine.size());
      EXPECT_EQ(rondoAllReduce(mine.data(), out.data(), kCount, kinds[k].type, kinds[k].op, me.comm,
                               nullptr),
                rondoSuccess)
          << rondoGetLastError(me.comm);
    }
  });
  return all;
}

Results randomInputs(int ranks, const std::vector<Kind>& kinds) {
  Results inputs;
  for (size_t k = 0; k < kinds.size(); ++k) {
    if (k > 0 && kinds[k].type == kinds[k - 1].type) {
      inputs.push_back(inputs.back());
      continue;
    }
    inputs.emplace_back();
    for (int r = 0; r < ranks; ++r) inputs.back().push_back(wildElements(kinds[k].type, r, kCount));
  }
  return inputs;
}

bool supported(const char* level) {
  try {
    chooseCpuLevel(level);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

class WorldBits : public ::testing::TestWithParam<const char*> {};

TEST_P(WorldBits, RanksRunsAndCpuLevelsAgree) {
  constexpr rondoDataType_t kTypes[] = {rondoFloat16, rondoBfloat16, rondoFloat32,
                                        rondoFloat64, rondoInt8,     rondoUint64};
  const std::vector<Kind> kinds = definedKinds(kTypes);
  for (const int ranks : {2, 5}) {
    const Results inputs = randomInputs(ranks, kinds);
    const Results first = results(ranks, GetParam(), kinds, inputs);
    for (size_t k = 0; k < kinds.size(); ++k) {
      for (const Bytes& other : first[k]) EXPECT_EQ(other, first[k][0]) << typeName(kinds[k].type);
    }
    for (const char* level : {"", "plain", "avx2", "avx512", "avx512vbmi"}) {
      if (!supported(level)) continue;
      const Env cpu("RONDO_CPU", level);
      const Results again = results(ranks, GetParam(), kinds, inputs);
      for (size_t k = 0; k < kinds.size(); ++k) {
        EXPECT_EQ(again[k], first[k])
            << typeName(kinds[k].type) << " " << opName(kinds[k].op) << ", RONDO_CPU=" << level;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(World, WorldBits,
                         ::testing::Values("", "allreduce:host:0-:ring/2/1K",
                                           "allreduce:host:0-:doubling",
                                           "allreduce:host:0-:twoshot"));

TEST(WorldBitsInRankOrder, AreThePlainAnswer) {
  const int ranks = 4;
  const std::vector<Kind> kinds = definedKinds(kAllTypes);
  const Results inputs = randomInputs(ranks, kinds);
  std::vector<Bytes> expected;
  for (size_t k = 0; k < kinds.size(); ++k) {
    std::vector<const char*> parts;
    for (const Bytes& part : inputs[k]) parts.push_back(part.data());
    expected.push_back(plainReduce(kinds[k].type, kinds[k].op, kCount, parts));
  }
  for (const char* rule : {"allreduce:host:0-:oneshot", "allreduce:host:0-:twoshot/2/1K"}) {
    const Results got = results(ranks, rule, kinds, inputs);
    for (size_t k = 0; k < kinds.size(); ++k) {
      EXPECT_EQ(got[k][1], expected[k])
          << typeName(kinds[k].type) << " " << opName(kinds[k].op) << " " << rule;
    }
  }
}

}  // namespace
}  // namespace rondo::testing
