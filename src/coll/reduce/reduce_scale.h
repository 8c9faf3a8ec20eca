#pragma once
// One operand times a scalar, rounded to the type: what a pre-multiplied sum does to its own input.
// See reduce_vector.h for the rule on linkage.

#include "coll/reduce/reduce_complex.h"
#include "coll/reduce/reduce_float8.h"
#include "coll/reduce/reduce_ops.h"

namespace rondo {
namespace {

/// A kernel of one operand. Post reads the scalar, of the type's own format.
struct ScaleKernel {
  static constexpr int kLeast = 1;
  static constexpr int kTile = 2;
  static constexpr bool kArithmetic = true;
};

/// For types that have no products, only their size.
template <size_t Bytes>
struct NoScale {
  static constexpr size_t kElement = Bytes;
};

template <class T>
struct ScalarPost {
  explicit ScalarPost(const char* scalar) : factor(read<T>(scalar)) {}
  T factor;
};

/// T: unsigned.
template <class T>
struct ScaleInteger : ScaleKernel {
  static constexpr size_t kElement = sizeof(T);
  static constexpr bool kArithmetic = false;
  using Post = ScalarPost<T>;
  template <int W>
  using Acc = Vec<T, W>;
  template <int W>
  RONDO_INLINE static Acc<W> first(Raw<W> v) {
    return as<T>(v);
  }
  template <int W>
  RONDO_INLINE static Raw<W> finish(Acc<W> acc, const Post& post) {
    return as<uint64_t>(acc * splat<T, W>(post.factor));
  }
};

template <class T>
struct ScaleFloat : ScaleKernel {
  static constexpr size_t kElement = sizeof(T);
  using Post = ScalarPost<T>;
  template <int W>
  using Acc = Vec<T, W>;
  template <int W>
  RONDO_INLINE static Acc<W> first(Raw<W> v) {
    return as<T>(v);
  }
  template <int W>
  RONDO_INLINE static Raw<W> finish(Acc<W> acc, const Post& post) {
    return as<uint64_t>(canonical<T, W>(acc * post.factor));
  }
};

template <class T>
struct ScaleComplex : ScaleKernel {
  static constexpr size_t kElement = 2 * sizeof(T);
  struct Post {
    explicit Post(const char* scalar) : re(read<T>(scalar)), im(read<T>(scalar + sizeof(T))) {}
    T re, im;
  };
  template <int W>
  using Acc = Vec<T, W>;
  template <int W>
  RONDO_INLINE static Acc<W> first(Raw<W> v) {
    return as<T>(v);
  }
  template <int W>
  RONDO_INLINE static Raw<W> finish(Acc<W> acc, const Post& post) {
    using Signed = decltype(Vec<T, W>{} == Vec<T, W>{});
    const Vec<T, W> factor =
        firstLanes<Signed>(Lanes<T, W>()) ? splat<T, W>(post.re) : splat<T, W>(post.im);
    return as<uint64_t>(canonical<T, W>(complexProduct<T, W>(acc, factor)));
  }
};

template <class Format>
struct Scale16Bit : ScaleKernel {
  static constexpr size_t kElement = 2;
  struct Post {
    explicit Post(const char* scalar)
        : factor(
              Format::template widen<16>(as<uint64_t>(splat<uint16_t, 16>(read<uint16_t>(scalar))))
                  .a[0]) {}
    float factor;
  };
  template <int W>
  using Acc = Wide<W>;
  template <int W>
  RONDO_INLINE static Acc<W> first(Raw<W> v) {
    return Format::template widen<W>(v);
  }
  template <int W>
  RONDO_INLINE static Raw<W> finish(Acc<W> acc, const Post& post) {
    return Format::template narrow<W>({acc.a * post.factor, acc.b * post.factor});
  }
};

template <class Format>
struct Scale8Bit : ScaleKernel {
  static constexpr size_t kElement = 1;
  static constexpr int kTile = 1;
  struct Post {
    explicit Post(const char* scalar)
        : factor(widenFloat8<Format, 16>(as<uint64_t>(splat<uint8_t, 16>(read<uint8_t>(scalar))))
                     .lane[0][0]) {}
    float factor;
  };
  template <int W>
  using Acc = Quad<W>;
  template <int W>
  RONDO_INLINE static Acc<W> first(Raw<W> v) {
    return widenFloat8<Format, W>(v);
  }
  template <int W>
  RONDO_INLINE static Raw<W> finish(Acc<W> acc, const Post& post) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) acc.lane[j] = acc.lane[j] * post.factor;
    return narrowFloat8<Format, W>(acc);
  }
};

}  // namespace
}  // namespace rondo
