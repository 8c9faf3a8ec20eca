#pragma once
// Logical and bitwise operators. See reduce_vector.h for the rule on linkage.

#include "coll/reduce/reduce_ops.h"

namespace rondo {
namespace {

struct And {
  template <class V>
  RONDO_INLINE static V apply(V a, V b) {
    return a & b;
  }
};
struct Or {
  template <class V>
  RONDO_INLINE static V apply(V a, V b) {
    return a | b;
  }
};
struct Xor {
  template <class V>
  RONDO_INLINE static V apply(V a, V b) {
    return a ^ b;
  }
};

/// Bitwise, whatever the width of the integers.
template <class Op>
using Bits = Integer<uint8_t, Op>;

/// Logical: an element is true if it is not zero; results are 0 or 1. T: unsigned.
template <class T, class Op>
struct Logical : Integer<T, Op> {
  template <int W>
  RONDO_INLINE static Vec<T, W> first(Raw<W> v) {
    return as<T>(as<T>(v) != 0);
  }
  template <int W>
  RONDO_INLINE static Raw<W> finish(Vec<T, W> acc, const NoPost&) {
    return as<uint64_t>(acc & T{1});
  }
};

}  // namespace
}  // namespace rondo
