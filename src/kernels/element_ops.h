#pragma once
// What the operators do to elements, by the host's rules (coll/reduce/reduce.h), one element at a
// time. Plain enough for nvcc and for the host compiler, whose test holds it against the host's
// kernels on random bits.

#include <cstddef>
#include <cstdint>

#include "coll/algo/base.h"

namespace rondo::element {

enum class Fn { kSum, kProd, kMax, kMin, kAnd, kOr, kXor };

template <class To, class From>
RONDO_ALGO To as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}
template <class T>
RONDO_ALGO T load(const unsigned char* at) {
  T value;
  __builtin_memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
RONDO_ALGO void store(unsigned char* at, T value) {
  __builtin_memcpy(at, &value, sizeof value);
}

/// What the operators of one family are made of: kBytes of an element, first() of its bytes,
/// merge() of two, finish() into bytes; a divisor that is not 0 divides (rondoAvg).

/// Integers; T decides how to compare and to divide. Sums and products wrap.
template <class T, Fn fn>
struct Integer {
  static constexpr int kBytes = sizeof(T);
  using Acc = T;
  RONDO_ALGO static Acc first(const unsigned char* at) { return load<T>(at); }
  RONDO_ALGO static Acc merge(Acc a, Acc b) {
    if (fn == Fn::kMax) return a > b ? a : b;
    if (fn == Fn::kMin) return a < b ? a : b;
    const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<T>(fn == Fn::kSum    ? x + y
                          : fn == Fn::kProd ? x * y
                          : fn == Fn::kAnd  ? (x & y)
                          : fn == Fn::kOr   ? (x | y)
                                            : (x ^ y));
  }
  RONDO_ALGO static void finish(Acc acc, uint32_t divisor, unsigned char* at) {
    if (divisor != 0) {
      using Wide = decltype(T(0) < T(-1) ? uint64_t{} : uint64_t{});
      if (T(-1) < T(0)) {
        acc = static_cast<T>(static_cast<int64_t>(acc) / static_cast<int64_t>(divisor));
      } else {
        acc = static_cast<T>(static_cast<Wide>(acc) / divisor);
      }
    }
    store(at, acc);
  }
};

/// Truth values: what is not 0 is true; results are 0 or 1.
template <class T, Fn fn>
struct Logical : Integer<T, fn> {
  RONDO_ALGO static T first(const unsigned char* at) { return load<T>(at) != 0 ? T{1} : T{0}; }
};

template <class T>
struct FloatBits;
template <>
struct FloatBits<float> {
  using Bits = uint32_t;
  static constexpr Bits kNan = 0x7fc00000u;
};
template <>
struct FloatBits<double> {
  using Bits = uint64_t;
  static constexpr Bits kNan = 0x7ff8000000000000u;
};

template <class T>
RONDO_ALGO T canonical(T x) {
  return x == x ? x : as<T>(FloatBits<T>::kNan);
}

/// float32 and float64. Zeros are equal and compared by their bits; a NaN makes a NaN.
template <class T, Fn fn>
struct Float {
  static constexpr int kBytes = sizeof(T);
  using Acc = T;
  using Bits = typename FloatBits<T>::Bits;
  RONDO_ALGO static Acc first(const unsigned char* at) { return load<T>(at); }
  RONDO_ALGO static Acc merge(Acc a, Acc b) {
    if (fn == Fn::kSum) return a + b;
    if (fn == Fn::kProd) return a * b;
    if (a != a || b != b) return as<T>(FloatBits<T>::kNan);
    if (a == b) {
      return as<T>(static_cast<Bits>(fn == Fn::kMax ? as<Bits>(a) & as<Bits>(b)
                                                    : as<Bits>(a) | as<Bits>(b)));
    }
    return (fn == Fn::kMax) == (a > b) ? a : b;
  }
  RONDO_ALGO static void finish(Acc acc, uint32_t divisor, unsigned char* at) {
    store(at, canonical(divisor != 0 ? acc / static_cast<T>(divisor) : acc));
  }
};

struct Bfloat16 {
  static constexpr int kBytes = 2;
  using Int = int16_t;
  static constexpr int kInfinity = 0x7f80, kNan = 0x7fc0, kMost = 0x7f80;
  RONDO_ALGO static float widen(uint16_t x) { return as<float>(static_cast<uint32_t>(x) << 16); }
  RONDO_ALGO static uint16_t narrow(float x) {
    const uint32_t v = as<uint32_t>(canonical(x));
    return static_cast<uint16_t>((v + 0x7fffu + ((v >> 16) & 1u)) >> 16);
  }
};

struct Float16 {
  static constexpr int kBytes = 2;
  using Int = int16_t;
  static constexpr int kInfinity = 0x7c00, kNan = 0x7e00, kMost = 0x7c00;
#if defined(__CUDA_ARCH__)
  RONDO_ALGO static float widen(uint16_t x) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x));
    return f;
  }
  RONDO_ALGO static uint16_t narrow(float x) {
    uint16_t h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return x == x ? h : static_cast<uint16_t>(kNan);
  }
