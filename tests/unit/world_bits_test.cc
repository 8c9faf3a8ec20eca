// Any bits at all (NaN, infinities, -0, denormals): all ranks and all runs agree, on every level of
// the CPU, and the algorithms that reduce in rank order give exactly the plain answer.

#include <gtest/gtest.h>

#include <random>

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

/// Every rank's result of one all-reduce.
std::vector<Bytes> results(int ranks, const char* rule, rondoDataType_t type, rondoRedOp_t op) {
  std::vector<Bytes> all(static_cast<size_t>(ranks));
  World(ranks).tune(rule).run([&](const Rank& me) {
    const Bytes mine = randomElements(type, me.rank);
    Bytes& out = all[static_cast<size_t>(me.rank)];
    out.resize(mine.size());
    EXPECT_EQ(rondoAllReduce(mine.data(), out.data(), kCount, type, op, me.comm, nullptr),
              rondoSuccess)
        << rondoGetLastError(me.comm);
  });
  return all;
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
  for (const int ranks : {2, 5}) {
    for (const rondoDataType_t type :
         {rondoFloat16, rondoBfloat16, rondoFloat32, rondoFloat64, rondoInt8, rondoUint64}) {
      for (const rondoRedOp_t op : kAllOps) {
        if (!opDefined(type, op)) continue;
        const std::vector<Bytes> first = results(ranks, GetParam(), type, op);
        for (const Bytes& other : first) EXPECT_EQ(other, first[0]) << typeName(type);
        for (const char* level : {"", "plain", "avx2", "avx512", "avx512vbmi"}) {
          if (!supported(level)) continue;
          const Env cpu("RONDO_CPU", level);
          EXPECT_EQ(results(ranks, GetParam(), type, op), first)
              << typeName(type) << " " << opName(op) << ", RONDO_CPU=" << level;
        }
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
  for (const char* rule : {"allreduce:host:0-:oneshot", "allreduce:host:0-:twoshot/2/1K"}) {
    for (const rondoDataType_t type : kAllTypes) {
      for (const rondoRedOp_t op : kAllOps) {
        if (!opDefined(type, op)) continue;
        std::vector<Bytes> parts;
        std::vector<const char*> inputs;
        for (int r = 0; r < ranks; ++r) parts.push_back(randomElements(type, r));
        for (const Bytes& part : parts) inputs.push_back(part.data());
        const Bytes expected = plainReduce(type, op, kCount, inputs);
        EXPECT_EQ(results(ranks, rule, type, op)[1], expected)
            << typeName(type) << " " << opName(op) << " " << rule;
      }
    }
  }
}

}  // namespace
}  // namespace rondo::testing
