#pragma once
// Reductions of 16 bytes at a time, of any type and operator, chosen at run time.

#include "api/rondo_types.h"
#include "kernels/element_ops.h"

namespace rondo {

/// 16 bytes of elements.
struct Unit {
  unsigned long long a, b;
};

/// Which elements, and what to do with them.
struct Reduction {
  rondoDataType_t type;
  rondoRedOp_t op;
  uint32_t divisor;  ///< rondoAvg's last step; 0: do not divide.
};

namespace element {

// There are a hundred of these, and none is worth much code.
#if defined(__CUDACC__)
#define RONDO_KEEP_LOOP _Pragma("unroll 1")
#else
#define RONDO_KEEP_LOOP
#endif

/// in[0] op in[1] op ... op in[n - 1], element by element, from left to right.
template <class Family>
RONDO_ALGO void foldUnits(const Unit* in, int n, uint32_t divisor, Unit* out) {
  unsigned char* to = reinterpret_cast<unsigned char*>(out);
  RONDO_KEEP_LOOP
  for (int e = 0; e < 16; e += Family::kBytes) {
    typename Family::Acc acc = Family::first(reinterpret_cast<const unsigned char*>(in) + e);
    RONDO_KEEP_LOOP
    for (int r = 1; r < n; ++r) {
      const unsigned char* from = reinterpret_cast<const unsigned char*>(in + r) + e;
      acc = Family::merge(acc, Family::first(from));
    }
    Family::finish(acc, divisor, to + e);
  }
}

#define RONDO_FOLD(op, ...)                         \
  case op:                                          \
    foldUnits<__VA_ARGS__>(in, n, r.divisor, &out); \
    return out

template <class T, class U>
RONDO_ALGO Unit foldIntegers(const Reduction& r, const Unit* in, int n) {
  Unit out{0, 0};
  switch (r.op) {
    RONDO_FOLD(rondoSum, Integer<U, Fn::kSum>);
    RONDO_FOLD(rondoAvg, Integer<T, Fn::kSum>);
    RONDO_FOLD(rondoProd, Integer<U, Fn::kProd>);
    RONDO_FOLD(rondoMax, Integer<T, Fn::kMax>);
    RONDO_FOLD(rondoMin, Integer<T, Fn::kMin>);
    RONDO_FOLD(rondoLogicalAnd, Logical<U, Fn::kAnd>);
    RONDO_FOLD(rondoLogicalOr, Logical<U, Fn::kOr>);
    RONDO_FOLD(rondoLogicalXor, Logical<U, Fn::kXor>);
    RONDO_FOLD(rondoBitAnd, Integer<uint64_t, Fn::kAnd>);
    RONDO_FOLD(rondoBitOr, Integer<uint64_t, Fn::kOr>);
    RONDO_FOLD(rondoBitXor, Integer<uint64_t, Fn::kXor>);
    default:
      return out;
  }
}

RONDO_ALGO Unit foldBools(const Reduction& r, const Unit* in, int n) {
  Unit out{0, 0};
  switch (r.op) {
    case rondoLogicalAnd:
      RONDO_FOLD(rondoBitAnd, Logical<uint8_t, Fn::kAnd>);
    case rondoLogicalOr:
      RONDO_FOLD(rondoBitOr, Logical<uint8_t, Fn::kOr>);
    case rondoLogicalXor:
      RONDO_FOLD(rondoBitXor, Logical<uint8_t, Fn::kXor>);
    default:
      return out;
  }
}

/// Sums<kSum> and Sums<kProd> for arithmetic, Orders<kMax> and Orders<kMin> for comparisons.
template <template <class, Fn> class Sums, template <class, Fn> class Orders, class T>
RONDO_ALGO Unit foldFloats(const Reduction& r, const Unit* in, int n) {
  Unit out{0, 0};
  switch (r.op) {
    case rondoAvg:
      RONDO_FOLD(rondoSum, Sums<T, Fn::kSum>);
      RONDO_FOLD(rondoProd, Sums<T, Fn::kProd>);
      RONDO_FOLD(rondoMax, Orders<T, Fn::kMax>);
      RONDO_FOLD(rondoMin, Orders<T, Fn::kMin>);
    default:
      return out;
  }
}

template <class T>
RONDO_ALGO Unit foldComplex(const Reduction& r, const Unit* in, int n) {
  Unit out{0, 0};
  switch (r.op) {
    case rondoAvg:
      RONDO_FOLD(rondoSum, Complex<T, Fn::kSum>);
      RONDO_FOLD(rondoProd, Complex<T, Fn::kProd>);
    default:
      return out;
  }
}

template <class T, int kSize>
RONDO_ALGO Unit foldPairs(const Reduction& r, const Unit* in, int n) {
  Unit out{0, 0};
  switch (r.op) {
    RONDO_FOLD(rondoMinLoc, Located<T, kSize, false>);
    RONDO_FOLD(rondoMaxLoc, Located<T, kSize, true>);
    default:
      return out;
  }
}
#undef RONDO_FOLD
#undef RONDO_KEEP_LOOP

#if defined(__CUDACC__)
#define RONDO_UNROLL _Pragma("unroll")
#else
#define RONDO_UNROLL
#endif

/// a op b, element by element, in registers.
template <class Family>
RONDO_ALGO Unit foldTwo(Unit a, Unit b) {
  Unit out;
  const auto* x = reinterpret_cast<const unsigned char*>(&a);
  const auto* y = reinterpret_cast<const unsigned char*>(&b);
  auto* to = reinterpret_cast<unsigned char*>(&out);
  RONDO_UNROLL
  for (int e = 0; e < 16; e += Family::kBytes) {
    Family::finish(Family::merge(Family::first(x + e), Family::first(y + e)), 0, to + e);
  }
  return out;
}
#undef RONDO_UNROLL

/// Sums and products are of Sum, maxima and minima of Order.
template <template <class, Fn> class Family, class Sum, class Order>
RONDO_ALGO Unit foldTwoOf(rondoRedOp_t op, Unit a, Unit b) {
  switch (op) {
    case rondoSum:
      return foldTwo<Family<Sum, Fn::kSum>>(a, b);
    case rondoProd:
      return foldTwo<Family<Sum, Fn::kProd>>(a, b);
    case rondoMax:
      return foldTwo<Family<Order, Fn::kMax>>(a, b);
    default:
      return foldTwo<Family<Order, Fn::kMin>>(a, b);
  }
}

}  // namespace element

/// Whether operands can be taken one after the other by foldPair(): the result has the same bits as
/// foldAny()'s, since nothing is wider on the way than at the end. The usual types and operators.
RONDO_ALGO bool foldsInPairs(const Reduction& r) {
  const bool usual = r.op == rondoSum || r.op == rondoProd || r.op == rondoMax || r.op == rondoMin;
  if (!usual || r.divisor != 0) return false;
  switch (r.type) {
    case rondoInt8:
    case rondoUint8:
    case rondoInt16:
    case rondoUint16:
    case rondoInt32:
    case rondoUint32:
    case rondoInt64:
    case rondoUint64:
    case rondoFloat32:
    case rondoFloat64:
      return true;
    default:
      return (r.type == rondoFloat16 || r.type == rondoBfloat16) &&
             (r.op == rondoMax || r.op == rondoMin);
  }
}

/// a op b where foldsInPairs(). Without memory: foldAny() has its operands there.
RONDO_ALGO Unit foldPair(rondoDataType_t type, rondoRedOp_t op, Unit a, Unit b) {
  using namespace element;
  switch (type) {
    case rondoInt8:
      return foldTwoOf<Integer, uint8_t, int8_t>(op, a, b);
    case rondoUint8:
      return foldTwoOf<Integer, uint8_t, uint8_t>(op, a, b);
    case rondoInt16:
      return foldTwoOf<Integer, uint16_t, int16_t>(op, a, b);
    case rondoUint16:
      return foldTwoOf<Integer, uint16_t, uint16_t>(op, a, b);
    case rondoInt32:
      return foldTwoOf<Integer, uint32_t, int32_t>(op, a, b);
    case rondoUint32:
      return foldTwoOf<Integer, uint32_t, uint32_t>(op, a, b);
    case rondoInt64:
      return foldTwoOf<Integer, uint64_t, int64_t>(op, a, b);
    case rondoUint64:
      return foldTwoOf<Integer, uint64_t, uint64_t>(op, a, b);
    case rondoFloat32:
      return foldTwoOf<Float, float, float>(op, a, b);
    case rondoFloat64:
      return foldTwoOf<Float, double, double>(op, a, b);
    case rondoFloat16:
      return op == rondoMax ? foldTwo<NarrowOrder<Float16, Fn::kMax>>(a, b)
                            : foldTwo<NarrowOrder<Float16, Fn::kMin>>(a, b);
    default:
      return op == rondoMax ? foldTwo<NarrowOrder<Bfloat16, Fn::kMax>>(a, b)
                            : foldTwo<NarrowOrder<Bfloat16, Fn::kMin>>(a, b);
  }
}

/// The result of n operands, for every type and operator of the library. Of fewer than two nobody
/// uses it.
RONDO_ALGO Unit foldAny(const Reduction& r, const Unit* in, int n) {
  using namespace element;
  switch (r.type) {
    case rondoInt8:
      return foldIntegers<int8_t, uint8_t>(r, in, n);
    case rondoUint8:
      return foldIntegers<uint8_t, uint8_t>(r, in, n);
    case rondoInt16:
      return foldIntegers<int16_t, uint16_t>(r, in, n);
    case rondoUint16:
      return foldIntegers<uint16_t, uint16_t>(r, in, n);
    case rondoInt32:
      return foldIntegers<int32_t, uint32_t>(r, in, n);
    case rondoUint32:
      return foldIntegers<uint32_t, uint32_t>(r, in, n);
    case rondoInt64:
      return foldIntegers<int64_t, uint64_t>(r, in, n);
    case rondoUint64:
      return foldIntegers<uint64_t, uint64_t>(r, in, n);
    case rondoFloat16:
      return foldFloats<Narrow, NarrowOrder, Float16>(r, in, n);
    case rondoBfloat16:
      return foldFloats<Narrow, NarrowOrder, Bfloat16>(r, in, n);
    case rondoFloat8e4m3:
      return foldFloats<Narrow, NarrowOrder, Float8e4m3>(r, in, n);
    case rondoFloat8e5m2:
      return foldFloats<Narrow, NarrowOrder, Float8e5m2>(r, in, n);
    case rondoFloat32:
      return foldFloats<Float, Float, float>(r, in, n);
    case rondoFloat64:
      return foldFloats<Float, Float, double>(r, in, n);
    case rondoComplex64:
      return foldComplex<float>(r, in, n);
    case rondoComplex128:
      return foldComplex<double>(r, in, n);
    case rondoBool:
      return foldBools(r, in, n);
    case rondoFloat32Int32:
      return foldPairs<float, 8>(r, in, n);
    case rondoFloat64Int32:
      return foldPairs<double, 16>(r, in, n);
    case rondoInt64Int32:
      return foldPairs<int64_t, 16>(r, in, n);
    case rondoInt32Int32:
      return foldPairs<int32_t, 8>(r, in, n);
    case rondoInt16Int32:
      return foldPairs<int16_t, 8>(r, in, n);
    default:
      return Unit{0, 0};
  }
}

/// Sums and averages of float32, float16 and bfloat16 have code of their own in every kernel.
inline bool isHot(rondoDataType_t type, rondoRedOp_t op) {
  return (op == rondoSum || op == rondoAvg) &&
         (type == rondoFloat32 || type == rondoFloat16 || type == rondoBfloat16);
}

}  // namespace rondo
