// Host reductions and copies of every CPU level that this machine has, against reduce_reference.h,
// bit by bit. The levels are thereby equal to each other, too.

#include "coll/reduce/reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "api/types.h"
#include "reduce_reference.h"
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace rondo {
namespace {

using reference::BfloatBits;
using reference::HalfBits;

constexpr int kOperandCounts[] = {1, 2, 3, 4, 5, 8, 17};
constexpr size_t kCounts[] = {0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 63, 64, 65, 129, 257, 1000, 4099};
constexpr size_t kGuard = 64;
constexpr unsigned char kGuardByte = 0xa5;

std::vector<CpuLevel> levels() {
  std::vector<CpuLevel> found;
  for (const char* name : {"plain", "avx2", "avx512"}) {
    try {
      found.push_back(chooseCpuLevel(name));
    } catch (const std::invalid_argument&) {  // Not on this processor.
    }
  }
  return found;
}

/// `bytes` of memory at an address that is `misalign` past a multiple of 64, with guards around.
class Buffer {
 public:
  Buffer(size_t bytes, size_t misalign)
      : storage_(bytes + 3 * kGuard + misalign, kGuardByte), bytes_(bytes) {
    const size_t address = reinterpret_cast<uintptr_t>(storage_.data());
    begin_ = kGuard + (0 - address) % 64 + misalign;
  }
  unsigned char* data() { return storage_.data() + begin_; }
  bool holds(const std::vector<unsigned char>& want) {
    return std::equal(want.begin(), want.end(), data());
  }
  bool guardsIntact() const {
    const auto isGuard = [](unsigned char c) { return c == kGuardByte; };
    const auto begin = storage_.begin() + static_cast<ptrdiff_t>(begin_);
    return std::all_of(storage_.begin(), begin, isGuard) &&
           std::all_of(begin + static_cast<ptrdiff_t>(bytes_), storage_.end(), isGuard);
  }

 private:
  std::vector<unsigned char> storage_;
  size_t bytes_;
  size_t begin_;
};

/// Random bits; for floats a third are zeros, infinities, NaNs, denormals and extremes of any sign.
void fillRandom(rondoDataType_t type, unsigned char* p, size_t count, std::mt19937_64& random) {
  const size_t size = typeSize(type);
  int mantissa = 0;
  if (type == rondoFloat16) mantissa = 10;
  if (type == rondoBfloat16) mantissa = 7;
  if (type == rondoFloat32) mantissa = 23;
  if (type == rondoFloat64) mantissa = 52;
  const uint64_t sign = uint64_t{1} << (8 * size - 1);
  const uint64_t infinity = (sign - 1) & ~((uint64_t{1} << mantissa) - 1);
  const uint64_t special[] = {0,
                              infinity,
                              infinity | 1,
                              sign - 1,
                              infinity - 1,
                              uint64_t{1},
                              (uint64_t{1} << mantissa) - 1,
                              uint64_t{1} << mantissa};
  for (size_t i = 0; i < count; ++i) {
    uint64_t bits = random();
    const uint64_t dice = random();
    if (mantissa && dice % 3 == 0) bits = special[dice / 3 % 8] | (bits & sign);
    // Moderate values, so that long chains do not all end in infinity or NaN.
    if (mantissa && dice % 3 == 1) bits = (bits & ~infinity) | (infinity / 2 & infinity);
    std::memcpy(p + i * size, &bits, size);
  }
}

template <class T>
std::vector<unsigned char> expectedAs(rondoRedOp_t op, uint32_t divisor,
                                      const std::vector<std::vector<unsigned char>>& in) {
  std::vector<unsigned char> out(in[0].size());
  for (size_t i = 0; i < out.size(); i += sizeof(T)) {
    const T v = reference::reduce<T>(op, static_cast<int>(in.size()), divisor, [&](int k) {
      T x;
      std::memcpy(&x, in[static_cast<size_t>(k)].data() + i, sizeof x);
      return x;
    });
    std::memcpy(out.data() + i, &v, sizeof v);
  }
  return out;
}

std::vector<unsigned char> expected(rondoDataType_t type, rondoRedOp_t op, uint32_t divisor,
                                    const std::vector<std::vector<unsigned char>>& in) {
  switch (type) {
    case rondoInt8:
      return expectedAs<int8_t>(op, divisor, in);
    case rondoUint8:
      return expectedAs<uint8_t>(op, divisor, in);
    case rondoInt16:
      return expectedAs<int16_t>(op, divisor, in);
    case rondoUint16:
      return expectedAs<uint16_t>(op, divisor, in);
    case rondoInt32:
      return expectedAs<int32_t>(op, divisor, in);
    case rondoUint32:
      return expectedAs<uint32_t>(op, divisor, in);
    case rondoInt64:
      return expectedAs<int64_t>(op, divisor, in);
    case rondoUint64:
      return expectedAs<uint64_t>(op, divisor, in);
    case rondoFloat16:
      return expectedAs<HalfBits>(op, divisor, in);
    case rondoBfloat16:
      return expectedAs<BfloatBits>(op, divisor, in);
    case rondoFloat32:
      return expectedAs<float>(op, divisor, in);
    default:
      return expectedAs<double>(op, divisor, in);
  }
}

/// How one call uses memory.
struct Shape {
  size_t misalign;  ///< Of out0; operand k and out1 lie elsewhere again.
  bool second;      ///< A second output.
  int inPlace0;     ///< out0 is this operand, unless -1.
  int inPlace1;     ///< out1 is this operand, unless -1.
  bool stream;
};

std::string describe(const Shape& s) {
  return "misalign " + std::to_string(s.misalign) + (s.second ? " two outputs" : " one output") +
         " in place " + std::to_string(s.inPlace0) + "/" + std::to_string(s.inPlace1) +
         (s.stream ? " stream" : "");
}

std::vector<Shape> shapes(int n, size_t elementSize) {
  std::vector<Shape> all;
  for (size_t misalign : {size_t{0}, size_t{1}, elementSize, 32 + elementSize}) {
    for (bool stream : {false, true}) {
      all.push_back({misalign, false, -1, -1, stream});
      all.push_back({misalign, false, 0, -1, stream});
      all.push_back({misalign, false, n - 1, -1, stream});
      all.push_back({misalign, true, -1, -1, stream});
      all.push_back({misalign, true, n - 1, -1, stream});
      all.push_back({misalign, true, -1, 0, stream});
      if (n > 1) all.push_back({misalign, true, 0, n - 1, stream});
    }
  }
  return all;
}

/// Runs `reduce` in one shape and checks outputs, operands and guards.
void check(ReduceFn reduce, const Shape& shape, size_t count, uint32_t divisor,
           const std::vector<std::vector<unsigned char>>& in,
           const std::vector<unsigned char>& want) {
  const size_t bytes = want.size();
  std::vector<Buffer> operands;
  std::vector<const void*> pointers;
  operands.reserve(in.size());
  for (size_t k = 0; k < in.size(); ++k) {
    const bool isOut0 = static_cast<int>(k) == shape.inPlace0;
    operands.emplace_back(bytes, isOut0 ? shape.misalign : (shape.misalign * (k + 2)) % 64);
    std::copy(in[k].begin(), in[k].end(), operands[k].data());
    pointers.push_back(operands[k].data());
  }
  Buffer apart0(bytes, shape.misalign);
  Buffer apart1(bytes, shape.second && shape.inPlace0 >= 0 ? 3 * shape.misalign : shape.misalign);
  Buffer& out0 = shape.inPlace0 < 0 ? apart0 : operands[static_cast<size_t>(shape.inPlace0)];
  Buffer& out1 = shape.inPlace1 < 0 ? apart1 : operands[static_cast<size_t>(shape.inPlace1)];
  reduce({out0.data(), shape.second ? out1.data() : nullptr, pointers.data(),
          static_cast<int>(in.size()), count, divisor, shape.stream});
  ASSERT_TRUE(out0.holds(want));
  ASSERT_TRUE(out0.guardsIntact());
  if (shape.second) {
    ASSERT_TRUE(out1.holds(want));
    ASSERT_TRUE(out1.guardsIntact());
  }
  for (size_t k = 0; k < in.size(); ++k) {
    const int index = static_cast<int>(k);
    if (index == shape.inPlace0 || (shape.second && index == shape.inPlace1)) continue;
    ASSERT_TRUE(operands[k].holds(in[k])) << "operand " << k << " was changed";
  }
}

std::vector<std::vector<unsigned char>> randomOperands(rondoDataType_t type, int n, size_t count,
                                                       std::mt19937_64& random) {
  std::vector<std::vector<unsigned char>> in(static_cast<size_t>(n));
  for (auto& operand : in) {
    operand.resize(count * typeSize(type));
    fillRandom(type, operand.data(), count, random);
  }
  return in;
}

class ReduceLevels : public testing::TestWithParam<rondoDataType_t> {};

TEST_P(ReduceLevels, MatchReferenceInAnyShape) {
  const rondoDataType_t type = GetParam();
  std::mt19937_64 random(static_cast<uint64_t>(type) + 1);
  for (rondoRedOp_t op : kAllOps) {
    for (int n : kOperandCounts) {
      for (size_t count : kCounts) {
        const auto in = randomOperands(type, n, count, random);
        const uint32_t divisor = op == rondoAvg && random() % 4 ? static_cast<uint32_t>(n) : 0;
        const auto want = expected(type, op, divisor, in);
        for (const Shape& shape : shapes(n, typeSize(type))) {
          // Long operands meet a quarter of the shapes each: all of them meet some count.
          if (count > 300 && random() % 4) continue;
          for (CpuLevel level : levels()) {
            SCOPED_TRACE(testing::Message() << opName(op) << " n " << n << " count " << count << " "
                                            << describe(shape) << " " << cpuLevelName(level));
            check(findReduce(type, op, level), shape, count, divisor, in, want);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST_P(ReduceLevels, AverageDividesByAnyNumber) {
  const rondoDataType_t type = GetParam();
  std::mt19937_64 random(7);
  constexpr size_t kCount = 200;
  for (uint32_t divisor : {1u, 2u, 3u, 5u, 7u, 10u, 64u, 127u, 255u, 256u, 641u, 1000u, 65535u,
                           65537u, 16777217u, 2147483648u, 2147483649u, 4294967295u}) {
    for (int n : {1, 2, 3}) {
      auto in = randomOperands(type, n, kCount, random);
      if (type != rondoFloat16 && type != rondoBfloat16 && type != rondoFloat32 &&
          type != rondoFloat64) {
        // Multiples of the divisor and their neighbours, where a quotient goes wrong first.
        for (size_t i = 0; i < kCount / 2; ++i) {
          const uint64_t x = divisor * (random() >> (random() % 64)) + i % 3 - 1;
          std::memcpy(in[0].data() + i * typeSize(type), &x, typeSize(type));
          for (int k = 1; k < n; ++k) {
            std::memset(in[static_cast<size_t>(k)].data() + i * typeSize(type), 0, typeSize(type));
          }
        }
      }
      const auto want = expected(type, rondoAvg, divisor, in);
      for (CpuLevel level : levels()) {
        SCOPED_TRACE(testing::Message()
                     << "divisor " << divisor << " n " << n << " " << cpuLevelName(level));
        check(findReduce(type, rondoAvg, level), {0, false, -1, -1, false}, kCount, divisor, in,
              want);
        if (HasFatalFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, ReduceLevels, testing::ValuesIn(kAllTypes),
                         [](const auto& test) { return std::string(typeName(test.param)); });

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
    const auto want = expected(type, rondoSum, 0, in);
    const uint16_t infinity =
        type == rondoFloat16 ? reference::Half::kInfinity : reference::Bfloat::kInfinity;
    for (size_t i = 0; i < 65536; ++i) {
      uint16_t got;
      std::memcpy(&got, want.data() + 2 * i, 2);
      if ((i & 0x7fff) > infinity) continue;
      ASSERT_EQ(got, i) << "the reference itself";
    }
    for (CpuLevel level : levels()) {
      SCOPED_TRACE(testing::Message() << typeName(type) << " " << cpuLevelName(level));
      check(findReduce(type, rondoSum, level), {0, false, -1, -1, false}, 65536, 0, in, want);
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
    for (rondoRedOp_t op : kAllOps) {
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

#if defined(__x86_64__)
/// A program linked with -ffast-math, or one that rounds otherwise, gets the same bits, and keeps
/// its own settings.
TEST(ReduceFloat, IgnoresTheCallersFloatingPointEnvironment) {
  constexpr unsigned kFlushAndZero = 0x8040, kRoundUp = 0x4000;
  std::mt19937_64 random(3);
  for (rondoDataType_t type : {rondoFloat16, rondoBfloat16, rondoFloat32, rondoFloat64}) {
    for (rondoRedOp_t op : kAllOps) {
      const auto in = randomOperands(type, 3, 1000, random);
      const auto want = expected(type, op, 3, in);
      for (CpuLevel level : levels()) {
        for (unsigned setting : {kFlushAndZero, kRoundUp, kFlushAndZero | kRoundUp}) {
          SCOPED_TRACE(testing::Message() << typeName(type) << " " << opName(op) << " "
                                          << cpuLevelName(level) << " " << setting);
          const unsigned before = _mm_getcsr();
          _mm_setcsr(before | setting);
          check(findReduce(type, op, level), {0, false, -1, -1, false}, 1000, 3, in, want);
          const unsigned after = _mm_getcsr();
          _mm_setcsr(before);
          EXPECT_EQ(after & 0xffc0u, (before | setting) & 0xffc0u);
        }
      }
    }
  }
}
#endif

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
      for (int kind = 0; kind < 6; ++kind) {
        const bool second = kind & 1;
        constexpr CopyTo kTo[] = {CopyTo::kStaging, CopyTo::kUser, CopyTo::kPast};
        for (CpuLevel level : levels()) {
          Buffer dst0(bytes, misalign), dst1(bytes, (misalign * 5) % 64);
          findCopy(level)(dst0.data(), second ? dst1.data() : nullptr, src.data(), bytes,
                          kTo[kind / 2]);
          SCOPED_TRACE(testing::Message() << bytes << " bytes, misalign " << misalign << " kind "
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

TEST(ReduceLookup, UnknownTypesAndOperators) {
  for (CpuLevel level : levels()) {
    EXPECT_EQ(findReduce(10, rondoSum, level), nullptr);
    EXPECT_EQ(findReduce(-1, rondoSum, level), nullptr);
    for (rondoDataType_t type : kAllTypes) {
      EXPECT_EQ(findReduce(type, 5, level), nullptr);
      EXPECT_EQ(findReduce(type, -1, level), nullptr);
      for (rondoRedOp_t op : kAllOps) EXPECT_NE(findReduce(type, op, level), nullptr);
    }
    EXPECT_NE(findCopy(level), nullptr);
  }
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
                 "RONDO_CPU is \"AVX2\", which is not a CPU level; allowed are plain, avx2 and "
                 "avx512.");
  }
}

}  // namespace
}  // namespace rondo
