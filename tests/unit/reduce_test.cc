// Host reductions and copies of every CPU level that this machine has, against reduce_reference.h,
// bit by bit, in every shape of a call. The levels are thereby equal to each other, too.

#include "reduce_calls.h"

namespace rondo {
namespace {

using namespace reduce_test;

constexpr int kOperandCounts[] = {1, 2, 3, 4, 5, 8, 17};
constexpr size_t kCounts[] = {0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 64, 65, 129, 257, 1000, 4099};

#ifdef __SANITIZE_ADDRESS__
constexpr unsigned kOneOf = 12;  // shapes; the plain build runs them all
#else
constexpr unsigned kOneOf = 1;
#endif

class ReduceLevels : public ::testing::TestWithParam<rondoDataType_t> {};

TEST_P(ReduceLevels, MatchReferenceInAnyShape) {
  const rondoDataType_t type = GetParam();
  std::mt19937_64 random(static_cast<uint64_t>(type) + 1);
  for (rondoRedOp_t op : kAllOps) {
    if (!opDefined(type, op)) continue;
    for (int n : kOperandCounts) {
      for (size_t count : kCounts) {
        const auto in = randomOperands(type, n, count, random);
        const ReduceCall call{op == rondoAvg && random() % 4 ? static_cast<uint32_t>(n) : 0};
        const Bytes want = expected(type, op, call, in);
        for (const Shape& shape : shapes(n, typeSize(type))) {
          // Long operands meet a quarter of the shapes each: all of them meet some count.
          if (count > 300 && random() % 4) continue;
          if (random() % kOneOf != 0) continue;
          for (CpuLevel level : levels()) {
            check(findReduce(type, op, level), shape, count, call, in, want);
            if (!HasFatalFailure()) continue;
            ADD_FAILURE() << opName(op) << " n " << n << " count " << count << " "
                          << describe(shape) << " " << cpuLevelName(level);
            return;
          }
        }
      }
    }
  }
}

TEST_P(ReduceLevels, AverageDividesByAnyNumber) {
  const rondoDataType_t type = GetParam();
  if (!opDefined(type, rondoAvg)) return;
  std::mt19937_64 random(7);
  constexpr size_t kCount = 200;
  for (uint32_t divisor : {1u, 2u, 3u, 5u, 7u, 10u, 64u, 127u, 255u, 256u, 641u, 1000u, 65535u,
                           65537u, 16777217u, 2147483648u, 2147483649u, 4294967295u}) {
    for (int n : {1, 2, 3}) {
      auto in = randomOperands(type, n, kCount, random);
      if (typeClass(type) == TypeClass::kInteger) {
        // Multiples of the divisor and their neighbours, where a quotient goes wrong first.
        for (size_t i = 0; i < kCount / 2; ++i) {
          const uint64_t x = divisor * (random() >> (random() % 64)) + i % 3 - 1;
          std::memcpy(in[0].data() + i * typeSize(type), &x, typeSize(type));
          for (int k = 1; k < n; ++k) {
            std::memset(in[static_cast<size_t>(k)].data() + i * typeSize(type), 0, typeSize(type));
          }
        }
      }
      const Bytes want = expected(type, rondoAvg, {divisor}, in);
      for (CpuLevel level : levels()) {
        SCOPED_TRACE(::testing::Message()
                     << "divisor " << divisor << " n " << n << " " << cpuLevelName(level));
        check(findReduce(type, rondoAvg, level), {0, false, -1, -1, false}, kCount, {divisor}, in,
              want);
        if (HasFatalFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, ReduceLevels, ::testing::ValuesIn(kAllTypes),
                         [](const auto& test) { return std::string(typeName(test.param)); });

TEST(ReduceCopy, OneAndTwoDestinationsOfAnySize) {
  std::mt19937_64 random(5);
  std::vector<size_t> sizes;
  for (size_t bytes = 0; bytes <= 300; ++bytes) sizes.push_back(bytes);
  sizes.insert(sizes.end(), {511, 512, 1000, 4095, 4096, 4099, 8191, 65536, 1000003});
  for (size_t bytes : sizes) {
    std::vector<unsigned char> want(bytes);
    fillRandom(rondoUint8, want.data(), bytes, random);
    for (size_t misalign : {0, 1, 8, 33}) {
      if (bytes > 4099 && misalign == 8) continue;
      Buffer src(bytes, (3 * misalign) % 64);
      std::copy(want.begin(), want.end(), src.data());
      for (int kind = 0; kind < 8; ++kind) {
        const bool second = kind & 1;
        constexpr CopyTo kTo[] = {CopyTo::kStaging, CopyTo::kUser, CopyTo::kNear, CopyTo::kPast};
        for (CpuLevel level : levels()) {
          Buffer dst0(bytes, misalign), dst1(bytes, (misalign * 5) % 64);
          findCopy(level)(dst0.data(), second ? dst1.data() : nullptr, src.data(), bytes,
                          kTo[kind / 2]);
          SCOPED_TRACE(::testing::Message() << bytes << " bytes, misalign " << misalign << " kind "
                                            << kind << " " << cpuLevelName(level));
          ASSERT_TRUE(dst0.holds(want) && dst0.guardsIntact());
          ASSERT_TRUE(second ? dst1.holds(want) : bytes == 0 || dst1.data()[0] == kGuardByte);
          ASSERT_TRUE(dst1.guardsIntact());
          ASSERT_TRUE(src.holds(want));
        }
      }
    }
  }
}

TEST(ReduceLookup, OnlyWhatIsDefined) {
  for (CpuLevel level : levels()) {
    for (rondoDataType_t type = -1; type < 64; ++type) {
      for (rondoRedOp_t op = -1; op < 64; ++op) {
        EXPECT_EQ(findReduce(type, op, level) != nullptr, opDefined(type, op))
            << typeName(type) << " " << opName(op);
      }
      EXPECT_EQ(findScale(type, level) != nullptr, isNumeric(type)) << typeName(type);
    }
    EXPECT_NE(findCopy(level), nullptr);
  }
}

/// The table of docs/types-and-operators.md, told otherwise than opDefined() tells it.
TEST(ReduceLookup, HowManyOperatorsEachTypeHas) {
  const auto count = [](rondoDataType_t type) {
    return std::count_if(std::begin(kAllOps), std::end(kAllOps),
                         [type](rondoRedOp_t op) { return opDefined(type, op); });
  };
  for (rondoDataType_t type : {rondoInt8, rondoUint8, rondoInt16, rondoUint16, rondoInt32,
                               rondoUint32, rondoInt64, rondoUint64}) {
    EXPECT_EQ(count(type), 11);
  }
  for (rondoDataType_t type : {rondoFloat8e4m3, rondoFloat8e5m2, rondoFloat16, rondoBfloat16,
                               rondoFloat32, rondoFloat64}) {
    EXPECT_EQ(count(type), 5);
  }
  for (rondoDataType_t type : {rondoComplex64, rondoComplex128}) EXPECT_EQ(count(type), 3);
  EXPECT_EQ(count(rondoBool), 6);
  for (rondoDataType_t type :
       {rondoFloat32Int32, rondoFloat64Int32, rondoInt64Int32, rondoInt32Int32, rondoInt16Int32}) {
    EXPECT_EQ(count(type), 2);
  }
  EXPECT_FALSE(opDefined(rondoFloat32, rondoBitAnd));
  EXPECT_FALSE(opDefined(rondoComplex64, rondoMax));
  EXPECT_FALSE(opDefined(rondoBool, rondoSum));
  EXPECT_FALSE(opDefined(rondoInt32, rondoMinLoc));
  EXPECT_TRUE(opDefined(rondoInt16Int32, rondoMaxLoc));
}

TEST(ReduceLookup, CpuLevelIsChosenByName) {
  EXPECT_EQ(chooseCpuLevel("plain"), CpuLevel::kPlain);
  EXPECT_EQ(chooseCpuLevel(nullptr), levels().back());
  EXPECT_EQ(chooseCpuLevel(""), levels().back());
  for (CpuLevel level : levels()) EXPECT_EQ(chooseCpuLevel(cpuLevelName(level)), level);
  try {
    chooseCpuLevel("AVX2");
    FAIL() << "accepted";
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(),
                 "environment variable RONDO_CPU is \"AVX2\"; allowed: plain, avx2, avx512 or "
                 "avx512vbmi");
  }
}

}  // namespace
}  // namespace rondo
