#pragma once
// What the tests of host reductions share: memory with guards, random operands, the reference's
// answer, and a call in a shape with everything checked that it may touch.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "api/types.h"
#include "coll/reduce/reduce.h"
#include "reduce_reference.h"

namespace rondo::reduce_test {

using Bytes = std::vector<unsigned char>;
using Operands = std::vector<Bytes>;

constexpr size_t kGuard = 64;
constexpr unsigned char kGuardByte = 0xa5;

/// Those of this processor.
inline const std::vector<CpuLevel>& levels() {
  static const std::vector<CpuLevel> all = [] {
    std::vector<CpuLevel> found;
    for (const char* name : {"plain", "avx2", "avx512", "avx512vbmi"}) {
      try {
        found.push_back(chooseCpuLevel(name));
      } catch (const std::invalid_argument&) {  // Not on this processor.
      }
    }
    return found;
  }();
  return all;
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
  bool holds(const Bytes& want) { return std::equal(want.begin(), want.end(), data()); }
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

/// Random bits of one number of `size` bytes; for floats (mantissa > 0) a third are zeros,
/// infinities, NaNs, denormals and extremes of any sign.
inline void randomNumber(unsigned char* p, size_t size, int mantissa, std::mt19937_64& random) {
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
  uint64_t bits = random();
  const uint64_t dice = random();
  if (mantissa && dice % 3 == 0) bits = special[dice / 3 % 8] | (bits & sign);
  // Moderate values, so that long chains do not all end in infinity or NaN.
  if (mantissa && dice % 3 == 1) bits = (bits & ~infinity) | (infinity / 2 & infinity);
  std::memcpy(p, &bits, size);
}

/// The bytes of a type's number (a pair's value, a part of a complex one) and the explicit bits of
/// its mantissa, 0 for integers.
struct NumberForm {
  size_t size;
  int mantissa;
};

inline NumberForm numberForm(rondoDataType_t type) {
  switch (type) {
    case rondoFloat8e4m3:
      return {1, 3};
    case rondoFloat8e5m2:
      return {1, 2};
    case rondoFloat16:
      return {2, 10};
    case rondoBfloat16:
      return {2, 7};
    case rondoFloat32:
    case rondoComplex64:
    case rondoFloat32Int32:
      return {4, 23};
    case rondoFloat64:
    case rondoComplex128:
    case rondoFloat64Int32:
      return {8, 52};
    case rondoInt64Int32:
      return {8, 0};
    case rondoInt32Int32:
      return {4, 0};
    case rondoInt16Int32:
      return {2, 0};
    default:
      return {typeSize(type), 0};
  }
}

/// `count` random elements. Pairs: few values and few indices, so that both often tie, and padding
/// that is not zero.
inline void fillRandom(rondoDataType_t type, unsigned char* p, size_t count,
                       std::mt19937_64& random) {
  const NumberForm form = numberForm(type);
  const size_t size = typeSize(type);
  const bool pairs = typeClass(type) == TypeClass::kPair;
  unsigned char few[8][8];
  for (auto& value : few) randomNumber(value, form.size, form.mantissa, random);
  for (size_t i = 0; i < count; ++i, p += size) {
    if (!pairs) {
      for (size_t at = 0; at < size; at += form.size) {
        randomNumber(p + at, form.size, form.mantissa, random);
      }
      if (type == rondoBool && random() % 2) *p = random() % 2;
      continue;
    }
    std::memset(p, 0xee, size);
    const bool fresh = random() % 3 == 0;
    if (fresh) randomNumber(p, form.size, form.mantissa, random);
    if (!fresh) std::memcpy(p, few[random() % 8], form.size);
    const int32_t indices[] = {0, 1, -1, INT32_MIN, INT32_MAX, static_cast<int32_t>(random())};
    std::memcpy(p + (form.size < 4 ? 4 : form.size), &indices[random() % 6], 4);
  }
}

inline Operands randomOperands(rondoDataType_t type, int n, size_t count, std::mt19937_64& random) {
  Operands in(static_cast<size_t>(n));
  for (auto& operand : in) {
    operand.resize(count * typeSize(type));
    fillRandom(type, operand.data(), count, random);
  }
  return in;
}

/// What a call asks for besides type, operator and memory.
struct ReduceCall {
  uint32_t divisor = 0;
  bool tree = false;
  int scaled = -1;
  Bytes scalar = {};
};

template <class T>
T elementOf(const Bytes& bytes, size_t at) {
  T x;
  std::memcpy(&x, bytes.data() + at, sizeof x);
  return x;
}

template <class T>
Bytes expectedAs(rondoRedOp_t op, const ReduceCall& call, const Operands& in) {
  Bytes out(in[0].size());
  for (size_t i = 0; i < out.size(); i += sizeof(T)) {
    const auto operand = [&](int k) {
      const T x = elementOf<T>(in[static_cast<size_t>(k)], i);
      if constexpr (!reference::kIsPair<T> && !std::is_same_v<T, reference::BoolByte>) {
        if (k == call.scaled) return reference::scaled<T>(x, elementOf<T>(call.scalar, 0));
      }
      return x;
    };
    const T v =
        reference::reduce<T>(op, static_cast<int>(in.size()), call.divisor, operand, call.tree);
    std::memcpy(out.data() + i, &v, sizeof v);
  }
  return out;
}

inline Bytes expected(rondoDataType_t type, rondoRedOp_t op, const ReduceCall& call,
                      const Operands& in) {
  return reference::withType(type,
                             [&](auto kind) { return expectedAs<decltype(kind)>(op, call, in); });
}

/// How one call uses memory.
struct Shape {
  size_t misalign;  ///< Of out0; operand k and out1 lie elsewhere again.
  bool second;      ///< A second output.
  int inPlace0;     ///< out0 is this operand, unless -1.
  int inPlace1;     ///< out1 is this operand, unless -1.
  bool stream;
};

inline std::string describe(const Shape& s) {
  return "misalign " + std::to_string(s.misalign) + (s.second ? " two outputs" : " one output") +
         " in place " + std::to_string(s.inPlace0) + "/" + std::to_string(s.inPlace1) +
         (s.stream ? " stream" : "");
}

inline std::vector<Shape> shapes(int n, size_t elementSize) {
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
inline void check(ReduceFn reduce, const Shape& shape, size_t count, const ReduceCall& call,
                  const Operands& in, const Bytes& want) {
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
          static_cast<int>(in.size()), count, call.divisor, shape.stream, call.tree, call.scaled,
          call.scalar.data()});
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

}  // namespace rondo::reduce_test
