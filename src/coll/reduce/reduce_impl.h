#pragma once
// The entry points of one CPU level: reductions and copies with vectors of W bytes. See
// reduce_vector.h for the rule on linkage.

#include <type_traits>

#include "coll/reduce/reduce.h"
#include "coll/reduce/reduce_levels.h"
#include "coll/reduce/reduce_loop.h"
#include "coll/reduce/reduce_scale.h"
#include "coll/reduce/reduce_tree.h"

namespace rondo {
namespace {

#if defined(__x86_64__)
/// Whether this thread computes as C++ begins a program: denormals kept, to nearest even, no traps.
/// A program linked with -ffast-math does not.
RONDO_INLINE bool defaultFloats() { return (_mm_getcsr() & 0xffc0u) == 0x1f80u; }

/// Runs `entry` with the default floating-point environment. A call of its own, so that no
/// arithmetic moves across the switches.
template <class... A>
[[gnu::cold, gnu::noinline]] void withDefaultFloats(void (*entry)(A...),
                                                    std::type_identity_t<A>... args) {
  const unsigned callers = _mm_getcsr();
  _mm_setcsr(0x1f80u);
  entry(args...);
  _mm_setcsr(callers);
}
#else
RONDO_INLINE bool defaultFloats() { return true; }
template <class... A>
void withDefaultFloats(void (*entry)(A...), std::type_identity_t<A>... args) {
  entry(args...);
}
#endif

template <int W>
RONDO_INLINE void copyBytes(char* dst0, char* dst1, const char* src, size_t bytes, bool stream0,
                            bool stream1) {
  run<Copy, W>(Job{dst0, dst1, &src, 1, bytes, stream0, stream1}, NoPost(0));
}

template <int W>
void copyEntry(void* dst0, void* dst1, const void* src, size_t bytes, CopyTo to) {
  char* const out = static_cast<char*>(dst0);
  const char* const in = static_cast<const char*>(src);
  if (to != CopyTo::kPast && dst1 == nullptr && bytes >= kLeastStringCopy &&
      (to != CopyTo::kNear || bytes >= leastNearString()) && stringCopy(out, in, bytes)) {
    return;
  }
  copyBytes<W>(out, static_cast<char*>(dst1), in, bytes, to == CopyTo::kPast, false);
}

/// S: a kernel of reduce_scale.h, whose element is the type's.
template <class S, int W>
void scaleEntry(void* out, const void* in, const void* scalar, size_t count) {
  if constexpr (S::kArithmetic) {
    if (__builtin_expect(!defaultFloats(), 0)) {
      return withDefaultFloats(scaleEntry<S, W>, out, in, scalar, count);
    }
  }
  const char* const from = static_cast<const char*>(in);
  run<S, W>(Job{static_cast<char*>(out), nullptr, &from, 1, count * S::kElement, false, false},
            typename S::Post(static_cast<const char*>(scalar)));
}

template <class K, int W>
RONDO_INLINE void runKernel(const ReduceArgs& args, ReduceFn self, size_t element) {
  if constexpr (K::kArithmetic) {
    if (__builtin_expect(!defaultFloats(), 0)) return withDefaultFloats(self, args);
  }
  run<K, W>(Job{static_cast<char*>(args.out0), static_cast<char*>(args.out1),
                reinterpret_cast<const char* const*>(args.in), args.n, args.count * element,
                args.stream, args.stream},
            typename K::Post(args.divisor));
}

template <class K, int W>
[[gnu::noinline]] void runTree(const ReduceArgs& args, ReduceFn self, size_t element) {
  runKernel<TreeOf<K>, W>(args, self, element);
}

/// Whether the call was made good by a scaled operand or a tree. Few calls ask for either.
template <class K, class S, int W>
RONDO_INLINE bool runRare(const ReduceArgs& args, ReduceFn self) {
  if (__builtin_expect(args.scaled < 0 && !args.tree, 1)) return false;
  if constexpr (requires { typename S::Post; }) {
    if (args.scaled >= 0) {
      reduceScaled(args, self, scaleEntry<S, W>, S::kElement);
      return true;
    }
  }
  if constexpr (!K::kAssociative) {
    if (args.n >= 4) {
      runTree<K, W>(args, self, S::kElement);
      return true;
    }
  }
  return false;
}

/// K: the kernel; S: how the type is scaled, which knows the size of its elements, too.
template <class K, class S, int W>
void reduceEntry(const ReduceArgs& args) {
  if (runRare<K, S, W>(args, reduceEntry<K, S, W>)) return;
  if (args.n == 1) {
    return copyBytes<W>(static_cast<char*>(args.out0), static_cast<char*>(args.out1),
                        static_cast<const char*>(args.in[0]), args.count * S::kElement, args.stream,
                        args.stream);
  }
  runKernel<K, W>(args, reduceEntry<K, S, W>, S::kElement);
}

/// Sum: the kernel for a call that does not divide.
template <class K, class Sum, class S, int W>
void averageEntry(const ReduceArgs& args) {
  if (args.divisor == 0) return reduceEntry<Sum, S, W>(args);
  if (runRare<K, S, W>(args, averageEntry<K, Sum, S, W>)) return;
  runKernel<K, W>(args, averageEntry<K, Sum, S, W>, S::kElement);
}

}  // namespace
}  // namespace rondo
