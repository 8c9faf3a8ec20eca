#pragma once
// Products of complex numbers; their sums are sums of floats. See reduce_vector.h for the rule on
// linkage.

#include "coll/reduce/reduce_ops.h"

namespace rondo {
namespace {

/// (a + bi)(c + di) = (ac - bd) + (ad + bc)i, each operation rounded.
template <class T, int W>
RONDO_INLINE Vec<T, W> complexProduct(Vec<T, W> x, Vec<T, W> y) {
  using Bits = typename FloatBits<T>::Bits;
  using Signed = decltype(Vec<T, W>{} == Vec<T, W>{});
  constexpr Lanes<T, W> kLanes;
  const Vec<Bits, W> minus =
      splat<Bits, W>(Bits{1} << (8 * sizeof(T) - 1)) & as<Bits>(firstLanes<Signed>(kLanes));
  const Vec<T, W> direct = firstTwice(x, kLanes) * y;                       // ac, ad
  const Vec<T, W> crossed = secondTwice(x, kLanes) * exchanged(y, kLanes);  // bd, bc
  return direct + as<T>(as<Bits>(crossed) ^ minus);
}

template <class T>
struct ComplexProd : Float<T, Prod> {
  static constexpr size_t kElement = 2 * sizeof(T);
  template <int W>
  RONDO_INLINE static Vec<T, W> merge(Vec<T, W> a, Vec<T, W> b) {
    return complexProduct<T, W>(a, b);
  }
};

}  // namespace
}  // namespace rondo
