#pragma once
// The 8-bit floats. See reduce_vector.h for the rule on linkage.
//
// Byte j of every 32-bit lane goes into vector j, so that widening and narrowing are shifts and
// masks within lanes. A byte's exponent and mantissa, moved to where a float32 has them, are a
// float32 that is 2^kBias too small, denormals included. Sums stay in this scale: all sums are
// multiples of the least denormal (float32's own denormals reach far below it), float32 rounds them
// as it would the true ones, and rounding to 8 bits is rounding an integer.

#include "coll/reduce/reduce_float8_tables.h"
#include "coll/reduce/reduce_ops.h"

namespace rondo {
namespace {

template <int W>
struct Quad {
  Vec<float, W> lane[4];
};

/// A NaN is a byte apart, since the scale has none.
struct E4m3 {
  static constexpr int kDrop = 20;  ///< Bits of float32's mantissa below the last of this one.
  static constexpr uint32_t kBias = 127 - 7;
  static constexpr float kScale = 0x1p120f;
  static constexpr float kLargest = 448;
  static constexpr float kAligned = 0x1p14f;  ///< Its last bit is the least denormal.
  static constexpr int8_t kMax = 0x7e;        ///< The largest finite number's bits.
  static constexpr int8_t kSpecial = 0x7f;    ///< From here on infinity and NaN.
  static constexpr int8_t kFirstNan = 0x7f;

  template <int W>
  struct Flags {
    Vec<int8_t, W> nan;
    RONDO_INLINE static Flags of(Raw<W> v) { return {(as<int8_t>(v) & 0x7f) >= kFirstNan}; }
    RONDO_INLINE static Flags merge(Flags a, Flags b) { return {a.nan | b.nan}; }
    RONDO_INLINE Raw<W> apply(Raw<W> v) const {
      return as<uint64_t>(nan ? splat<int8_t, W>(0x7f) : as<int8_t>(v));
    }
  };
};

/// Infinities, which the scale lacks too, meet each other in the flags.
struct E5m2 {
  static constexpr int kDrop = 21;
  static constexpr uint32_t kBias = 127 - 15;
  static constexpr float kScale = 0x1p112f;
  static constexpr float kLargest = 57344;
  static constexpr float kAligned = 0x1p7f;
  static constexpr int8_t kMax = 0x7b;
  static constexpr int8_t kSpecial = 0x7c;
  static constexpr int8_t kFirstNan = 0x7d;

