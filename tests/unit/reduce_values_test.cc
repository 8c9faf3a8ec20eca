// What host reductions make of particular values: every pair of 8-bit floats, every 16-bit float,
// NaN, -0, ties between pairs, and the caller's floating-point environment.

#include "reduce_calls.h"
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace rondo {
namespace {

using namespace reduce_test;

/// x - 0, for every 16-bit float x, passes through widening and rounding.
TEST(ReduceHalf, EveryValueSurvives) {
  for (rondoDataType_t type : {rondoFloat16, rondoBfloat16}) {
    std::vector<std::vector<unsigned char>> in(2, std::vector<unsigned char>(2 * 65536));
    for (size_t i = 0; i < 65536; ++i) {
      const uint16_t x = static_cast<uint16_t>(i);
      const uint16_t minusZero = 0x8000;
      std::memcpy(in[0].data() + 2 * i, &x, 2);
      std::memcpy(in[1].data() + 2 * i, &minusZero, 2);
    }
    const Bytes want = expected(type, rondoSum, {}, in);
    const uint16_t infinity =
        type == rondoFloat16 ? reference::Half::kInfinity : reference::Bfloat::kInfinity;
    for (size_t i = 0; i < 65536; ++i) {
      uint16_t got;
      std::memcpy(&got, want.data() + 2 * i, 2);
      if ((i & 0x7fff) > infinity) continue;
      ASSERT_EQ(got, i) << "the reference itself";
    }
    for (CpuLevel level : levels()) {
      SCOPED_TRACE(::testing::Message() << typeName(type) << " " << cpuLevelName(level));
      check(findReduce(type, rondoSum, level), {0, false, -1, -1, false}, 65536, {}, in, want);
    }
  }
}

/// The rule of reduce.h, in figures.
TEST(ReduceFloat, NanAndZeroRule) {
  const auto one = [](rondoRedOp_t op, CpuLevel level, uint32_t a, uint32_t b) {
    const void* in[] = {&a, &b};
    uint32_t out = 0;
    findReduce(rondoFloat32, op, level)({&out, nullptr, in, 2, 1, 0, false});
    return out;
  };
  constexpr uint32_t kOne = 0x3f800000, kMinusZero = 0x80000000, kInfinity = 0x7f800000,
                     kNan = 0x7fc00000, kSignalling = 0xff800001;
  for (CpuLevel level : levels()) {
    for (rondoRedOp_t op : {rondoSum, rondoProd, rondoMax, rondoMin, rondoAvg}) {
      EXPECT_EQ(one(op, level, kOne, kSignalling), kNan) << opName(op);
      EXPECT_EQ(one(op, level, kSignalling, kOne), kNan) << opName(op);
    }
    EXPECT_EQ(one(rondoSum, level, kInfinity, kInfinity | kMinusZero), kNan);
    EXPECT_EQ(one(rondoProd, level, kInfinity, 0), kNan);
    EXPECT_EQ(one(rondoMax, level, kMinusZero, 0), 0u);
    EXPECT_EQ(one(rondoMax, level, 0, kMinusZero), 0u);
    EXPECT_EQ(one(rondoMin, level, kMinusZero, 0), kMinusZero);
    EXPECT_EQ(one(rondoMin, level, 0, kMinusZero), kMinusZero);
    EXPECT_EQ(one(rondoMax, level, 1, 2), 2u) << "denormals";
  }
}

/// Sums and products of two 8-bit floats are exact in double, so that one rounding remains.
TEST(ReduceFloat8, EveryPairOfValues) {
  for (rondoDataType_t type : {rondoFloat8e4m3, rondoFloat8e5m2}) {
    const bool e4m3 = type == rondoFloat8e4m3;
    Operands in(2, Bytes(65536));
    for (size_t i = 0; i < 65536; ++i) {
      in[0][i] = static_cast<unsigned char>(i);
      in[1][i] = static_cast<unsigned char>(i >> 8);
    }
    for (rondoRedOp_t op : {rondoSum, rondoProd}) {
      Bytes want(65536);
      for (size_t i = 0; i < 65536; ++i) {
        const auto widen = [e4m3](unsigned char b) {
          return e4m3 ? reference::E4m3::widen(b) : reference::E5m2::widen(b);
        };
        const double a = widen(in[0][i]), b = widen(in[1][i]);
        const double exact = op == rondoSum ? a + b : a * b;
        want[i] = e4m3 ? reference::E4m3::round(exact) : reference::E5m2::round(exact);
      }
      for (CpuLevel level : levels()) {
        SCOPED_TRACE(::testing::Message()
                     << typeName(type) << " " << opName(op) << " " << cpuLevelName(level));
        check(findReduce(type, op, level), {0, false, -1, -1, false}, 65536, {}, in, want);
      }
    }
  }
}

/// The rule of reduce.h, in figures.
TEST(ReduceFloat8, SaturationNanAndZero) {
  const auto one = [](rondoDataType_t type, rondoRedOp_t op, CpuLevel level, uint8_t a, uint8_t b) {
    const void* in[] = {&a, &b};
    uint8_t out = 0;
    findReduce(type, op, level)({&out, nullptr, in, 2, 1, 2, false});
    return out;
  };
  for (CpuLevel level : levels()) {
    const auto e4 = [&](rondoRedOp_t op, uint8_t a, uint8_t b) {
      return one(rondoFloat8e4m3, op, level, a, b);
    };
    EXPECT_EQ(e4(rondoSum, 0x7e, 0x7e), 0x7e) << "448 + 448";
    EXPECT_EQ(e4(rondoSum, 0xfe, 0xfe), 0xfe);
    EXPECT_EQ(e4(rondoAvg, 0x7e, 0x7e), 0x7e) << "(448 + 448) / 2";
    EXPECT_EQ(e4(rondoProd, 0x7e, 0xfe), 0xfe);
    EXPECT_EQ(e4(rondoProd, 0x01, 0x81), 0x80) << "to -0";
    EXPECT_EQ(e4(rondoSum, 0x38, 0x38), 0x40) << "1 + 1";
    EXPECT_EQ(e4(rondoSum, 0x01, 0x01), 0x02) << "denormals";
    for (rondoRedOp_t op : {rondoSum, rondoProd, rondoMax, rondoMin, rondoAvg}) {
      EXPECT_EQ(e4(op, 0xff, 0x38), 0x7f) << opName(op);
      EXPECT_EQ(one(rondoFloat8e5m2, op, level, 0x3c, 0xfd), 0x7f) << opName(op);
    }
    EXPECT_EQ(e4(rondoMax, 0x80, 0x00), 0x00);
    EXPECT_EQ(e4(rondoMin, 0x00, 0x80), 0x80);
    const auto e5 = [&](rondoRedOp_t op, uint8_t a, uint8_t b) {
      return one(rondoFloat8e5m2, op, level, a, b);
    };
    EXPECT_EQ(e5(rondoSum, 0x7b, 0x7b), 0x7b) << "57344 + 57344";
    EXPECT_EQ(e5(rondoSum, 0x7c, 0xfb), 0x7b) << "infinity - 57344";
    EXPECT_EQ(e5(rondoSum, 0x7c, 0xfc), 0x7f) << "infinity - infinity";
    EXPECT_EQ(e5(rondoMax, 0x7c, 0x00), 0x7b);
    EXPECT_EQ(e5(rondoMin, 0xfc, 0x00), 0xfb);
    EXPECT_EQ(e5(rondoProd, 0x7c, 0x00), 0x7f) << "infinity * 0";
  }
}

/// The rule of reduce.h, in figures.
TEST(ReducePairs, TiesNanAndPadding) {
  struct Pair {
    double value;
    int32_t index, padding;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto one = [](rondoRedOp_t op, CpuLevel level, Pair a, Pair b) {
    const void* in[] = {&a, &b};
    Pair out{0, 0, 7};
    findReduce(rondoFloat64Int32, op, level)({&out, nullptr, in, 2, 1, 0, false});
    EXPECT_EQ(out.padding, 0);
    return out;
  };
  for (CpuLevel level : levels()) {
    for (rondoRedOp_t op : {rondoMinLoc, rondoMaxLoc}) {
      EXPECT_EQ(one(op, level, {1, 5, 9}, {1, -2, 9}).index, -2) << "tie";
      EXPECT_EQ(one(op, level, {nan, 5, 9}, {1, 2, 9}).index, 5) << "NaN wins";
      EXPECT_EQ(one(op, level, {nan, 5, 9}, {-nan, 2, 9}).index, 2) << "two NaNs";
      const Pair wins = one(op, level, {1, 5, 9}, {-nan, 7, 9});
      EXPECT_EQ(std::bit_cast<uint64_t>(wins.value), 0x7ff8000000000000u);
    }
    EXPECT_EQ(one(rondoMinLoc, level, {1, 5, 9}, {2, 2, 9}).index, 5);
    EXPECT_EQ(one(rondoMaxLoc, level, {1, 5, 9}, {2, 7, 9}).index, 7);
    EXPECT_EQ(one(rondoMinLoc, level, {0.0, 1, 9}, {-0.0, 2, 9}).index, 2);
    EXPECT_EQ(one(rondoMaxLoc, level, {0.0, 3, 9}, {-0.0, 2, 9}).index, 3);
  }
}

#if defined(__x86_64__)
/// A program linked with -ffast-math, or one that rounds otherwise, gets the same bits, and keeps
/// its own settings.
TEST(ReduceFloat, IgnoresTheCallersFloatingPointEnvironment) {
  constexpr unsigned kFlushAndZero = 0x8040, kRoundUp = 0x4000;
  std::mt19937_64 random(3);
  for (rondoDataType_t type : {rondoFloat8e4m3, rondoFloat8e5m2, rondoFloat16, rondoBfloat16,
                               rondoFloat32, rondoFloat64, rondoComplex64}) {
    for (rondoRedOp_t op : kAllOps) {
      if (!opDefined(type, op)) continue;
      const Operands in = randomOperands(type, 3, 1000, random);
      const Bytes scalar = randomOperands(type, 1, 1, random)[0];
      const ReduceCall call{3, false, 1, scalar};
      const Bytes want = expected(type, op, call, in);
      for (CpuLevel level : levels()) {
        for (unsigned setting : {kFlushAndZero, kRoundUp, kFlushAndZero | kRoundUp}) {
          SCOPED_TRACE(::testing::Message() << typeName(type) << " " << opName(op) << " "
                                            << cpuLevelName(level) << " " << setting);
          const unsigned before = _mm_getcsr();
          _mm_setcsr(before | setting);
          check(findReduce(type, op, level), {0, false, -1, -1, false}, 1000, call, in, want);
          const unsigned after = _mm_getcsr();
          _mm_setcsr(before);
          EXPECT_EQ(after & 0xffc0u, (before | setting) & 0xffc0u);
        }
      }
    }
  }
}
#endif

}  // namespace
}  // namespace rondo
