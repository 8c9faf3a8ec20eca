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
  EXPECT_EQ(elementTypes().size(), 12u);
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
      double bytes = 0;
      storeElement(type, value, &bytes);
      EXPECT_EQ(loadElement(type, &bytes), value) << type.name;
    }
  }
}

}  // namespace
}  // namespace rondo::bench