  template <int W>
  struct Flags {
    Vec<int8_t, W> nan, up, down;
    RONDO_INLINE static Flags of(Raw<W> raw) {
      const Vec<int8_t, W> v = as<int8_t>(raw);
      return {(v & 0x7f) >= kFirstNan, v == splat<int8_t, W>(kSpecial),
              v == splat<int8_t, W>(static_cast<int8_t>(kSpecial | 0x80))};
    }
    RONDO_INLINE static Flags merge(Flags a, Flags b) {
      return {a.nan | b.nan, a.up | b.up, a.down | b.down};
    }
    RONDO_INLINE Raw<W> apply(Raw<W> raw) const {
      Vec<int8_t, W> v = as<int8_t>(raw);
      v = up ? splat<int8_t, W>(kMax) : v;
      v = down ? splat<int8_t, W>(static_cast<int8_t>(kMax | 0x80)) : v;
      return as<uint64_t>((nan | (up & down)) ? splat<int8_t, W>(0x7f) : v);
    }
  };
};

/// Byte j in the scale; infinities and NaNs come out as numbers.
template <class Format, int W>
RONDO_INLINE Vec<uint32_t, W> spread(Raw<W> raw, int j) {
  const Vec<int32_t, W> v = as<int32_t>(as<uint32_t>(raw) << (24 - 8 * j));
  return as<uint32_t>(v >> (24 - Format::kDrop)) & (0x80000000u | 0x7fu << Format::kDrop);
}

template <class Format, int W>
RONDO_INLINE Quad<W> widenScaled(Raw<W> raw) {
  Quad<W> x;
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) x.lane[j] = as<float>(spread<Format, W>(raw, j));
  return x;
}

#if defined(__AVX512VBMI__)
template <class Format>
RONDO_INLINE Quad<64> widenByTable(Raw<64> raw) {
  __m512i words[2];
  halvesOf<Format>(reinterpret_cast<__m512i>(raw), words);
  const auto first = reinterpret_cast<Vec<uint32_t, 64>>(words[0]);
  const auto second = reinterpret_cast<Vec<uint32_t, 64>>(words[1]);
  return {{as<float>(first << 16), as<float>(first & 0xffff0000u), as<float>(second << 16),
           as<float>(second & 0xffff0000u)}};
}

template <class Format>
RONDO_INLINE Raw<64> narrowByTable(const Quad<64>& x) {
  const auto halves = [&x](int j) {
    return oddHalves(reinterpret_cast<__m512i>(x.lane[j]),
                     reinterpret_cast<__m512i>(x.lane[j + 1]));
  };
  return reinterpret_cast<Raw<64>>(bytesOf<Format>(halves(0), halves(2)));
}
#elif defined(__AVX512BW__)
/// The upper halves of the float32 values of all positive bytes. (Multiplying a scaled value that
/// is a denormal float32 takes processors long.)
template <class Format>
struct UpperHalves {
  alignas(64) uint16_t of[128];
  constexpr UpperHalves() : of{} {
    constexpr int kMantissa = 23 - Format::kDrop;
    for (int b = 1; b < 128; ++b) {
      const int exponent = b >> kMantissa, mantissa = b & ((1 << kMantissa) - 1);
      int top = kMantissa;
      while (exponent == 0 && mantissa >> top == 0) --top;
      const int field =
          static_cast<int>(Format::kBias) + (exponent ? exponent : 1 + top - kMantissa);
      of[b] = static_cast<uint16_t>((field << 7) | ((mantissa << (7 - top)) & 0x7f));
      if (b >= Format::kSpecial) of[b] = b >= Format::kFirstNan ? 0x7fc0 : 0x7f80;
    }
  }
};
template <class Format>
constexpr UpperHalves<Format> kUpperHalves;

/// The low byte of each 16-bit lane as the upper half of a float32, without its sign.
template <class Format>
RONDO_INLINE Vec<uint16_t, 64> upperHalf(Vec<uint16_t, 64> v) {
  const auto part = [](int k) { return _mm512_load_si512(&kUpperHalves<Format>.of[32 * k]); };
  const __m512i bytes = reinterpret_cast<__m512i>(v);
  const __m512i low = _mm512_permutex2var_epi16(part(0), bytes, part(1));
  const __m512i high = _mm512_permutex2var_epi16(part(2), bytes, part(3));
  const __mmask32 isHigh = _mm512_test_epi16_mask(bytes, _mm512_set1_epi16(0x40));
  return reinterpret_cast<Vec<uint16_t, 64>>(_mm512_mask_mov_epi16(low, isHigh, high));
}

template <class Format>
RONDO_INLINE Quad<64> widenByTable(Raw<64> raw) {
  const Vec<uint16_t, 64> v = as<uint16_t>(raw);
  const auto even = as<uint32_t>(upperHalf<Format>(v) | ((v << 8) & 0x8000));
  const auto odd = as<uint32_t>(upperHalf<Format>(v >> 8) | (v & 0x8000));
  return {{as<float>(even << 16), as<float>(odd << 16), as<float>(even & 0xffff0000u),
           as<float>(odd & 0xffff0000u)}};
}
#endif

/// True values, with infinities and NaNs.
template <class Format, int W>
RONDO_INLINE Quad<W> widenFloat8(Raw<W> raw) {
#if defined(__AVX512BW__)
  if constexpr (W == 64) return widenByTable<Format>(raw);
#endif
  Quad<W> x;
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const Vec<uint32_t, W> v = spread<Format, W>(raw, j);
    const auto special = as<int32_t>(v & 0x7fffffffu) >= (Format::kSpecial << Format::kDrop);
    const Vec<float, W> f = as<float>(v) * Format::kScale;
    x.lane[j] = as<float>(as<uint32_t>(f) | (as<uint32_t>(special) & 0x7f800000u));
  }
  return x;
}

/// `b` for a NaN. Compilers do not find the instruction by themselves.
template <int W>
RONDO_INLINE Vec<float, W> smaller(Vec<float, W> a, Vec<float, W> b) {
#if defined(__AVX512F__)
  if constexpr (W == 64) return _mm512_maskz_min_ps(0xffff, a, b);
#endif
#if defined(__AVX2__)
  if constexpr (W == 32) return _mm256_min_ps(a, b);
#endif
  return a < b ? a : b;
}

