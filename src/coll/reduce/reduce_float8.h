#pragma once
// The 8-bit floats. See reduce_vector.h for the rule on linkage.
//
// Byte j of every 32-bit lane goes into vector j, so that widening and narrowing are shifts and
// masks within lanes. A byte's exponent and mantissa, moved to where a float32 has them, are a
// float32 that is 2^kBias too small, denormals included. Sums stay in this scale: all sums are
// multiples of the least denormal (float32's own denormals reach far below it), float32 rounds them
// as it would the true ones, and rounding to 8 bits is rounding an integer.

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
      return as<uint64_t>(nan | (up & down) ? splat<int8_t, W>(0x7f) : v);
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

template <class Format, int W>
RONDO_INLINE Quad<W> widenFloat8(Raw<W> raw) {
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

/// Sums in the scale to bytes: to nearest even, saturating.
template <class Format, int W>
RONDO_INLINE Raw<W> narrowScaled(const Quad<W>& x) {
  constexpr int kDrop = Format::kDrop;
  constexpr int32_t kMost = ((Format::kMax + 1) << kDrop) - 1;
  Vec<uint32_t, W> bytes{};
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const Vec<uint32_t, W> v = as<uint32_t>(x.lane[j]);
    Vec<int32_t, W> m = as<int32_t>(v & 0x7fffffffu);
    m += ((1 << (kDrop - 1)) - 1) + ((m >> kDrop) & 1);
    m = m < kMost ? m : splat<int32_t, W>(kMost);
    const Vec<uint32_t, W> u = as<uint32_t>(m);
    const Vec<uint32_t, W> placed = 8 * j < kDrop ? u >> (kDrop - 8 * j) : u << (8 * j - kDrop);
    bytes |= (placed & (0x7fu << 8 * j)) | ((v >> (24 - 8 * j)) & (0x80u << 8 * j));
  }
  return as<uint64_t>(bytes);
}

/// True values to bytes: to nearest even, saturating, infinities too; NaN is 0x7f.
template <class Format, int W>
RONDO_INLINE Raw<W> narrowFloat8(const Quad<W>& x) {
  constexpr int kDrop = Format::kDrop;
  constexpr uint32_t kAlignedBits = __builtin_bit_cast(uint32_t, Format::kAligned);
  Vec<uint32_t, W> bytes{};
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const Vec<float, W> f = x.lane[j];
    const Vec<uint32_t, W> v = as<uint32_t>(f);
    const Vec<float, W> positive = as<float>(v & 0x7fffffffu);
    const Vec<float, W> size =
        positive < Format::kLargest ? positive : splat<float, W>(Format::kLargest);
    const Vec<uint32_t, W> m = as<uint32_t>(size);
    // Normal: rebiased, rounded by an addition that carries into the exponent.
    const Vec<uint32_t, W> normal =
        (m + ((1u << (kDrop - 1)) - 1 - (Format::kBias << 23)) + ((m >> kDrop) & 1u)) >> kDrop;
    // Denormal: adding kAligned does the rounding.
    const Vec<uint32_t, W> denormal = as<uint32_t>(size + Format::kAligned) - kAlignedBits;
    constexpr int32_t kLeastNormal = static_cast<int32_t>((Format::kBias + 1) << 23);
    Vec<uint32_t, W> byte = as<int32_t>(m) < kLeastNormal ? denormal : normal;
    byte |= (v >> 24) & 0x80u;
    byte = f == f ? byte : splat<uint32_t, W>(0x7f);
    bytes |= byte << 8 * j;
  }
  return as<uint64_t>(bytes);
}

/// Sum; Average: divided.
template <class Format, bool Average = false>
struct Float8Sum {
  static constexpr size_t kElement = 1;
  static constexpr int kLeast = 2;
  static constexpr int kTile = 1;  // Four accumulators a vector.
  static constexpr bool kArithmetic = true;
  static constexpr bool kAssociative = false;
  using Post = FloatPost<float>;
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
  RONDO_INLINE static Raw<W> finish(const Acc<W>& acc, const Post& post) {
    if constexpr (Average) {
      Quad<W> x;
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) x.lane[j] = acc.x.lane[j] * Format::kScale / post.divisor;
      return acc.flags.apply(narrowFloat8<Format, W>(x));
    } else {
      return acc.flags.apply(narrowScaled<Format, W>(acc.x));
    }
  }
};

/// Product. Partial products have float32's range, so they have infinities and NaNs of their own.
template <class Format>
struct Float8Prod {
  static constexpr size_t kElement = 1;
  static constexpr int kLeast = 2;
  static constexpr int kTile = 1;
  static constexpr bool kArithmetic = true;
  static constexpr bool kAssociative = false;
  using Post = NoPost;
  template <int W>
  using Acc = Quad<W>;
  template <int W>
  RONDO_INLINE static Acc<W> first(Raw<W> v) {
    return widenFloat8<Format, W>(v);
  }
  template <int W>
  RONDO_INLINE static Acc<W> merge(const Acc<W>& a, const Acc<W>& b) {
    Acc<W> product;
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) product.lane[j] = a.lane[j] * b.lane[j];
    return product;
  }
  template <int W>
  RONDO_INLINE static Raw<W> finish(const Acc<W>& acc, const Post&) {
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
