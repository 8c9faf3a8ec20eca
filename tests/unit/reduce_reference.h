#pragma once
// What the host reductions must give, element by element: plain scalar code that shares nothing
// with src/coll/reduce. The 16-bit floats are read and rounded by arithmetic on doubles.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
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

/// Carriers, so that every element type is a C++ type of its own.
struct HalfBits {
  uint16_t bits;
};
struct BfloatBits {
  uint16_t bits;
};

template <class T>
T canonical(T x) {
  if (!std::isnan(x)) return x;
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<float>(0x7fc00000u);
  else
    return std::bit_cast<double>(uint64_t{0x7ff8000000000000});
}

template <class T>
T combineFloat(rondoRedOp_t op, T a, T b) {
  if (op == rondoProd) return a * b;
  if (op != rondoMax && op != rondoMin) return a + b;
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  if (a == b) return std::signbit(a) == (op == rondoMin) ? a : b;
  return (a > b) == (op == rondoMax) ? a : b;
}

template <class T>
T combineInteger(rondoRedOp_t op, T a, T b) {
  const auto x = static_cast<unsigned __int128>(a);
  const auto y = static_cast<unsigned __int128>(b);
  if (op == rondoProd) return static_cast<T>(x * y);
  if (op == rondoMax) return a > b ? a : b;
  if (op == rondoMin) return a < b ? a : b;
  return static_cast<T>(x + y);
}

/// v = operand(0) op operand(1) op ... op operand(n - 1), divided for an average.
template <class T, class Operand>
T reduce(rondoRedOp_t op, int n, uint32_t divisor, Operand operand) {
  const bool divide = op == rondoAvg && divisor != 0;
  if (n == 1 && !divide) return operand(0);
  if constexpr (std::is_same_v<T, HalfBits> || std::is_same_v<T, BfloatBits>) {
    using Format = std::conditional_t<std::is_same_v<T, HalfBits>, Half, Bfloat>;
    const float wide =
        reduce<float>(op, n, divisor, [&](int k) { return Format::widen(operand(k).bits); });
    return T{Format::round(wide)};
  } else if constexpr (std::is_floating_point_v<T>) {
    T v = operand(0);
    for (int k = 1; k < n; ++k) v = combineFloat<T>(op, v, operand(k));
    return canonical(divide ? v / static_cast<T>(divisor) : v);
  } else {
    T v = operand(0);
    for (int k = 1; k < n; ++k) v = combineInteger<T>(op, v, operand(k));
    return divide ? static_cast<T>(static_cast<__int128>(v) / divisor) : v;
  }
}

}  // namespace rondo::reference