/// Numbers beyond `most` become that.
template <int W>
RONDO_INLINE Vec<uint32_t, W> atMost(Vec<uint32_t, W> v, int32_t most) {
#if defined(__AVX512F__)
  if constexpr (W == 64) {
    return as<uint32_t>(
        _mm512_maskz_min_epi32(0xffff, reinterpret_cast<__m512i>(v), _mm512_set1_epi32(most)));
  }
#endif
#if defined(__AVX2__)
  if constexpr (W == 32) {
    return as<uint32_t>(_mm256_min_epi32(reinterpret_cast<__m256i>(v), _mm256_set1_epi32(most)));
  }
#endif
  const Vec<int32_t, W> x = as<int32_t>(v);
  return as<uint32_t>(x < most ? x : splat<int32_t, W>(most));
}

/// A sum in the scale, rounded to the bits that a byte keeps, and saturated.
template <class Format, int W>
RONDO_INLINE Vec<uint32_t, W> roundScaled(Vec<uint32_t, W> v) {
  constexpr int kDrop = Format::kDrop;
  constexpr uint32_t kHalf = 1u << (kDrop - 1);
  constexpr uint32_t kMost = static_cast<uint32_t>(Format::kMax) << kDrop;
#if defined(__AVX512DQ__)
  if constexpr (W == 64) {
    const Vec<uint32_t, W> r = (v & (1u << kDrop)) != 0 ? v + kHalf : v + (kHalf - 1);
    constexpr int kLeastMagnitude = 2;  // With the first one's sign.
    const Vec<float, W> most = as<float>(splat<uint32_t, W>(kMost));
    return as<uint32_t>(static_cast<Vec<float, W>>(
        _mm512_maskz_range_ps(0xffff, as<float>(r), most, kLeastMagnitude)));
  }
#endif
  const Vec<uint32_t, W> m = v & 0x7fffffffu;
  const Vec<uint32_t, W> r = m + (kHalf - 1) + ((m >> kDrop) & 1u);
  return atMost<W>(r, static_cast<int32_t>(kMost)) | (v & 0x80000000u);
}

/// Sums in the scale to bytes: to nearest even, saturating.
template <class Format, int W>
RONDO_INLINE Raw<W> narrowScaled(const Quad<W>& x) {
  constexpr int kDrop = Format::kDrop;
  Vec<uint32_t, W> bytes{};
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const Vec<uint32_t, W> v = roundScaled<Format, W>(as<uint32_t>(x.lane[j]));
    const Vec<uint32_t, W> placed = 8 * j < kDrop ? v >> (kDrop - 8 * j) : v << (8 * j - kDrop);
    bytes |= (placed & (0x7fu << 8 * j)) | ((v >> (24 - 8 * j)) & (0x80u << 8 * j));
  }
  return as<uint64_t>(bytes);
}

/// True values to bytes: to nearest even, saturating, infinities too; NaN is 0x7f.
template <class Format, int W>
RONDO_INLINE Raw<W> narrowFloat8(const Quad<W>& x) {
#if defined(__AVX512VBMI__)
  if constexpr (W == 64) return narrowByTable<Format>(x);
#endif
  constexpr int kDrop = Format::kDrop;
  constexpr uint32_t kHalf = 1u << (kDrop - 1);
  constexpr uint32_t kAlignedBits = __builtin_bit_cast(uint32_t, Format::kAligned);
  constexpr int32_t kLeastNormal = static_cast<int32_t>((Format::kBias + 1) << 23);
  Vec<uint32_t, W> bytes{};
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const Vec<uint32_t, W> v = as<uint32_t>(x.lane[j]);
    const Vec<float, W> size =
        smaller<W>(splat<float, W>(Format::kLargest), as<float>(v & 0x7fffffffu));
    const Vec<uint32_t, W> m = as<uint32_t>(size);
    // Normal: rebiased, rounded by an addition that carries into the exponent.
    constexpr uint32_t kRebias = 0u - (Format::kBias << 23);
    const Vec<uint32_t, W> rebiased = m + (kRebias + kHalf - 1) + ((m >> kDrop) & 1u);
    // Denormal: adding kAligned does the rounding.
    const Vec<uint32_t, W> denormal = as<uint32_t>(size + Format::kAligned) - kAlignedBits;
    const Vec<uint32_t, W> byte = as<int32_t>(m) < kLeastNormal ? denormal : rebiased >> kDrop;
    bytes |= (atMost<W>(byte, 0x7f) << 8 * j) | ((v >> (24 - 8 * j)) & (0x80u << 8 * j));
  }
  // The one number that no rounding gives is a NaN with a sign.
  const Vec<int8_t, W> r = as<int8_t>(bytes);
  return as<uint64_t>(r == -1 ? splat<int8_t, W>(0x7f) : r);
}

