#pragma once
// Averages of integers: the wrapped sum divided by the number of ranks, truncated towards zero. See
// reduce_vector.h for the rule on linkage.

#include "coll/reduce/reduce_ops.h"

namespace rondo {
namespace {

/// Division of up to 32 bits by way of a float type with room to spare. The rounded quotient never
/// reaches an integer that the exact one does not: a quotient that is not whole is at least
/// 1 / divisor away from the next integer, and the rounding error is below 2^-8 / divisor (float32
/// for 16 bits) or 2^-20 / divisor (float64 for 32 bits).
template <class F, class Whole>
struct DivideByFloat {
  explicit DivideByFloat(uint32_t by) : divisor(static_cast<F>(by)) {}
  template <class T>
  RONDO_INLINE T operator()(T x) const {
    return static_cast<T>(static_cast<Whole>(static_cast<F>(x) / divisor));
  }
  F divisor;
};

/// Division of 64 bits by multiplication: with shift = ceil(log2(divisor)), the quotient is the
/// high part of x times the 65-bit number 2^64 + magic, shifted right by `shift` (Granlund and
/// Montgomery, "Division by invariant integers using multiplication", section 4). Signed numbers
/// divide their magnitude. A 64-bit division takes up to 90 cycles on processors before 2019.
struct DivideByMultiply {
  using Wide = unsigned __int128;
  explicit DivideByMultiply(uint32_t by) : shift(by > 1 ? 32 - __builtin_clz(by - 1) : 0) {
    const uint64_t power = uint64_t{1} << shift;
    magic = static_cast<uint64_t>((static_cast<Wide>(power - by) << 64) / by) + 1;
  }
  RONDO_INLINE uint64_t operator()(uint64_t x) const {
    const uint64_t high = static_cast<uint64_t>((static_cast<Wide>(magic) * x) >> 64);
    if (shift == 0) return x;
    return (high + ((x - high) >> 1)) >> (shift - 1);
  }
  RONDO_INLINE int64_t operator()(int64_t x) const {
    const uint64_t sign = x < 0 ? ~uint64_t{0} : 0;
    const uint64_t magnitude = (static_cast<uint64_t>(x) ^ sign) - sign;
    return static_cast<int64_t>(((*this)(magnitude) ^ sign) - sign);
  }
  int shift;
  uint64_t magic;
};

/// T: the type as the caller sees it; U: its unsigned twin, in which the sum wraps.
template <class T, class U, class Divide>
struct IntegerAverage : Integer<U, Sum> {
  static constexpr int kTile = 1;  // The division outweighs everything.
  using Post = Divide;
  template <int W>
  RONDO_INLINE static Raw<W> finish(Vec<U, W> acc, const Post& divide) {
    T lanes[W / sizeof(T)];
    __builtin_memcpy(lanes, &acc, W);
    for (T& x : lanes) x = divide(x);
    return load<W>(reinterpret_cast<const char*>(lanes));
  }
};

}  // namespace
}  // namespace rondo
