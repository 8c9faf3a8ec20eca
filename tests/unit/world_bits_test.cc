// Any bits at all (NaN, infinities, -0, denormals): all ranks and all runs agree, on every level of
// the CPU, and the algorithms that reduce in rank order give exactly the plain answer.

#include <gtest/gtest.h>

#include <random>
#include <span>

#include "coll/reduce/reduce.h"
#include "support/values.h"
#include "support/world.h"

namespace rondo::testing {
namespace {

using Bytes = std::vector<char>;
constexpr size_t kCount = 3001;

/// Random bits, every fourth element one of the awkward ones.
Bytes randomElements(rondoDataType_t type, int rank) {
  std::mt19937_64 random(static_cast<unsigned>(rank) * 77 + 5);
  const size_t size = typeSize(type);
  Bytes bytes(kCount * size);
  const uint64_t tops[] = {0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000001,
                           0x8000000000000000, 0x0000000000000001, 0x7ff4000000000000};
  const uint32_t floats[] = {0x7f800000, 0xff800000, 0x7fc00001, 0x80000000, 1, 0x7fa00000};
  const uint16_t halves[] = {0x7c00, 0xfc00, 0x7e01, 0x8000, 1, 0x7f80};
  for (size_t i = 0; i < kCount; ++i) {
    uint64_t value = random();
    const size_t pick = random() % 24;
    if (pick < 6) value = size == 8 ? tops[pick] : size == 4 ? floats[pick] : halves[pick];
    for (size_t at = 0; at < size; at += 8) {
      std::memcpy(bytes.data() + i * size + at, &value, std::min<size_t>(size, 8));
    }
  }
  return bytes;
}

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
    for (int r = 0; r < ranks; ++r) inputs.back().push_back(randomElements(kinds[k].type, r));
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