/// Sum.
template <class Format>
struct Float8Sum {
  static constexpr size_t kElement = 1;
  static constexpr int kLeast = 2;
  static constexpr int kTile = 1;  // Four accumulators a vector.
  static constexpr bool kArithmetic = true;
  static constexpr bool kAssociative = false;
  using Post = NoPost;
  template <int W>
  struct Acc {
    Quad<W> x;
    typename Format::template Flags<W> flags;
  };
  template <int W>
  RONDO_INLINE static Acc<W> first(Raw<W> v) {
    return {widenScaled<Format, W>(v), Format::template Flags<W>::of(v)};
  }
  template <int W>
  RONDO_INLINE static Acc<W> merge(const Acc<W>& a, const Acc<W>& b) {
    Acc<W> sum;
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) sum.x.lane[j] = a.x.lane[j] + b.x.lane[j];
    sum.flags = Format::template Flags<W>::merge(a.flags, b.flags);
    return sum;
  }
  template <int W>
  RONDO_INLINE static Raw<W> finish(const Acc<W>& acc, const Post&) {
    return acc.flags.apply(narrowScaled<Format, W>(acc.x));
  }
};

/// What is done to a result before it is rounded: nothing, or the division of an average.
struct NoFinish : NoPost {
  using NoPost::NoPost;
  template <class V>
  RONDO_INLINE V apply(V x) const {
    return x;
  }
};
struct Divide : FloatPost<float> {
  using FloatPost::FloatPost;
  template <class V>
  RONDO_INLINE V apply(V x) const {
    return x / divisor;
  }
};

/// Average and product, which need the true values: quotients and products are no multiples of the
/// least denormal, and a product's infinities and NaNs are its own.
template <class Format, class Op, class Finish = NoFinish>
struct Float8 {
  static constexpr size_t kElement = 1;
  static constexpr int kLeast = 2;
  static constexpr int kTile = 1;
  static constexpr bool kArithmetic = true;
  static constexpr bool kAssociative = false;
  using Post = Finish;
  template <int W>
  using Acc = Quad<W>;
  template <int W>
  RONDO_INLINE static Acc<W> first(Raw<W> v) {
    return widenFloat8<Format, W>(v);
  }
  template <int W>
  RONDO_INLINE static Acc<W> merge(const Acc<W>& a, const Acc<W>& b) {
    Acc<W> x;
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) x.lane[j] = Op::apply(a.lane[j], b.lane[j]);
    return x;
  }
  template <int W>
  RONDO_INLINE static Raw<W> finish(Acc<W> acc, const Post& post) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) acc.lane[j] = post.apply(acc.lane[j]);
    return narrowFloat8<Format, W>(acc);
  }
};

/// Maximum and minimum, as Float16BitOrder.
template <class Format, class Op>
struct Float8Order {
  static constexpr size_t kElement = 1;
  static constexpr int kLeast = 2;
  static constexpr int kTile = 4;
  static constexpr bool kArithmetic = false;
  static constexpr bool kAssociative = true;
  using Post = NoPost;
  template <int W>
  struct Acc {
    Vec<int8_t, W> key, nan;
  };
  template <int W>
  RONDO_INLINE static Vec<int8_t, W> flip(Vec<int8_t, W> x) {
    return x ^ ((x < 0) & 0x7f);
  }
  template <int W>
  RONDO_INLINE static Acc<W> first(Raw<W> v) {
    const Vec<int8_t, W> x = as<int8_t>(v);
    return {flip<W>(x), (x & 0x7f) >= Format::kFirstNan};
  }
  template <int W>
  RONDO_INLINE static Acc<W> merge(Acc<W> a, Acc<W> b) {
    return {Op::apply(a.key, b.key), a.nan | b.nan};
  }
  template <int W>
  RONDO_INLINE static Raw<W> finish(Acc<W> acc, const Post&) {
    // -kMax - 1 and kMax are the keys of the largest finite numbers.
    const Vec<int8_t, W> most = splat<int8_t, W>(Format::kMax);
    const Vec<int8_t, W> key = Min::apply(Max::apply(acc.key, ~most), most);
    return as<uint64_t>(acc.nan ? splat<int8_t, W>(0x7f) : flip<W>(key));
  }
};

}  // namespace
}  // namespace rondo