#else
  RONDO_ALGO static float widen(uint16_t x) {
    const uint32_t magnitude = (x & 0x7fffu) << 13;
    // 2^112 too small, denormals included: the product is exact
    uint32_t f = as<uint32_t>(as<float>(magnitude) * 0x1p112f);
    if (magnitude >= (31u << 23)) f |= 0x7f800000u;
    return as<float>(f | (x & 0x8000u) << 16);
  }
  RONDO_ALGO static uint16_t narrow(float x) {
    if (x != x) return kNan;
    const uint32_t bits = as<uint32_t>(x), size = bits & 0x7fffffffu;
    uint32_t h = 0;
    if (size >= as<uint32_t>(65536.0f)) {
      h = kInfinity;
    } else if (size < (113u << 23)) {  // denormal: the sum's last bit is 2^-24
      h = as<uint32_t>(as<float>(size) + 0.5f) - (126u << 23);
    } else {
      h = (size - (112u << 23) + 0xfffu + ((size >> 13) & 1u)) >> 13;
    }
    return static_cast<uint16_t>(h | (bits >> 16 & 0x8000u));
  }
#endif
};

/// 8-bit floats of kMantissa bits: true values, with infinities and NaNs; saturating.
template <int kMantissa, int kBias, int kSpecial, int kFirstNan, int kLargest>
struct Float8 {
  static constexpr int kBytes = 1;
  using Int = int8_t;
  static constexpr int kInfinity = kFirstNan - 1, kNan = 0x7f, kMost = kLargest;
  static constexpr int kDrop = 23 - kMantissa;
  RONDO_ALGO static float widen(uint8_t x) {
    const uint32_t size = x & 0x7fu;
    // as a float32 it is 2^(127 - kBias) too small, which the product mends exactly
    uint32_t f = as<uint32_t>(as<float>(size << kDrop) *
                              as<float>(static_cast<uint32_t>(127 + 127 - kBias) << 23));
    if (size >= kSpecial) f |= 0x7f800000u;
    return as<float>(f | static_cast<uint32_t>(x & 0x80u) << 24);
  }
  RONDO_ALGO static uint8_t narrow(float x) {
    if (x != x) return kNan;
    const uint32_t bits = as<uint32_t>(x);
    const float most = widen(kLargest);
    float size = as<float>(bits & 0x7fffffffu);
    if (size > most) size = most;
    const uint32_t m = as<uint32_t>(size);
    uint32_t byte = 0;
    if (m < static_cast<uint32_t>(127 - kBias + 1) << 23) {
      // denormal: the sum's last bit is the least denormal
      const uint32_t aligned = static_cast<uint32_t>(127 - kBias + 1 + kDrop) << 23;
      byte = as<uint32_t>(size + as<float>(aligned)) - aligned;
    } else {
      byte = (m - (static_cast<uint32_t>(127 - kBias) << 23) + (1u << (kDrop - 1)) - 1 +
              ((m >> kDrop) & 1u)) >>
             kDrop;
    }
    return static_cast<uint8_t>(byte | (bits >> 24 & 0x80u));
  }
};
using Float8e4m3 = Float8<3, 7, 0x7f, 0x7f, 0x7e>;
using Float8e5m2 = Float8<2, 15, 0x7c, 0x7d, 0x7b>;

/// Sums and products of 16- and 8-bit floats: in float32, rounded once.
template <class Format, Fn fn>
struct Narrow {
  static constexpr int kBytes = Format::kBytes;
  using Acc = float;
  using Bits = decltype(Format::narrow(0.0f));
  RONDO_ALGO static Acc first(const unsigned char* at) { return Format::widen(load<Bits>(at)); }
  RONDO_ALGO static Acc merge(Acc a, Acc b) { return fn == Fn::kSum ? a + b : a * b; }
  RONDO_ALGO static void finish(Acc acc, uint32_t divisor, unsigned char* at) {
    store(at, Format::narrow(divisor != 0 ? acc / static_cast<float>(divisor) : acc));
  }
};

