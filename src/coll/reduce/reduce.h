#pragma once
// Element-wise work on host memory: n-ary reductions and copies, one implementation per CPU level,
// chosen at run time.

#include <cstddef>
#include <cstdint>

#include "api/rondo.h"

namespace rondo {

/// Instruction sets that the host kernels are compiled for. kPlain is portable C++.
enum class CpuLevel { kPlain, kAvx2, kAvx512 };

/// The best level of this CPU, or the one RONDO_CPU forces (the caller passes the option's text;
/// nullptr or "" is unset). Throws std::invalid_argument with a full sentence for an unknown name
/// or a level this CPU lacks.
CpuLevel chooseCpuLevel(const char* forced);
const char* cpuLevelName(CpuLevel level);

/// One reduction step: for every i < count, v = in[0][i] op in[1][i] op ... op in[n-1][i],
/// associated from left to right; then out0[i] = v and, if out1 is given, out1[i] = v.
///
/// Rounding: 16-bit floats are widened to float32, combined in float32 and rounded once (to nearest
/// even). Integers wrap. min/max: a NaN operand gives the quiet NaN; -0 < +0. rondoAvg sums and
/// then, if `divisor` is not 0, divides by it (integers: truncated towards zero) before the
/// rounding; other operators ignore `divisor`. The same bits at every CPU level and every
/// alignment; n >= 1 (n == 1 copies, or divides). out0/out1 may each equal any in[k]; other overlap
/// is not allowed.
struct ReduceArgs {
  void* out0;
  void* out1;             ///< nullptr: one output only.
  const void* const* in;  ///< n operands.
  int n;
  size_t count;      ///< Elements.
  uint32_t divisor;  ///< rondoAvg's last step: number of ranks. 0: do not divide.
  bool stream;  ///< Write out0 (and out1) past the caches; the function fences before it returns.
};
using ReduceFn = void (*)(const ReduceArgs&);

/// nullptr for a type or operator that is not known.
ReduceFn findReduce(rondoDataType_t type, rondoRedOp_t op, CpuLevel level);

/// Copies `bytes` from `src` to `dst0` and, if not nullptr, `dst1`; `stream` writes dst0 past the
/// caches and fences.
using CopyFn = void (*)(void* dst0, void* dst1, const void* src, size_t bytes, bool stream);
CopyFn findCopy(CpuLevel level);

}  // namespace rondo
