// Portable C++ with vectors of 16 bytes, which every 64-bit processor has.

#include "coll/reduce/reduce_levels.h"

#include "coll/reduce/reduce_impl.h"

namespace rondo {

ReduceFn findReducePlain(rondoDataType_t type, rondoRedOp_t op) { return findEntry<16>(type, op); }

CopyFn findCopyPlain() { return copyEntry<16>; }

}  // namespace rondo
