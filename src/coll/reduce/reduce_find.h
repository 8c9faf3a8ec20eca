#pragma once
// Which kernel serves which type and operator. See reduce_vector.h for the rule on linkage.

#include "coll/reduce/reduce_average.h"
#include "coll/reduce/reduce_bits.h"
#include "coll/reduce/reduce_complex.h"
#include "coll/reduce/reduce_float8.h"
#include "coll/reduce/reduce_impl.h"
#include "coll/reduce/reduce_pairs.h"

namespace rondo {
namespace {

/// T: the type; U: its unsigned twin.
template <class T, class U, class Divide, int W>
ReduceFn findInteger(rondoRedOp_t op) {
  using Scale = ScaleInteger<U>;
  switch (op) {
    case rondoSum:
      return reduceEntry<Integer<U, Sum>, Scale, W>;
    case rondoProd:
      return reduceEntry<Integer<U, Prod>, Scale, W>;
    case rondoMax:
      return reduceEntry<Integer<T, Max>, Scale, W>;
    case rondoMin:
      return reduceEntry<Integer<T, Min>, Scale, W>;
    case rondoAvg:
      return averageEntry<IntegerAverage<T, U, Divide>, Integer<U, Sum>, Scale, W>;
    case rondoLogicalAnd:
      return reduceEntry<Logical<U, And>, Scale, W>;
    case rondoLogicalOr:
      return reduceEntry<Logical<U, Or>, Scale, W>;
    case rondoLogicalXor:
      return reduceEntry<Logical<U, Xor>, Scale, W>;
    case rondoBitAnd:
      return reduceEntry<Bits<And>, Scale, W>;
    case rondoBitOr:
      return reduceEntry<Bits<Or>, Scale, W>;
    case rondoBitXor:
      return reduceEntry<Bits<Xor>, Scale, W>;
    default:
      return nullptr;
  }
}

template <int W>
ReduceFn findBool(rondoRedOp_t op) {
  switch (op) {
    case rondoLogicalAnd:
    case rondoBitAnd:
      return reduceEntry<Logical<uint8_t, And>, NoScale<1>, W>;
    case rondoLogicalOr:
    case rondoBitOr:
      return reduceEntry<Logical<uint8_t, Or>, NoScale<1>, W>;
    case rondoLogicalXor:
    case rondoBitXor:
      return reduceEntry<Logical<uint8_t, Xor>, NoScale<1>, W>;
    default:
      return nullptr;
  }
}

template <class T, int W>
ReduceFn findFloat(rondoRedOp_t op) {
  using Scale = ScaleFloat<T>;
  switch (op) {
    case rondoSum:
      return reduceEntry<Float<T, Sum>, Scale, W>;
    case rondoProd:
      return reduceEntry<Float<T, Prod>, Scale, W>;
    case rondoMax:
      return reduceEntry<FloatOrder<T, Max>, Scale, W>;
    case rondoMin:
      return reduceEntry<FloatOrder<T, Min>, Scale, W>;
    case rondoAvg:
      return averageEntry<Float<T, Sum, true>, Float<T, Sum>, Scale, W>;
    default:
      return nullptr;
  }
}

template <class Format, int W>
ReduceFn findFloat16Bit(rondoRedOp_t op) {
  using Scale = Scale16Bit<Format>;
  switch (op) {
    case rondoSum:
      return reduceEntry<Float16Bit<Format, Sum>, Scale, W>;
    case rondoProd:
      return reduceEntry<Float16Bit<Format, Prod>, Scale, W>;
    case rondoMax:
      return reduceEntry<Float16BitOrder<Format, Max>, Scale, W>;
    case rondoMin:
      return reduceEntry<Float16BitOrder<Format, Min>, Scale, W>;
    case rondoAvg:
      return averageEntry<Float16Bit<Format, Sum, true>, Float16Bit<Format, Sum>, Scale, W>;
    default:
      return nullptr;
  }
}

template <class Format, int W>
ReduceFn findFloat8(rondoRedOp_t op) {
  using Scale = Scale8Bit<Format>;
  switch (op) {
    case rondoSum:
      return reduceEntry<Float8Sum<Format>, Scale, W>;
    case rondoProd:
      return reduceEntry<Float8<Format, Prod>, Scale, W>;
    case rondoMax:
      return reduceEntry<Float8Order<Format, Max>, Scale, W>;
    case rondoMin:
      return reduceEntry<Float8Order<Format, Min>, Scale, W>;
    case rondoAvg:
      return averageEntry<Float8<Format, Sum, Divide>, Float8Sum<Format>, Scale, W>;
    default:
      return nullptr;
  }
}

/// T: the type of the parts.
template <class T, int W>
ReduceFn findComplex(rondoRedOp_t op) {
  using Scale = ScaleComplex<T>;
  switch (op) {
    case rondoSum:
      return reduceEntry<Float<T, Sum>, Scale, W>;
    case rondoProd:
      return reduceEntry<ComplexProd<T>, Scale, W>;
    case rondoAvg:
      return averageEntry<Float<T, Sum, true>, Float<T, Sum>, Scale, W>;
    default:
      return nullptr;
  }
}

template <template <class, bool> class Pair, class T, int W>
ReduceFn findPair(rondoRedOp_t op) {
  using NoProducts = NoScale<Pair<T, false>::kElement>;
  if (op == rondoMinLoc) return reduceEntry<Pair<T, false>, NoProducts, W>;
  if (op == rondoMaxLoc) return reduceEntry<Pair<T, true>, NoProducts, W>;
  return nullptr;
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
    case rondoFloat8e4m3:
      return findFloat8<E4m3, W>(op);
    case rondoFloat8e5m2:
      return findFloat8<E5m2, W>(op);
    case rondoFloat16:
      return findFloat16Bit<Float16, W>(op);
    case rondoBfloat16:
      return findFloat16Bit<Bfloat16, W>(op);
    case rondoFloat32:
      return findFloat<float, W>(op);
    case rondoFloat64:
      return findFloat<double, W>(op);
    case rondoComplex64:
      return findComplex<float, W>(op);
    case rondoComplex128:
      return findComplex<double, W>(op);
    case rondoBool:
      return findBool<W>(op);
    case rondoFloat32Int32:
      return findPair<Pair8, float, W>(op);
    case rondoFloat64Int32:
      return findPair<Pair16, double, W>(op);
    case rondoInt64Int32:
      return findPair<Pair16, int64_t, W>(op);
    case rondoInt32Int32:
      return findPair<Pair8, int32_t, W>(op);
    case rondoInt16Int32:
      return findPair<Pair8, int16_t, W>(op);
    default:
      return nullptr;
  }
}

template <int W>
ScaleFn findScaleEntry(rondoDataType_t type) {
  switch (type) {
    case rondoInt8:
    case rondoUint8:
      return scaleEntry<ScaleInteger<uint8_t>, W>;
    case rondoInt16:
    case rondoUint16:
      return scaleEntry<ScaleInteger<uint16_t>, W>;
    case rondoInt32:
    case rondoUint32:
      return scaleEntry<ScaleInteger<uint32_t>, W>;
    case rondoInt64:
    case rondoUint64:
      return scaleEntry<ScaleInteger<uint64_t>, W>;
    case rondoFloat8e4m3:
      return scaleEntry<Scale8Bit<E4m3>, W>;
    case rondoFloat8e5m2:
      return scaleEntry<Scale8Bit<E5m2>, W>;
    case rondoFloat16:
      return scaleEntry<Scale16Bit<Float16>, W>;
    case rondoBfloat16:
      return scaleEntry<Scale16Bit<Bfloat16>, W>;
    case rondoFloat32:
      return scaleEntry<ScaleFloat<float>, W>;
    case rondoFloat64:
      return scaleEntry<ScaleFloat<double>, W>;
    case rondoComplex64:
      return scaleEntry<ScaleComplex<float>, W>;
    case rondoComplex128:
      return scaleEntry<ScaleComplex<double>, W>;
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace rondo
