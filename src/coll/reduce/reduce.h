#pragma once
// Element-wise work on host memory: n-ary reductions and copies, one implementation per CPU level,
// chosen at run time.

#include <cstddef>
#include <cstdint>

#include "api/rondo_types.h"

namespace rondo {

/// Instruction sets that the host kernels are compiled for. kPlain is portable C++.
/// kAvx512Vbmi differs from kAvx512 in the 8-bit floats only.
enum class CpuLevel { kPlain, kAvx2, kAvx512, kAvx512Vbmi };

/// The best level of this CPU, or the one RONDO_CPU forces (the caller passes the option's text;
/// nullptr or "" is unset). Throws std::invalid_argument with a full sentence for an unknown name
/// or a level this CPU lacks.
CpuLevel chooseCpuLevel(const char* forced);
const char* cpuLevelName(CpuLevel level);

/// One reduction step: for every i < count, v = in[0][i] op in[1][i] op ... op in[n-1][i],
/// associated from left to right; then out0[i] = v and, if out1 is given, out1[i] = v.
///
/// Rounding: 8- and 16-bit floats are widened to float32, combined in float32 and rounded once (to
/// nearest even); float32, float64 and the parts of complex numbers round at each operator. Nothing
/// is fused or flushed: denormals count, whatever the calling thread's floating-point settings.
/// Integers wrap. max/min: a NaN operand gives a NaN; -0 < +0. rondoAvg sums and then, if `divisor`
/// is not 0, divides by it before the rounding (floats: a true division; complex: of both parts;
/// integers: the wrapped sum, truncated towards zero); other operators ignore `divisor`.
///
/// 8-bit floats saturate: a result beyond the largest finite number (448, 57344), an infinity of
/// float8e5m2 included, becomes that number with its sign, as CUDA's conversion with __NV_SATFINITE
/// makes it. Among the operands of float8e5m2 infinities count as such: inf - inf is a NaN.
///
/// Complex products are (ac - bd) + (ad + bc)i by four products and two sums, each rounded.
///
/// bool: a byte that is not 0 is true. Logical operators of any type, and all of bool, give 0 or 1.
///
/// minloc/maxloc: the pair with the smaller (larger) value, -0 < +0; of equal values the one with
/// the smaller index. A NaN wins over every number: the value is then the canonical NaN, the index
/// the smallest among the NaNs. Padding is written as zero.
///
/// NaN: every NaN that is computed (n >= 2, or a division, or a scaled operand) is the positive
/// quiet NaN without payload: 0x7e00, 0x7fc0, 0x7fc00000, 0x7ff8000000000000; 0x7f for both 8-bit
/// floats. Which payload an addition passes on differs between processors, and a GPU gives
/// 0x7fffffff, so both sides put in this one. It costs nothing measurable for float32 and float64.
///
/// n == 1 without a division copies the bits. The result has the same bits at every CPU level,
/// every alignment (elements need not be aligned) and every count. n >= 1. out0 and out1 may each
/// equal any in[k]; other overlap is not allowed.
struct ReduceArgs {
  void* out0;
  void* out1;             ///< nullptr: one output only.
  const void* const* in;  ///< n operands.
  int n;
  size_t count;      ///< Elements.
  uint32_t divisor;  ///< rondoAvg's last step: number of ranks. 0: do not divide.
  bool stream;  ///< Write out0 (and out1) past the caches; the function fences before it returns.
  /// Associate as the balanced binary tree over the operands (split at the largest power of two
  /// below n) instead. Rounding stays as it is: partials of 8- and 16-bit floats are float32.
  bool tree = false;
  /// in[scaled] is multiplied by *scalar (an element of the type, aligned or not) and rounded to
  /// the type, as ScaleFn does it, before it is combined. -1: none, and always for types without
  /// findScale().
  int scaled = -1;
  const void* scalar = nullptr;
};
using ReduceFn = void (*)(const ReduceArgs&);

/// nullptr where the operator is not defined for the type (opDefined in api/types.h).
ReduceFn findReduce(rondoDataType_t type, rondoRedOp_t op, CpuLevel level);

/// out[i] = in[i] * *scalar for i < count, rounded to the type as a reduction's result is (8- and
/// 16-bit floats by way of float32). Integers wrap. out may equal in; other overlap is not allowed.
using ScaleFn = void (*)(void* out, const void* in, const void* scalar, size_t count);

/// nullptr for types that have no products: bool and pairs.
ScaleFn findScale(rondoDataType_t type, CpuLevel level);

/// What becomes of a copy's destination.
enum class CopyTo {
  kStaging,  ///< Lines that another core has read, and reads next: through this core's caches.
  kUser,     ///< Perhaps not in any cache: long ones are written without reading it first.
  kNear,     ///< As kUser, where one side of the copy is in a cache that both cores share.
  kPast      ///< Past the caches, with a fence at the end.
};

/// Copies `bytes` from `src` to `dst0` and, if not nullptr, `dst1`; `to` is about dst0. Either
/// destination may equal `src`; other overlap is not allowed.
using CopyFn = void (*)(void* dst0, void* dst1, const void* src, size_t bytes, CopyTo to);
CopyFn findCopy(CpuLevel level);

}  // namespace rondo
