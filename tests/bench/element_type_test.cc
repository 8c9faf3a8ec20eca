#include "../../benchmarks/rondo_bench/element_type.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace rondo::bench {
namespace {

uint16_t bitsOf(const char* type, double value) {
  uint16_t bits = 0;
  storeElement(*findElementType(type), value, &bits);
  return bits;
}

double valueOf(const char* type, uint16_t bits) {
  return loadElement(*findElementType(type), &bits);
}

TEST(BenchElementType, KnowsNamesAndHandles) {
  for (const ElementType& type : elementTypes()) {
    EXPECT_EQ(findElementType(type.name), &type);
    EXPECT_EQ(findElementType(type.id), &type);
  }
  EXPECT_EQ(elementTypes().size(), 22u);
  EXPECT_EQ(operators().size(), 14u);  // Rondo's 13 and the pre-multiplied sum.
  EXPECT_EQ(findElementType("float"), nullptr);
  EXPECT_EQ(findOperator("mean"), nullptr);
}

TEST(BenchElementType, HalfHasItsKnownBits) {
  EXPECT_EQ(bitsOf("float16", 1), 0x3c00);
  EXPECT_EQ(bitsOf("float16", -2), 0xc000);
  EXPECT_EQ(bitsOf("float16", 65504), 0x7bff);
  EXPECT_EQ(bitsOf("float16", 65520), 0x7c00);                  // rounds to infinity
  EXPECT_EQ(bitsOf("float16", 0x1p-24), 0x0001);                // smallest subnormal
  EXPECT_EQ(bitsOf("float16", 0x1p-14 - 0x1p-26), 0x0400);      // rounds up to the smallest normal
  EXPECT_EQ(bitsOf("float16", 2049), bitsOf("float16", 2048));  // ties go to even
  EXPECT_EQ(bitsOf("float16", 2051), bitsOf("float16", 2052));
}

TEST(BenchElementType, BrainFloatHasItsKnownBits) {
  EXPECT_EQ(bitsOf("bfloat16", 1), 0x3f80);
  EXPECT_EQ(bitsOf("bfloat16", -256), 0xc380);
  EXPECT_EQ(bitsOf("bfloat16", 257), 0x4380);  // ties go to even
  EXPECT_EQ(bitsOf("bfloat16", 259), 0x4382);
  EXPECT_EQ(bitsOf("bfloat16", 1e39), 0x7f80);
}

TEST(BenchElementType, EightBitFloatsHaveTheirKnownBits) {
  EXPECT_EQ(bitsOf("float8e4m3", 1), 0x38);
  EXPECT_EQ(bitsOf("float8e4m3", -448), 0xfe);
  EXPECT_EQ(bitsOf("float8e4m3", 1e6), 0x7e);  // saturates
  EXPECT_EQ(bitsOf("float8e4m3", 0x1p-9), 0x01);
  EXPECT_EQ(bitsOf("float8e4m3", 17), bitsOf("float8e4m3", 16));  // ties go to even
  EXPECT_EQ(bitsOf("float8e5m2", 1), 0x3c);
  EXPECT_EQ(bitsOf("float8e5m2", 57344), 0x7b);
  EXPECT_EQ(bitsOf("float8e5m2", 1e6), 0x7b);
  for (const char* type : {"float8e4m3", "float8e5m2"}) {
    for (uint16_t bits = 0; bits < 256; ++bits) {
      const double value = valueOf(type, bits);
      if (std::isfinite(value)) {
        EXPECT_EQ(bitsOf(type, value), bits) << type;
      }
    }
    EXPECT_TRUE(std::isnan(valueOf(type, 0x7f))) << type;
  }
}

TEST(BenchElementType, PairsLieAsCLaysThemOut) {
  struct {
    double value;
    int32_t index;
  } pair{};
  storeValue(*findElementType("float64int32"), {-2.5, 77}, &pair);
  EXPECT_EQ(pair.value, -2.5);
  EXPECT_EQ(pair.index, 77);
  struct {
    int16_t value;
    int32_t index;
  } shorter{};
  storeValue(*findElementType("int16int32"), {-3, 5}, &shorter);
  EXPECT_EQ(shorter.value, -3);
  EXPECT_EQ(shorter.index, 5);
  // Padding is nobody's.
  auto other = shorter;
  reinterpret_cast<unsigned char*>(&other)[2] = 0xee;
  EXPECT_TRUE(sameElement(*findElementType("int16int32"), &shorter, &other));
  other.index = 6;
  EXPECT_FALSE(sameElement(*findElementType("int16int32"), &shorter, &other));
}

TEST(BenchElementType, OperatorsAreDefinedWhereTheLibraryHasThem) {
  size_t pairs = 0;
  for (const ElementType& type : elementTypes()) {
    for (const Operator& op : operators()) pairs += isDefined(type, op) ? 1 : 0;
  }
  // 11, 5, 3, 6 and 2 operators, and the pre-multiplied sum of all numbers.
  EXPECT_EQ(pairs, 8u * 12 + 6u * 6 + 2u * 4 + 6 + 5u * 2);
  EXPECT_EQ(definedOperators(*findElementType("int32int32")), "minloc, maxloc");
}

TEST(BenchElementType, EverySixteenBitFloatSurvivesBothWays) {
  for (const char* type : {"float16", "bfloat16"}) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      const double value = valueOf(type, static_cast<uint16_t>(bits));
      if (std::isnan(value)) continue;
      ASSERT_EQ(bitsOf(type, value), bits) << type;
    }
    EXPECT_TRUE(std::isnan(valueOf(type, bitsOf(type, NAN))));
  }
}

TEST(BenchElementType, WholeNumbersAreExactUpToTheLimit) {
  for (const ElementType& type : elementTypes()) {
    for (double value : {1.0, type.exactLimit - 1, type.exactLimit}) {
      const bool single = type.id == type.part;
      unsigned char bytes[16] = {};
      storeValue(type, {value, single ? 0 : 7.0}, bytes);
      EXPECT_EQ(loadValue(type, bytes), (Value{value, single ? 0 : 7.0})) << type.name;
    }
  }
}

}  // namespace
}  // namespace rondo::bench
