#pragma once
// What the host reductions must give, element by element: plain scalar code that shares nothing
// with src/coll/reduce. The 8- and 16-bit floats are read and rounded by arithmetic on doubles.

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "api/rondo.h"

namespace rondo::reference {

/// A float of 16 bits with kMantissa explicit bits and the least normal exponent kMinExponent.
template <int kMantissa, int kMinExponent>
struct Small {
  static constexpr uint16_t kInfinity = uint16_t(0x7fff & (0xffff << kMantissa));
  static constexpr uint16_t kNan = kInfinity | uint16_t(1 << (kMantissa - 1));

  static float widen(uint16_t bits) {
    const int exponent = (bits & 0x7fff) >> kMantissa;
    const int mantissa = bits & ((1 << kMantissa) - 1);
    double x = 0;
    if ((bits & 0x7fff) >= kInfinity) {
      x = mantissa ? std::nan("") : std::numeric_limits<double>::infinity();
    } else if (exponent == 0) {
      x = std::ldexp(mantissa, kMinExponent - kMantissa);
    } else {
      x = std::ldexp(mantissa + (1 << kMantissa), exponent - 1 + kMinExponent - kMantissa);
    }
    return static_cast<float>(bits & 0x8000 ? -x : x);
  }

  static uint16_t round(float f) {
    const uint16_t sign = std::signbit(f) ? 0x8000 : 0;
    if (std::isnan(f)) return kNan;
    if (std::isinf(f)) return sign | kInfinity;
    const double x = std::fabs(static_cast<double>(f));
    const int exponent = x == 0 ? kMinExponent : std::max(std::ilogb(x), kMinExponent);
    // In units of the last place; the sum of the fields carries into the exponent by itself.
    const double units = std::nearbyint(std::ldexp(x, kMantissa - exponent));
    const double bits = units + std::ldexp(exponent - kMinExponent, kMantissa);
    return sign | (bits >= kInfinity ? kInfinity : static_cast<uint16_t>(bits));
  }
};
using Half = Small<10, -14>;
using Bfloat = Small<7, -126>;

/// A float of 8 bits, which saturates. kMax: the largest finite number's bits; from kFirstNan on
/// there are NaNs, between them perhaps an infinity.
template <int kMantissa, int kMinExponent, int kMax, int kFirstNan>
struct Tiny {
  static double widen(uint8_t bits) {
    const int magnitude = bits & 0x7f;
    const int exponent = magnitude >> kMantissa;
    const int mantissa = magnitude & ((1 << kMantissa) - 1);
    double x = 0;
    if (magnitude >= kFirstNan) {
      x = std::nan("");
    } else if (magnitude > kMax) {
      x = std::numeric_limits<double>::infinity();
    } else if (exponent == 0) {
      x = std::ldexp(mantissa, kMinExponent - kMantissa);
    } else {
      x = std::ldexp(mantissa + (1 << kMantissa), exponent - 1 + kMinExponent - kMantissa);
    }
    return bits & 0x80 ? -x : x;
  }

