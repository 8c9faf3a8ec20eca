// Portable C++ with vectors of 16 bytes, which every 64-bit processor has.

#include "coll/reduce/reduce_levels.h"

#include "coll/reduce/reduce_find.h"

namespace rondo {

ReduceFn findReducePlain(rondoDataType_t type, rondoRedOp_t op) { return findEntry<16>(type, op); }

ScaleFn findScalePlain(rondoDataType_t type) { return findScaleEntry<16>(type); }

CopyFn findCopyPlain() { return copyEntry<16>; }

}  // namespace rondo
