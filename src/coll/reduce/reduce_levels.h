#pragma once
// The compilations of the host kernels.

#include "coll/reduce/reduce.h"

namespace rondo {

/// From this many bytes on stringCopy beats vectors into memory that no cache holds, and loses
/// nothing otherwise: 8 KiB cold 0.40 against 0.77 us, 32 KiB cold 1.2 against 2.1, hot 0.33
/// against 0.40 (EPYC, family 26, 2026-11-21).
constexpr size_t kLeastStringCopy = 4096;
/// The same for CopyTo::kNear. More on AMD's family 25, where strings begin slowly on lines of a
/// shared cache: scatter of 4 and 16 KiB 0.74 and 1.93 us with them and 0.42 and 1.33 with vectors,
/// but all-to-all of 64 KiB, in messages of 32, 16.7 and 19.0. Where the cores share no cache
/// vectors lose a tenth at all of these sizes (EPYC, 2026-11-22).
size_t leastNearString();

/// Copies with the processor's string instruction, which takes ownership of whole destination lines
/// without reading them; false, and nothing done, where that is not known to be quick.
bool stringCopy(char* dst, const char* src, size_t bytes);

/// A call with a scaled operand, by calls of `reduce` without one. `element`: bytes of one element.
void reduceScaled(const ReduceArgs& args, ReduceFn reduce, ScaleFn scale, size_t element);

ReduceFn findReducePlain(rondoDataType_t type, rondoRedOp_t op);
ScaleFn findScalePlain(rondoDataType_t type);
CopyFn findCopyPlain();

#if defined(__x86_64__)
ReduceFn findReduceAvx2(rondoDataType_t type, rondoRedOp_t op);
ScaleFn findScaleAvx2(rondoDataType_t type);
CopyFn findCopyAvx2();

ReduceFn findReduceAvx512(rondoDataType_t type, rondoRedOp_t op);
ScaleFn findScaleAvx512(rondoDataType_t type);
CopyFn findCopyAvx512();

/// nullptr for what is no quicker than findReduceAvx512's.
ReduceFn findReduceAvx512Vbmi(rondoDataType_t type, rondoRedOp_t op);
ScaleFn findScaleAvx512Vbmi(rondoDataType_t type);
#endif

}  // namespace rondo
