// Needs AVX-512 F, BW, DQ, VL, AVX2 and F16C; built with the flags of the same names.

#include "coll/reduce/reduce_levels.h"

#if defined(__x86_64__)

#include "coll/reduce/reduce_find.h"

namespace rondo {

ReduceFn findReduceAvx512(rondoDataType_t type, rondoRedOp_t op) { return findEntry<64>(type, op); }

ScaleFn findScaleAvx512(rondoDataType_t type) { return findScaleEntry<64>(type); }

CopyFn findCopyAvx512() { return copyEntry<64>; }

}  // namespace rondo

#endif
