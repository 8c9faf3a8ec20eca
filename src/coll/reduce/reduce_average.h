#pragma once
// Averages of integers: the wrapped sum divided by the number of ranks, truncated towards zero. See
// reduce_vector.h for the rule on linkage.

#include <type_traits>

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
  template <class T, int W, class V>
  RONDO_INLINE Raw<W> lanes(V acc) const {
    T lane[W / sizeof(T)];
    __builtin_memcpy(lane, &acc, W);
    for (T& x : lane) x = static_cast<T>(static_cast<Whole>(static_cast<F>(x) / divisor));
    return load<W>(reinterpret_cast<const char*>(lane));
  }
  F divisor;
};

/// Division of 64 bits by multiplication: with shift = ceil(log2(divisor)), the quotient is the
/// high part of x times the 65-bit number 2^64 + magic, shifted right by `shift` (Granlund and
/// Montgomery, "Division by invariant integers using multiplication", section 4). Signed numbers
/// divide their magnitude. A 64-bit division takes up to 90 cycles on processors before 2019.
struct DivideByMultiply {
  using Wide = unsigned __int128;
  explicit DivideByMultiply(uint32_t by)
      : shift(by > 1 ? 32 - __builtin_clz(by - 1) : 0),
        halve(shift == 0 ? 0 : 1),
        rest(shift == 0 ? 0 : shift - 1) {
    const uint64_t power = uint64_t{1} << shift;
    magic = static_cast<uint64_t>((static_cast<Wide>(power - by) << 64) / by) + 1;
  }
  RONDO_INLINE uint64_t operator()(uint64_t x) const {
    const uint64_t high = static_cast<uint64_t>((static_cast<Wide>(magic) * x) >> 64);
    return (high + ((x - high) >> halve)) >> rest;
  }
  RONDO_INLINE int64_t operator()(int64_t x) const {
    const uint64_t sign = x < 0 ? ~uint64_t{0} : 0;
    const uint64_t magnitude = (static_cast<uint64_t>(x) ^ sign) - sign;
    return static_cast<int64_t>(((*this)(magnitude) ^ sign) - sign);
  }

  /// The same for vectors. W bytes without a product of 32-bit halves go lane by lane.
  template <class T, int W>
  RONDO_INLINE Raw<W> lanes(Vec<uint64_t, W> x) const {
    if constexpr (!kHasHalves<W>) {
      T lane[W / sizeof(T)];
      __builtin_memcpy(lane, &x, W);
      for (T& value : lane) value = (*this)(value);
      return load<W>(reinterpret_cast<const char*>(lane));
    } else if constexpr (std::is_signed_v<T>) {
      const Vec<uint64_t, W> sign = as<uint64_t>(as<int64_t>(x) < 0);
      return (quotient<W>((x ^ sign) - sign) ^ sign) - sign;
    } else {
      return quotient<W>(x);
    }
  }

  template <int W>
  static constexpr bool kHasHalves =
#if defined(__AVX512F__)
      W == 64 ||
#endif
#if defined(__AVX2__)
      W == 32;
#else
      false;
#endif

  /// The product of the lower halves of each lane.
  template <int W>
  RONDO_INLINE static Vec<uint64_t, W> product(Vec<uint64_t, W> a, Vec<uint64_t, W> b) {
#if defined(__AVX512F__)
    if constexpr (W == 64) {
      return as<uint64_t>(
          _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
    }
#endif
#if defined(__AVX2__)
    if constexpr (W == 32) {
      return as<uint64_t>(
          _mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
    }
#endif
    return (a & 0xffffffffu) * (b & 0xffffffffu);
  }

  template <int W>
  RONDO_INLINE Vec<uint64_t, W> quotient(Vec<uint64_t, W> x) const {
    const Vec<uint64_t, W> low = splat<uint64_t, W>(magic), up = splat<uint64_t, W>(magic >> 32);
    const Vec<uint64_t, W> upper = x >> 32;
    // Of the 128 bits of x * magic the upper 64, from four products of halves.
    const Vec<uint64_t, W> middle = product<W>(upper, low) + (product<W>(x, low) >> 32);
    const Vec<uint64_t, W> other = product<W>(x, up) + (middle & 0xffffffffu);
    const Vec<uint64_t, W> high = product<W>(upper, up) + (middle >> 32) + (other >> 32);
    return (high + ((x - high) >> halve)) >> rest;
  }

  int shift;
  uint64_t magic;
  int halve, rest;  ///< The shift in two steps, for the 65th bit; by 1 nothing is left of magic.
};

/// T: the type as the caller sees it; U: its unsigned twin, in which the sum wraps.
template <class T, class U, class Divide>
struct IntegerAverage : Integer<U, Sum> {
  static constexpr int kTile = 1;  // The division outweighs everything.
  using Post = Divide;
  template <int W>
  RONDO_INLINE static Raw<W> finish(Vec<U, W> acc, const Post& divide) {
    return divide.template lanes<T, W>(acc);
  }
};

}  // namespace
}  // namespace rondo
