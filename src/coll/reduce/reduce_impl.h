#pragma once
// The entry points of one CPU level: reductions and copies with vectors of W bytes. See
// reduce_vector.h for the rule on linkage.

#include "coll/reduce/reduce.h"
#include "coll/reduce/reduce_average.h"
#include "coll/reduce/reduce_levels.h"
#include "coll/reduce/reduce_loop.h"

namespace rondo {
namespace {

#if defined(__x86_64__)
/// Whether this thread computes as C++ begins a program: denormals kept, to nearest even, no traps.
/// A program linked with -ffast-math does not.
RONDO_INLINE bool defaultFloats() { return (_mm_getcsr() & 0xffc0u) == 0x1f80u; }

/// Runs `entry` with the default floating-point environment. A call of its own, so that no
/// arithmetic moves across the switches.
[[gnu::cold, gnu::noinline]] void withDefaultFloats(ReduceFn entry, const ReduceArgs& args) {
  const unsigned callers = _mm_getcsr();
  _mm_setcsr(0x1f80u);
  entry(args);
  _mm_setcsr(callers);
}
#else
RONDO_INLINE bool defaultFloats() { return true; }
void withDefaultFloats(ReduceFn entry, const ReduceArgs& args) { entry(args); }
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
      stringCopy(out, in, bytes)) {
    return;
  }
  copyBytes<W>(out, static_cast<char*>(dst1), in, bytes, to == CopyTo::kPast, false);
}

template <class K, int W>
RONDO_INLINE void runKernel(const ReduceArgs& args, ReduceFn self) {
  if constexpr (K::kArithmetic) {
    if (__builtin_expect(!defaultFloats(), 0)) return withDefaultFloats(self, args);
  }
  run<K, W>(Job{static_cast<char*>(args.out0), static_cast<char*>(args.out1),
                reinterpret_cast<const char* const*>(args.in), args.n, args.count * K::kElement,
                args.stream, args.stream},
            typename K::Post(args.divisor));
}

template <class K, int W>
void reduceEntry(const ReduceArgs& args) {
  if (args.n == 1) {
    return copyBytes<W>(static_cast<char*>(args.out0), static_cast<char*>(args.out1),
                        static_cast<const char*>(args.in[0]), args.count * K::kElement, args.stream,
                        args.stream);
  }
  runKernel<K, W>(args, reduceEntry<K, W>);
}

/// S: the sum, for a call that does not divide.
template <class K, class S, int W>
void averageEntry(const ReduceArgs& args) {
  if (args.divisor == 0) return reduceEntry<S, W>(args);
  runKernel<K, W>(args, averageEntry<K, S, W>);
}

/// T: the type; U: its unsigned twin.
template <class T, class U, class Divide, int W>
ReduceFn findInteger(rondoRedOp_t op) {
  switch (op) {
    case rondoSum:
      return reduceEntry<Integer<U, Sum>, W>;
    case rondoProd:
      return reduceEntry<Integer<U, Prod>, W>;
    case rondoMax:
      return reduceEntry<Integer<T, Max>, W>;
    case rondoMin:
      return reduceEntry<Integer<T, Min>, W>;
    case rondoAvg:
      return averageEntry<IntegerAverage<T, U, Divide>, Integer<U, Sum>, W>;
    default:
      return nullptr;
  }
}

template <class T, int W>
ReduceFn findFloat(rondoRedOp_t op) {
  switch (op) {
    case rondoSum:
      return reduceEntry<Float<T, Sum>, W>;
    case rondoProd:
      return reduceEntry<Float<T, Prod>, W>;
    case rondoMax:
      return reduceEntry<FloatOrder<T, Max>, W>;
    case rondoMin:
      return reduceEntry<FloatOrder<T, Min>, W>;
    case rondoAvg:
      return averageEntry<Float<T, Sum, true>, Float<T, Sum>, W>;
    default:
      return nullptr;
  }
}

template <class Format, int W>
ReduceFn findFloat16Bit(rondoRedOp_t op) {
  switch (op) {
    case rondoSum:
      return reduceEntry<Float16Bit<Format, Sum>, W>;
    case rondoProd:
      return reduceEntry<Float16Bit<Format, Prod>, W>;
    case rondoMax:
      return reduceEntry<Float16BitOrder<Format, Max>, W>;
    case rondoMin:
      return reduceEntry<Float16BitOrder<Format, Min>, W>;
    case rondoAvg:
      return averageEntry<Float16Bit<Format, Sum, true>, Float16Bit<Format, Sum>, W>;
    default:
      return nullptr;
  }
}

template <int W>
ReduceFn findEntry(rondoDataType_t type, rondoRedOp_t op) {
  using Small = DivideByFloat<float, int32_t>;
  switch (type) {
    case rondoInt8:
      return findInteger<int8_t, uint8_t, Small, W>(op);
    case rondoUint8:
      return findInteger<uint8_t, uint8_t, Small, W>(op);
    case rondoInt16:
      return findInteger<int16_t, uint16_t, Small, W>(op);
    case rondoUint16:
      return findInteger<uint16_t, uint16_t, Small, W>(op);
    case rondoInt32:
      return findInteger<int32_t, uint32_t, DivideByFloat<double, int32_t>, W>(op);
    case rondoUint32:
      return findInteger<uint32_t, uint32_t, DivideByFloat<double, uint32_t>, W>(op);
    case rondoInt64:
      return findInteger<int64_t, uint64_t, DivideByMultiply, W>(op);
    case rondoUint64:
      return findInteger<uint64_t, uint64_t, DivideByMultiply, W>(op);
    case rondoFloat16:
      return findFloat16Bit<Float16, W>(op);
    case rondoBfloat16:
      return findFloat16Bit<Bfloat16, W>(op);
    case rondoFloat32:
      return findFloat<float, W>(op);
    case rondoFloat64:
      return findFloat<double, W>(op);
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace rondo