  static uint8_t round(double x) {
    if (std::isnan(x)) return 0x7f;
    const uint8_t sign = std::signbit(x) ? 0x80 : 0;
    x = std::fabs(x);
    if (x >= widen(kMax)) return sign | kMax;
    const int exponent = x == 0 ? kMinExponent : std::max(std::ilogb(x), kMinExponent);
    const double units = std::nearbyint(std::ldexp(x, kMantissa - exponent));
    return sign | static_cast<uint8_t>(units + std::ldexp(exponent - kMinExponent, kMantissa));
  }
};
using E4m3 = Tiny<3, -6, 0x7e, 0x7f>;
using E5m2 = Tiny<2, -14, 0x7b, 0x7d>;

/// Carriers, so that every element type is a C++ type of its own. Format: how a narrow float is
/// read and rounded.
struct HalfBits {
  using Format = Half;
  uint16_t bits;
};
struct BfloatBits {
  using Format = Bfloat;
  uint16_t bits;
};
struct E4m3Bits {
  using Format = E4m3;
  uint8_t bits;
};
struct E5m2Bits {
  using Format = E5m2;
  uint8_t bits;
};
struct BoolByte {
  uint8_t byte;
};

/// Pairs, with their padding in the open.
template <class V>
struct Pair8 {
  using Value = V;
  V value;
  int32_t index;
};
struct ShortPair {
  using Value = int16_t;
  int16_t value;
  int16_t padding;
  int32_t index;
};
template <class V>
struct Pair16 {
  using Value = V;
  V value;
  int32_t index;
  int32_t padding;
};

template <class T>
constexpr bool kIsNarrow = requires {
  typename T::Format;
};
template <class T>
constexpr bool kIsPair = requires {
  typename T::Value;
};
template <class T>
constexpr bool kIsComplex =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

template <class T>
T canonical(T x) {
  if constexpr (kIsComplex<T>) {
    return {canonical(x.real()), canonical(x.imag())};
  } else {
    if (!std::isnan(x)) return x;
    if constexpr (sizeof(T) == 4)
      return std::bit_cast<float>(0x7fc00000u);
    else
      return std::bit_cast<double>(uint64_t{0x7ff8000000000000});
  }
}

template <class T>
T combineFloat(rondoRedOp_t op, T a, T b) {
  if (op == rondoProd) return a * b;
  if (op != rondoMax && op != rondoMin) return a + b;
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  if (a == b) return std::signbit(a) == (op == rondoMin) ? a : b;
  return (a > b) == (op == rondoMax) ? a : b;
}

/// std::complex's own product repairs infinities.
template <class T>
T combineComplex(rondoRedOp_t op, T a, T b) {
  if (op != rondoProd) return {a.real() + b.real(), a.imag() + b.imag()};
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

template <class T>
T combineInteger(rondoRedOp_t op, T a, T b) {
  const auto x = static_cast<unsigned __int128>(a);
  const auto y = static_cast<unsigned __int128>(b);
  switch (op) {
    case rondoProd:
      return static_cast<T>(x * y);
    case rondoMax:
      return a > b ? a : b;
    case rondoMin:
      return a < b ? a : b;
    case rondoLogicalAnd:
      return a != 0 && b != 0;
    case rondoLogicalOr:
      return a != 0 || b != 0;
    case rondoLogicalXor:
      return (a != 0) != (b != 0);
    case rondoBitAnd:
      return static_cast<T>(x & y);
    case rondoBitOr:
      return static_cast<T>(x | y);
    case rondoBitXor:
      return static_cast<T>(x ^ y);
    default:
      return static_cast<T>(x + y);
  }
}

inline BoolByte combineBool(rondoRedOp_t op, BoolByte a, BoolByte b) {
  const bool x = a.byte != 0, y = b.byte != 0;
  if (op == rondoLogicalAnd || op == rondoBitAnd) return {x && y};
  if (op == rondoLogicalOr || op == rondoBitOr) return {x || y};
  return {x != y};
}

template <class T>
bool isNan(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
  return false;
}

/// Whether `a` comes before `b` in the order of the values, -0 before +0.
template <class T>
bool isLess(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a == b) return std::signbit(a) && !std::signbit(b);
  }
  return a < b;
}

template <class P>
P combinePair(rondoRedOp_t op, P a, P b) {
  using V = typename P::Value;
  const bool aNan = isNan(a.value), bNan = isNan(b.value);
  P best{};
  if (aNan || bNan) {
    best.value = std::numeric_limits<V>::quiet_NaN();
    best.index = !bNan ? a.index : !aNan ? b.index : std::min(a.index, b.index);
    return best;
  }
  const bool aBetter = op == rondoMinLoc ? isLess(a.value, b.value) : isLess(b.value, a.value);
  const bool bBetter = op == rondoMinLoc ? isLess(b.value, a.value) : isLess(a.value, b.value);
  const bool takeA = aBetter || (!bBetter && a.index <= b.index);
  best.value = takeA ? a.value : b.value;
  best.index = takeA ? a.index : b.index;
  return best;
}

