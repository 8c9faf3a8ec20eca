// The balanced tree and the scaled operand of host reductions, against reduce_reference.h.

#include "reduce_calls.h"

namespace rondo {
namespace {

using namespace reduce_test;

class ReduceTree : public ::testing::TestWithParam<rondoDataType_t> {};

TEST_P(ReduceTree, MatchesReferenceForAnyNumberOfOperands) {
  const rondoDataType_t type = GetParam();
  std::mt19937_64 random(static_cast<uint64_t>(type) + 100);
  for (rondoRedOp_t op : kAllOps) {
    if (!opDefined(type, op)) continue;
    for (int n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17, 31, 64, 100, 1024}) {
      for (size_t count : {1, 2, 3, 7, 17, 65, 300, 1031}) {
        if (n > 60 && count > 65) continue;
        const Operands in = randomOperands(type, n, count, random);
        const ReduceCall call{op == rondoAvg ? static_cast<uint32_t>(n) : 0, true};
        const Bytes want = expected(type, op, call, in);
        const std::vector<Shape> all = shapes(n, typeSize(type));
        const Shape& shape = all[random() % all.size()];
        for (CpuLevel level : levels()) {
          check(findReduce(type, op, level), shape, count, call, in, want);
          if (!HasFatalFailure()) continue;
          ADD_FAILURE() << opName(op) << " n " << n << " count " << count << " " << describe(shape)
                        << " " << cpuLevelName(level);
          return;
        }
      }
    }
  }
}

/// In figures: (2^24 + 1) + (1 + 1) is 2^24 + 2, from left to right 2^24.
TEST(ReduceTreeOrder, ShowsInASum) {
  const float values[] = {0x1p24f, 1, 1, 1};
  const void* in[] = {&values[0], &values[1], &values[2], &values[3]};
  for (CpuLevel level : levels()) {
    float out = -1;
    const ReduceFn sum = findReduce(rondoFloat32, rondoSum, level);
    sum({&out, nullptr, in, 4, 1, 0, false});
    EXPECT_EQ(out, 0x1p24f);
    sum({&out, nullptr, in, 4, 1, 0, false, true});
    EXPECT_EQ(out, 0x1p24f + 2);
  }
}

class ReduceScale : public ::testing::TestWithParam<rondoDataType_t> {};

TEST_P(ReduceScale, MultipliesAndRounds) {
  const rondoDataType_t type = GetParam();
  if (!isNumeric(type)) return;
  const size_t size = typeSize(type);
  std::mt19937_64 random(static_cast<uint64_t>(type) + 200);
  for (size_t count : {0, 1, 2, 3, 15, 16, 17, 33, 64, 129, 1000}) {
    for (int draw = 0; draw < 20; ++draw) {
      const Operands in = randomOperands(type, 1, count, random);
      const ReduceCall call{0, false, 0, randomOperands(type, 1, 1, random)[0]};
      const Bytes want = expected(type, rondoSum, call, in);
      for (bool inPlace : {false, true}) {
        for (CpuLevel level : levels()) {
          Buffer from(in[0].size(), random() % 64), apart(in[0].size(), random() % 64);
          std::copy(in[0].begin(), in[0].end(), from.data());
          Buffer& out = inPlace ? from : apart;
          Buffer scalar(size, random() % 64);
          std::copy(call.scalar.begin(), call.scalar.end(), scalar.data());
          findScale(type, level)(out.data(), from.data(), scalar.data(), count);
          ASSERT_TRUE(out.holds(want)) << count << " " << cpuLevelName(level);
          ASSERT_TRUE(out.guardsIntact());
          ASSERT_TRUE(inPlace || from.holds(in[0]));
        }
      }
    }
  }
}

TEST_P(ReduceScale, OneOperandOfAReductionIsScaledFirst) {
  const rondoDataType_t type = GetParam();
  if (!isNumeric(type)) return;
  std::mt19937_64 random(static_cast<uint64_t>(type) + 300);
  for (rondoRedOp_t op : {rondoSum, rondoAvg, rondoProd}) {
    for (int n : {1, 2, 3, 5, 8, 17, 70}) {
      for (size_t count : {1, 7, 65, 511, 5000}) {
        if (n > 8 && count > 600) continue;
        const Operands in = randomOperands(type, n, count, random);
        const ReduceCall call{op == rondoAvg ? static_cast<uint32_t>(n) : 0, random() % 2 == 0,
                              static_cast<int>(random() % static_cast<uint64_t>(n)),
                              randomOperands(type, 1, 1, random)[0]};
        const Bytes want = expected(type, op, call, in);
        const std::vector<Shape> all = shapes(n, typeSize(type));
        for (int pick = 0; pick < 3; ++pick) {
          const Shape& shape = all[random() % all.size()];
          for (CpuLevel level : levels()) {
            check(findReduce(type, op, level), shape, count, call, in, want);
            if (!HasFatalFailure()) continue;
            ADD_FAILURE() << opName(op) << " n " << n << " count " << count << " scaled "
                          << call.scaled << " " << describe(shape) << " " << cpuLevelName(level);
            return;
          }
        }
      }
    }
  }
}

std::string nameOf(const ::testing::TestParamInfo<rondoDataType_t>& test) {
  return typeName(test.param);
}
INSTANTIATE_TEST_SUITE_P(AllTypes, ReduceTree, ::testing::ValuesIn(kAllTypes), nameOf);
INSTANTIATE_TEST_SUITE_P(AllTypes, ReduceScale, ::testing::ValuesIn(kAllTypes), nameOf);

}  // namespace
}  // namespace rondo