/// Maximum and minimum of 16- and 8-bit floats, as integers: flipping the magnitude of the negative
/// ones makes the order of the bits the order of the values.
template <class Format, Fn fn>
struct NarrowOrder {
  static constexpr int kBytes = Format::kBytes;
  using Int = typename Format::Int;
  static constexpr int kMagnitude = (1 << (8 * kBytes - 1)) - 1;
  static constexpr int kNanKey = 1 << 30;  // no number's
  using Acc = int;
  RONDO_ALGO static Acc first(const unsigned char* at) {
    const int x = load<Int>(at);
    if ((x & kMagnitude) > Format::kInfinity) return kNanKey;
    return x < 0 ? x ^ kMagnitude : x;
  }
  RONDO_ALGO static Acc merge(Acc a, Acc b) {
    if (a == kNanKey || b == kNanKey) return kNanKey;
    return (fn == Fn::kMax) == (a > b) ? a : b;
  }
  RONDO_ALGO static void finish(Acc acc, uint32_t, unsigned char* at) {
    if (acc > Format::kMost && acc != kNanKey) acc = Format::kMost;
    if (acc < ~Format::kMost) acc = ~Format::kMost;
    store(at, static_cast<Int>(acc == kNanKey ? Format::kNan : acc < 0 ? acc ^ kMagnitude : acc));
  }
};

/// Complex numbers of two T.
template <class T, Fn fn>
struct Complex {
  static constexpr int kBytes = 2 * sizeof(T);
  struct Acc {
    T re, im;
  };
  RONDO_ALGO static Acc first(const unsigned char* at) {
    return {load<T>(at), load<T>(at + sizeof(T))};
  }
  RONDO_ALGO static Acc merge(Acc x, Acc y) {
    if (fn == Fn::kSum) return {x.re + y.re, x.im + y.im};
    const T ac = x.re * y.re, bd = x.im * y.im, ad = x.re * y.im, bc = x.im * y.re;
    return {ac - bd, ad + bc};
  }
  RONDO_ALGO static void finish(Acc acc, uint32_t divisor, unsigned char* at) {
    const T by = static_cast<T>(divisor);
    store(at, canonical(divisor != 0 ? acc.re / by : acc.re));
    store(at + sizeof(T), canonical(divisor != 0 ? acc.im / by : acc.im));
  }
};

/// minloc and maxloc. A value becomes an integer of which the least is the best, NaN before all.
template <class T, int kSize, bool kLargest>
struct Located {
  static constexpr int kBytes = kSize;
  static constexpr bool kFloat = T(0.5) != T(0);
  struct Acc {
    int64_t key;
    int32_t index;
  };
  static constexpr int64_t kNanKey = INT64_MIN;  // no number's: NaNs have the keys beside it
  RONDO_ALGO static Acc first(const unsigned char* at) {
    const T value = load<T>(at);
    int64_t key = 0;
    if constexpr (kFloat) {
      using Bits = typename FloatBits<T>::Bits;
      const int64_t bits = static_cast<int64_t>(as<Bits>(value))
                           << (64 - 8 * sizeof(T));  // the sign on top
      key = bits < 0 ? bits ^ INT64_MAX : bits;
      if (kLargest) key = ~key;
      if (value != value) key = kNanKey;
    } else {
      key = static_cast<int64_t>(value);
      if (kLargest) key = ~key;
    }
    return {key, load<int32_t>(at + kSize / 2)};
  }
  RONDO_ALGO static Acc merge(Acc a, Acc b) {
    if (a.key != b.key) return a.key < b.key ? a : b;
    return a.index <= b.index ? a : b;
  }
  RONDO_ALGO static void finish(Acc acc, uint32_t, unsigned char* at) {
    for (int i = 0; i < kSize; ++i) at[i] = 0;  // padding
    int64_t key = kLargest ? ~acc.key : acc.key;
    if constexpr (kFloat) {
      using Bits = typename FloatBits<T>::Bits;
      const int64_t bits = key < 0 ? key ^ INT64_MAX : key;
      const Bits value = static_cast<Bits>(static_cast<uint64_t>(bits) >> (64 - 8 * sizeof(T)));
      store(at, acc.key == kNanKey ? FloatBits<T>::kNan : value);
    } else {
      store(at, static_cast<T>(key));
    }
    store(at + kSize / 2, acc.index);
  }
};

}  // namespace rondo::element
