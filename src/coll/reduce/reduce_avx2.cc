// Needs AVX2 and F16C; built with -mavx2 -mfma -mf16c.

#include "coll/reduce/reduce_levels.h"

#if defined(__x86_64__)

#include "coll/reduce/reduce_find.h"

namespace rondo {

ReduceFn findReduceAvx2(rondoDataType_t type, rondoRedOp_t op) { return findEntry<32>(type, op); }

ScaleFn findScaleAvx2(rondoDataType_t type) { return findScaleEntry<32>(type); }

CopyFn findCopyAvx2() { return copyEntry<32>; }

}  // namespace rondo

#endif
