#pragma once
// What one vector goes through: one class per family of element types. See reduce_vector.h for the
// rule on linkage.
//
// A kernel has kElement (bytes that belong together), kLeast (1: takes one operand, 2: two or more,
// 4: four or more), kTile (vectors at a time in the main loop, so that accumulators stay in
// registers), kArithmetic (true: its results depend on the floating-point environment),
// kAssociative (true: they do not depend on the association), Post (what finish() needs, made once
// a call from the divisor) and, for each width W, Acc<W> with first() (an operand), merge() (two
// into one) and finish() (the result's bytes).

#include "coll/reduce/reduce_float.h"

namespace rondo {
namespace {

struct Sum {
  template <class V>
  RONDO_INLINE static V apply(V a, V b) {
    return a + b;
  }
};
struct Prod {
  template <class V>
  RONDO_INLINE static V apply(V a, V b) {
    return a * b;
  }
};
struct Max {
  template <class V>
  RONDO_INLINE static V apply(V a, V b) {
    return a > b ? a : b;
  }
  /// Of two equal values: +0 if one of them is +0.
  template <class V>
  RONDO_INLINE static V ofBits(V a, V b) {
    return a & b;
  }
};
struct Min {
  template <class V>
  RONDO_INLINE static V apply(V a, V b) {
    return a < b ? a : b;
  }
  template <class V>
  RONDO_INLINE static V ofBits(V a, V b) {
    return a | b;
  }
};

struct NoPost {
  explicit NoPost(uint32_t) {}
};

/// Only moves bytes.
struct Copy {
  static constexpr size_t kElement = 1;
  static constexpr int kLeast = 1;
  static constexpr int kTile = 4;
  static constexpr bool kArithmetic = false;
  static constexpr bool kAssociative = true;
  using Post = NoPost;
  template <int W>
  using Acc = Raw<W>;
  template <int W>
  RONDO_INLINE static Acc<W> first(Raw<W> v) {
    return v;
  }
  template <int W>
  RONDO_INLINE static Raw<W> finish(Acc<W> acc, const Post&) {
    return acc;
  }
};

/// Integers. Sum and Prod want an unsigned T, whose arithmetic wraps.
template <class T, class Op>
struct Integer {
  static constexpr size_t kElement = sizeof(T);
  static constexpr int kLeast = 2;
  static constexpr int kTile = 4;
  static constexpr bool kArithmetic = false;
  static constexpr bool kAssociative = true;
  using Post = NoPost;
  template <int W>
  using Acc = Vec<T, W>;
  template <int W>
  RONDO_INLINE static Acc<W> first(Raw<W> v) {
    return as<T>(v);
  }
  template <int W>
  RONDO_INLINE static Acc<W> merge(Acc<W> a, Acc<W> b) {
    return Op::apply(a, b);
  }
  template <int W>
  RONDO_INLINE static Raw<W> finish(Acc<W> acc, const Post&) {
    return as<uint64_t>(acc);
  }
};

/// The divisor of an average.
template <class F>
struct FloatPost {
  explicit FloatPost(uint32_t by) : divisor(static_cast<F>(by)) {}
  F divisor;
};

/// Sum and product of float32 and float64; Average: the sum, divided.
template <class T, class Op, bool Average = false>
struct Float {
  static constexpr size_t kElement = sizeof(T);
  static constexpr int kLeast = 2;
  static constexpr int kTile = 4;
  static constexpr bool kArithmetic = true;
  static constexpr bool kAssociative = false;
  using Post = FloatPost<T>;
  template <int W>
  using Acc = Vec<T, W>;
  template <int W>
  RONDO_INLINE static Acc<W> first(Raw<W> v) {
    return as<T>(v);
  }
  template <int W>
  RONDO_INLINE static Acc<W> merge(Acc<W> a, Acc<W> b) {
    return Op::apply(a, b);
  }
  template <int W>
  RONDO_INLINE static Raw<W> finish(Acc<W> acc, const Post& post) {
    if constexpr (Average) acc = acc / post.divisor;
    return as<uint64_t>(canonical<T, W>(acc));
  }
};

/// Maximum and minimum of float32 and float64. Op::apply(a, b) and (b, a) differ only where a and b
/// are equal or one is a NaN; equal values have the same bits, or are zeros.
template <class T, class Op>
struct FloatOrder : Float<T, Op> {
  static constexpr bool kAssociative = true;
  using Bits = typename FloatBits<T>::Bits;
  template <int W>
  RONDO_INLINE static Vec<T, W> merge(Vec<T, W> a, Vec<T, W> b) {
    const Vec<Bits, W> r = Op::ofBits(as<Bits>(Op::apply(a, b)), as<Bits>(Op::apply(b, a)));
    return as<T>(((a != a) | (b != b)) ? ~Vec<Bits, W>{} : r);
  }
};

/// Sum and product of 16-bit floats, in float32, rounded once.
template <class Format, class Op, bool Average = false>
struct Float16Bit {
  static constexpr size_t kElement = 2;
  static constexpr int kLeast = 2;
  static constexpr int kTile = 4;
  static constexpr bool kArithmetic = true;
  static constexpr bool kAssociative = false;
  using Post = FloatPost<float>;
  template <int W>
  using Acc = Wide<W>;
  template <int W>
  RONDO_INLINE static Acc<W> first(Raw<W> v) {
    return Format::template widen<W>(v);
  }
  template <int W>
  RONDO_INLINE static Acc<W> merge(Acc<W> x, Acc<W> y) {
    return {Op::apply(x.a, y.a), Op::apply(x.b, y.b)};
  }
  template <int W>
  RONDO_INLINE static Raw<W> finish(Acc<W> acc, const Post& post) {
    if constexpr (Average) acc = {acc.a / post.divisor, acc.b / post.divisor};
    return Format::template narrow<W>(acc);
  }
};

/// Maximum and minimum of 16-bit floats, as integers: flipping the magnitude of the negative ones
/// makes the order of the bits the order of the values, with -0 below +0.
template <class Format, class Op>
struct Float16BitOrder {
  static constexpr size_t kElement = 2;
  static constexpr int kLeast = 2;
  static constexpr int kTile = 4;
  static constexpr bool kArithmetic = false;
  static constexpr bool kAssociative = true;
  using Post = NoPost;
  template <int W>
  struct Acc {
    Vec<int16_t, W> key, nan;
  };
  template <int W>
  RONDO_INLINE static Vec<int16_t, W> flip(Vec<int16_t, W> x) {
    return x ^ ((x >> 15) & 0x7fff);
  }
  template <int W>
  RONDO_INLINE static Acc<W> first(Raw<W> v) {
    const Vec<int16_t, W> x = as<int16_t>(v);
    return {flip<W>(x), (x & 0x7fff) > Format::kInfinity};
  }
  template <int W>
  RONDO_INLINE static Acc<W> merge(Acc<W> a, Acc<W> b) {
    return {Op::apply(a.key, b.key), a.nan | b.nan};
  }
  template <int W>
  RONDO_INLINE static Raw<W> finish(Acc<W> acc, const Post&) {
    return as<uint64_t>(acc.nan ? splat<int16_t, W>(Format::kNan) : flip<W>(acc.key));
  }
};

}  // namespace
}  // namespace rondo
