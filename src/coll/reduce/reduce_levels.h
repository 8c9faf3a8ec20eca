#pragma once
// The three compilations of reduce_impl.h.

#include "coll/reduce/reduce.h"

namespace rondo {

ReduceFn findReducePlain(rondoDataType_t type, rondoRedOp_t op);
CopyFn findCopyPlain();

#if defined(__x86_64__)
ReduceFn findReduceAvx2(rondoDataType_t type, rondoRedOp_t op);
CopyFn findCopyAvx2();

ReduceFn findReduceAvx512(rondoDataType_t type, rondoRedOp_t op);
CopyFn findCopyAvx512();
#endif

}  // namespace rondo