template <class T>
T combine(rondoRedOp_t op, T a, T b) {
  if constexpr (kIsComplex<T>) {
    return combineComplex(op, a, b);
  } else if constexpr (kIsPair<T>) {
    return combinePair(op, a, b);
  } else if constexpr (std::is_same_v<T, BoolByte>) {
    return combineBool(op, a, b);
  } else if constexpr (std::is_floating_point_v<T>) {
    return combineFloat(op, a, b);
  } else {
    return combineInteger(op, a, b);
  }
}

/// Operands `begin` to `begin` + n - 1, from left to right or as the balanced tree.
template <class T, class Operand>
T fold(rondoRedOp_t op, int begin, int n, bool tree, const Operand& operand) {
  T v = operand(begin);
  if (tree && n > 1) {
    const int left = static_cast<int>(std::bit_floor(static_cast<unsigned>(n - 1)));
    return combine<T>(op, fold<T>(op, begin, left, true, operand),
                      fold<T>(op, begin + left, n - left, true, operand));
  }
  for (int k = 1; k < n; ++k) v = combine<T>(op, v, operand(begin + k));
  return v;
}

/// v = operand(0) op operand(1) op ... op operand(n - 1), divided for an average.
template <class T, class Operand>
T reduce(rondoRedOp_t op, int n, uint32_t divisor, const Operand& operand, bool tree = false) {
  const bool divide = op == rondoAvg && divisor != 0;
  if (n == 1 && !divide) return operand(0);
  if constexpr (kIsNarrow<T>) {
    using Format = typename T::Format;
    const auto wide = [&](int k) { return static_cast<float>(Format::widen(operand(k).bits)); };
    return T{Format::round(reduce<float>(op, n, divisor, wide, tree))};
  } else {
    const T v = fold<T>(op, 0, n, tree, operand);
    if constexpr (kIsComplex<T>) {
      const auto by = static_cast<typename T::value_type>(divisor);
      return canonical(divide ? T{v.real() / by, v.imag() / by} : v);
    } else if constexpr (std::is_floating_point_v<T>) {
      return canonical(divide ? v / static_cast<T>(divisor) : v);
    } else if constexpr (std::is_integral_v<T>) {
      return divide ? static_cast<T>(static_cast<__int128>(v) / divisor) : v;
    } else {
      return v;
    }
  }
}

/// x times a scalar, rounded to the type. Numeric types only.
template <class T>
T scaled(T x, T scalar) {
  return reduce<T>(rondoProd, 2, 0, [&](int k) { return k == 0 ? x : scalar; });
}

/// f(T{}) with the C++ type of a rondoDataType_t.
template <class F>
auto withType(rondoDataType_t type, const F& f) {
  switch (type) {
    case rondoInt8:
      return f(int8_t{});
    case rondoUint8:
      return f(uint8_t{});
    case rondoInt16:
      return f(int16_t{});
    case rondoUint16:
      return f(uint16_t{});
    case rondoInt32:
      return f(int32_t{});
    case rondoUint32:
      return f(uint32_t{});
    case rondoInt64:
      return f(int64_t{});
    case rondoUint64:
      return f(uint64_t{});
    case rondoFloat8e4m3:
      return f(E4m3Bits{});
    case rondoFloat8e5m2:
      return f(E5m2Bits{});
    case rondoFloat16:
      return f(HalfBits{});
    case rondoBfloat16:
      return f(BfloatBits{});
    case rondoFloat32:
      return f(float{});
    case rondoFloat64:
      return f(double{});
    case rondoComplex64:
      return f(std::complex<float>{});
    case rondoComplex128:
      return f(std::complex<double>{});
    case rondoBool:
      return f(BoolByte{});
    case rondoFloat32Int32:
      return f(Pair8<float>{});
    case rondoFloat64Int32:
      return f(Pair16<double>{});
    case rondoInt64Int32:
      return f(Pair16<int64_t>{});
    case rondoInt32Int32:
      return f(Pair8<int32_t>{});
    case rondoInt16Int32:
      return f(ShortPair{});
    default:
      throw std::invalid_argument("no such type");
  }
}

}  // namespace rondo::reference
