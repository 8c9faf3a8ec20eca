// Sums, products and averages of 8-bit floats; needs AVX-512 VBMI beside what reduce_avx512.cc
// does.

#include "coll/reduce/reduce_levels.h"

#if defined(__x86_64__)

#include "coll/reduce/reduce_float8.h"
#include "coll/reduce/reduce_impl.h"

namespace rondo {
namespace {

/// Division by a power of two: as a product it is as exact, and takes half the time.
struct Multiply {
  explicit Multiply(uint32_t by) : inverse(1 / static_cast<float>(by)) {}
  template <class V>
  RONDO_INLINE V apply(V x) const {
    return x * inverse;
  }
  float inverse;
};

template <class Format>
void average(const ReduceArgs& args) {
  using Plain = Float8<Format, Sum>;
  using Scale = Scale8Bit<Format>;
  if ((args.divisor & (args.divisor - 1)) == 0) {
    return averageEntry<Float8<Format, Sum, Multiply>, Plain, Scale, 64>(args);
  }
  averageEntry<Float8<Format, Sum, Divide>, Plain, Scale, 64>(args);
}

template <class Format>
ReduceFn find(rondoRedOp_t op) {
  using Scale = Scale8Bit<Format>;
  switch (op) {
    case rondoSum:
      return reduceEntry<Float8<Format, Sum>, Scale, 64>;
    case rondoProd:
      return reduceEntry<Float8<Format, Prod>, Scale, 64>;
    case rondoAvg:
      return average<Format>;
    default:
      return nullptr;
  }
}

}  // namespace

ReduceFn findReduceAvx512Vbmi(rondoDataType_t type, rondoRedOp_t op) {
  if (type == rondoFloat8e4m3) return find<E4m3>(op);
  if (type == rondoFloat8e5m2) return find<E5m2>(op);
  return nullptr;
}

ScaleFn findScaleAvx512Vbmi(rondoDataType_t type) {
  if (type == rondoFloat8e4m3) return scaleEntry<Scale8Bit<E4m3>, 64>;
  if (type == rondoFloat8e5m2) return scaleEntry<Scale8Bit<E5m2>, 64>;
  return nullptr;
}

}  // namespace rondo

#endif
