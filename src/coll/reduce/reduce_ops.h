#pragma once
// What one vector goes through: one class per family of element types. See reduce_vector.h for the
// rule on linkage.
//
// A kernel has kElement (bytes of one element), kOperands (how many it takes, 0: any), kTile
// (vectors at a time in the main loop, so that accumulators stay in registers), kArithmetic (true:
// its results depend on the floating-point environment), Post (what finish() needs, made once a
// call from the divisor) and, for each width W, Acc<W> with first() (begin with an operand), next()
// (take in one more) and finish() (the result's bytes).

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
  static constexpr int kOperands = 1;
  static constexpr int kTile = 4;
  static constexpr bool kArithmetic = false;
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
  static constexpr int kOperands = 0;
  static constexpr int kTile = 4;
  static constexpr bool kArithmetic = false;
  using Post = NoPost;
  template <int W>
  using Acc = Vec<T, W>;
  template <int W>
  RONDO_INLINE static Acc<W> first(Raw<W> v) {
    return as<T>(v);
  }
  template <int W>
  RONDO_INLINE static Acc<W> next(Acc<W> acc, Raw<W> v) {
    return Op::apply(acc, as<T>(v));
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
  static constexpr int kOperands = 0;
  static constexpr int kTile = 4;
  static constexpr bool kArithmetic = true;
  using Post = FloatPost<T>;
  template <int W>
  using Acc = Vec<T, W>;
  template <int W>
  RONDO_INLINE static Acc<W> first(Raw<W> v) {
    return as<T>(v);
  }
  template <int W>
  RONDO_INLINE static Acc<W> next(Acc<W> acc, Raw<W> v) {
    return Op::apply(acc, as<T>(v));
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
  using Bits = typename FloatBits<T>::Bits;
  template <int W>
  RONDO_INLINE static Vec<T, W> next(Vec<T, W> acc, Raw<W> v) {
    const Vec<T, W> x = as<T>(v);
    const Vec<Bits, W> r = Op::ofBits(as<Bits>(Op::apply(acc, x)), as<Bits>(Op::apply(x, acc)));
    return as<T>((acc != acc) | (x != x) ? ~Vec<Bits, W>{} : r);
  }
};

/// Sum and product of 16-bit floats, in float32, rounded once.
template <class Format, class Op, bool Average = false>
struct Float16Bit {
  static constexpr size_t kElement = 2;
  static constexpr int kOperands = 0;
  static constexpr int kTile = 2;
  static constexpr bool kArithmetic = true;
  using Post = FloatPost<float>;
  template <int W>
  using Acc = Wide<W>;
  template <int W>
  RONDO_INLINE static Acc<W> first(Raw<W> v) {
    return Format::template widen<W>(v);
  }
  template <int W>
  RONDO_INLINE static Acc<W> next(Acc<W> acc, Raw<W> v) {
    const Wide<W> x = Format::template widen<W>(v);
    return {Op::apply(acc.a, x.a), Op::apply(acc.b, x.b)};
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
  static constexpr int kOperands = 0;
  static constexpr int kTile = 2;
  static constexpr bool kArithmetic = false;
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
  RONDO_INLINE static Acc<W> next(Acc<W> acc, Raw<W> v) {
    const Acc<W> x = first<W>(v);
    return {Op::apply(acc.key, x.key), acc.nan | x.nan};
  }
  template <int W>
  RONDO_INLINE static Raw<W> finish(Acc<W> acc, const Post&) {
    return as<uint64_t>(acc.nan ? splat<int16_t, W>(Format::kNan) : flip<W>(acc.key));
  }
};

}  // namespace
}  // namespace rondo
