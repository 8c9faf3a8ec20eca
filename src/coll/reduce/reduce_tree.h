#pragma once
// The balanced binary tree over the operands, split at the largest power of two below their number,
// as a kernel of its own. See reduce_vector.h for the rule on linkage.

#include "coll/reduce/reduce_ops.h"

namespace rondo {
namespace {

/// Operands come in order, as bits into a binary counter: part[] holds the complete subtrees of the
/// operands so far, the largest first. With fewer than four operands the tree is the order from
/// left to right, so that only K is needed.
template <class K>
struct TreeOf : K {
  static constexpr int kLeast = 4;
  static constexpr int kDepth = 32;
  template <int W>
  struct Acc {
    typename K::template Acc<W> part[kDepth];
    unsigned taken;
    int top;
  };
  template <int W>
  RONDO_INLINE static void begin(Acc<W>& acc, Raw<W> v) {
    acc.part[0] = K::template first<W>(v);
    acc.taken = 1;
    acc.top = 1;
  }
  template <int W>
  RONDO_INLINE static void take(Acc<W>& acc, Raw<W> v) {
    auto x = K::template first<W>(v);
    for (unsigned t = acc.taken++; t & 1u; t >>= 1)
      x = K::template merge<W>(acc.part[--acc.top], x);
    acc.part[acc.top++] = x;
  }
  template <int W>
  RONDO_INLINE static Raw<W> finish(const Acc<W>& acc, const typename K::Post& post) {
    int top = acc.top - 1;
    auto x = acc.part[top];
    while (top > 0) x = K::template merge<W>(acc.part[--top], x);
    return K::template finish<W>(x, post);
  }
};

}  // namespace
}  // namespace rondo
