#pragma once
// The 16-bit floats: widening to float32 and rounding back. See reduce_vector.h for the rule on
// linkage.

#include "coll/reduce/reduce_vector.h"

namespace rondo {
namespace {

/// The float32 values of W bytes of 16-bit floats: two vectors, in whatever order widen() deals
/// them out and narrow() takes them back.
template <int W>
struct Wide {
  Vec<float, W> a, b;
};

/// narrow() wants NaNs to be the canonical one, 0x7fc00000.
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
    return as<uint64_t>((round<W>(x.a) >> 16) | (round<W>(x.b) & 0xffff0000u));
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
  RONDO_INLINE static Raw<W> narrow(Wide<W> x) {
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
};

#else

struct Float16 {
  static constexpr int16_t kInfinity = 0x7c00;
  static constexpr int16_t kNan = 0x7e00;

  /// One float16 in the low half of each lane.
  template <int W>
  RONDO_INLINE static Vec<float, W> widenLanes(Vec<uint32_t, W> h) {
    const Vec<uint32_t, W> magnitude = (h & 0x7fffu) << 13;
    const Vec<uint32_t, W> rebiased = magnitude + (112u << 23);
    // Denormal: 2^-14 (1 + m / 1024) - 2^-14, exact because both are normal float32s.
    const Vec<uint32_t, W> denormal =
        as<uint32_t>(as<float>(rebiased + (1u << 23)) - splat<float, W>(0x1p-14f));
    Vec<uint32_t, W> x = magnitude < (1u << 23) ? denormal : rebiased;
    x = magnitude >= (31u << 23) ? rebiased + (112u << 23) : x;  // infinity or NaN
    return as<float>(x | ((h & 0x8000u) << 16));
  }

  template <int W>
  RONDO_INLINE static Vec<uint32_t, W> narrowLanes(Vec<float, W> f) {
    const Vec<uint32_t, W> bits = as<uint32_t>(f);
    const Vec<uint32_t, W> magnitude = bits & 0x7fffffffu;
    // Normal: rebias and round to nearest even; a carry out of the largest gives infinity.
    Vec<uint32_t, W> x = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    // Denormal: adding 0.5 aligns the last bit to 2^-24, so that the addition does the rounding.
    const Vec<uint32_t, W> denormal =
        as<uint32_t>(as<float>(magnitude) + splat<float, W>(0.5f)) - (126u << 23);
    x = magnitude < (113u << 23) ? denormal : x;
    x = magnitude >= (143u << 23) ? splat<uint32_t, W>(0x7c00u) : x;
    x = magnitude > (255u << 23) ? splat<uint32_t, W>(0x7e00u) : x;
    return x | ((bits >> 16) & 0x8000u);
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
