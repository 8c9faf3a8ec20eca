#pragma once
// Canonical NaNs; the 16-bit floats: widening to float32 and rounding back. See reduce_vector.h for
// the rule on linkage.

#include "coll/reduce/reduce_vector.h"

namespace rondo {
namespace {

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

/// Every NaN becomes the canonical one: which payload an addition passes on depends on the order
/// in which a compiler puts its operands, and on the processor.
template <class T, int W>
RONDO_INLINE Vec<T, W> canonical(Vec<T, W> x) {
  using Bits = typename FloatBits<T>::Bits;
  return as<T>(x == x ? as<Bits>(x) : splat<Bits, W>(FloatBits<T>::kNan));
}

/// The float32 values of W bytes of 16-bit floats: two vectors, in whatever order widen() deals
/// them out and narrow() takes them back.
template <int W>
struct Wide {
  Vec<float, W> a, b;
};

struct Bfloat16 {
  static constexpr int16_t kInfinity = 0x7f80;
  static constexpr int16_t kNan = 0x7fc0;

  template <int W>
  RONDO_INLINE static Wide<W> widen(Raw<W> raw) {
    const Vec<uint32_t, W> v = as<uint32_t>(raw);
    return {as<float>(v << 16), as<float>(v & 0xffff0000u)};
  }

  /// To nearest even, by integers: vcvtneps2bf16 would flush denormals.
  template <int W>
  RONDO_INLINE static Vec<uint32_t, W> round(Vec<float, W> x) {
    const Vec<uint32_t, W> v = as<uint32_t>(x);
    return v + 0x7fffu + ((v >> 16) & 1u);
  }

  template <int W>
  RONDO_INLINE static Raw<W> narrow(Wide<W> x) {
    const Vec<uint32_t, W> low = round<W>(canonical<float, W>(x.a)) >> 16;
    const Vec<uint32_t, W> high = round<W>(canonical<float, W>(x.b));
#if defined(__AVX2__)
    if constexpr (W == 32) {
      return as<uint64_t>(_mm256_blend_epi16(as<long long>(low), as<long long>(high), 0xaa));
    }
#endif
    return as<uint64_t>(low | (high & 0xffff0000u));
  }
};

#if defined(__F16C__)

struct Float16 {
  static constexpr uint16_t kAllLanes = 0xffff;
  static constexpr int16_t kInfinity = 0x7c00;
  static constexpr int16_t kNan = 0x7e00;

  template <int W>
  RONDO_INLINE static Wide<W> widen(Raw<W> raw) {
    if constexpr (W == 16) {
      const __m256 x = _mm256_cvtph_ps(reinterpret_cast<__m128i>(raw));
      return {_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1)};
    } else if constexpr (W == 32) {
      const __m256i v = reinterpret_cast<__m256i>(raw);
      return {_mm256_cvtph_ps(_mm256_castsi256_si128(v)),
              _mm256_cvtph_ps(_mm256_extracti128_si256(v, 1))};
    } else {
#if defined(__AVX512F__)
      // The forms without maskz_ give GCC 12 false warnings about uninitialised values.
      const auto low = __builtin_shufflevector(raw, raw, 0, 1, 2, 3);
      const auto high = __builtin_shufflevector(raw, raw, 4, 5, 6, 7);
      return {_mm512_maskz_cvtph_ps(kAllLanes, reinterpret_cast<__m256i>(low)),
              _mm512_maskz_cvtph_ps(kAllLanes, reinterpret_cast<__m256i>(high))};
#endif
    }
  }

  template <int W>
  RONDO_INLINE static Raw<W> convert(Wide<W> x) {
    constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    if constexpr (W == 16) {
      return as<uint64_t>(_mm256_cvtps_ph(_mm256_set_m128(x.b, x.a), kNearest));
    } else if constexpr (W == 32) {
      return as<uint64_t>(
          _mm256_set_m128i(_mm256_cvtps_ph(x.b, kNearest), _mm256_cvtps_ph(x.a, kNearest)));
    } else {
#if defined(__AVX512F__)
      return __builtin_shufflevector(as<uint64_t>(_mm512_maskz_cvtps_ph(kAllLanes, x.a, kNearest)),
                                     as<uint64_t>(_mm512_maskz_cvtps_ph(kAllLanes, x.b, kNearest)),
                                     0, 1, 2, 3, 4, 5, 6, 7);
#endif
    }
  }

  /// The conversion keeps a NaN's sign and the top of its payload.
  template <int W>
  RONDO_INLINE static Raw<W> narrow(Wide<W> x) {
    const Vec<int16_t, W> v = as<int16_t>(convert<W>(x));
    return as<uint64_t>((v & 0x7fff) > kInfinity ? splat<int16_t, W>(kNan) : v);
  }
};

#else

struct Float16 {
  static constexpr int16_t kInfinity = 0x7c00;
  static constexpr int16_t kNan = 0x7e00;

  /// One float16 in the low half of each lane. Comparisons are signed: SSE2 has no others.
  template <int W>
  RONDO_INLINE static Vec<float, W> widenLanes(Vec<uint32_t, W> h) {
    // With the bits in a float32's places the value is 2^112 too small, denormals included, and
    // the product is exact.
    const Vec<int32_t, W> magnitude = as<int32_t>((h & 0x7fffu) << 13);
    Vec<uint32_t, W> x = as<uint32_t>(as<float>(magnitude) * 0x1p112f);
    x |= as<uint32_t>(magnitude >= (31 << 23)) & 0x7f800000u;  // infinity or NaN
    return as<float>(x | ((h & 0x8000u) << 16));
  }

  template <int W>
  RONDO_INLINE static Vec<uint32_t, W> narrowLanes(Vec<float, W> f) {
    const Vec<uint32_t, W> bits = as<uint32_t>(f);
    const Vec<float, W> positive = as<float>(bits & 0x7fffffffu);
    const Vec<float, W> size = positive < 65536.0f ? positive : splat<float, W>(65536.0f);
    // Normal: rebias and round to nearest even; 65520 and more carry into infinity's exponent.
    const Vec<uint32_t, W> magnitude = as<uint32_t>(size);
    Vec<uint32_t, W> x = (magnitude + (0xfffu - (112u << 23)) + ((magnitude >> 13) & 1u)) >> 13;
    // Denormal: adding 0.5 aligns the last bit to 2^-24, so that the addition does the rounding.
    const Vec<uint32_t, W> denormal = as<uint32_t>(size + 0.5f) - (126u << 23);
    x = as<int32_t>(magnitude) < (113 << 23) ? denormal : x;
    x |= (bits >> 16) & 0x8000u;
    return f == f ? x : splat<uint32_t, W>(kNan);
  }

  template <int W>
  RONDO_INLINE static Wide<W> widen(Raw<W> raw) {
    const Vec<uint32_t, W> v = as<uint32_t>(raw);
    return {widenLanes<W>(v & 0xffffu), widenLanes<W>(v >> 16)};
  }

  template <int W>
  RONDO_INLINE static Raw<W> narrow(Wide<W> x) {
    return as<uint64_t>(narrowLanes<W>(x.a) | (narrowLanes<W>(x.b) << 16));
  }
};

#endif

}  // namespace
}  // namespace rondo
