#pragma once
// A geometry with its divisions done: a kernel that lives for two microseconds has no time for
// 64-bit divisions, so the host does them once a call.

#include "coll/algo/base.h"

namespace rondo {

struct Cut {
  algo::Count chunk;        ///< Elements of a block in a full period.
  algo::Count period;       ///< Elements of a full period.
  algo::Count fullPeriods;  ///< How often it repeats.
  algo::Count left;         ///< Elements of the last, shorter period; may be 0.
  algo::Count lastBlock;    ///< Elements of a block there.
  int blocks;               ///< Blocks a lane cuts a period into.
};

RONDO_ALGO Cut cutOf(const algo::Geometry& g) {
  const algo::Count full = g.fullPeriods();
  return Cut{g.chunk, g.period(), full, g.count - full * g.period(), algo::lastPart(g, 0).block,
             g.blocks};
}

/// algo::fullPart and algo::lastPart without divisions.
RONDO_ALGO algo::Part fullPart(const Cut& cut, int lane) {
  const algo::Count per = static_cast<algo::Count>(cut.blocks) * cut.chunk;
  return algo::Part{static_cast<algo::Count>(lane) * per, per, cut.chunk};
}
RONDO_ALGO algo::Part lastPart(const Cut& cut, int lane) {
  const algo::Count per = static_cast<algo::Count>(cut.blocks) * cut.lastBlock;
  const algo::Count begin = static_cast<algo::Count>(lane) * per;
  if (begin >= cut.left) return algo::Part{0, 0, cut.lastBlock};
  return algo::Part{begin, cut.left - begin < per ? cut.left - begin : per, cut.lastBlock};
}

/// Calls body(part) for every period of `lane`; offsets count from the call's first element. One
/// call of body in the code: it is all of a kernel, and instructions come from far away.
template <class Body>
RONDO_ALGO void forEachPart(const Cut& cut, int lane, Body body) {
  algo::Count base = 0;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
  for (algo::Count k = 0; k <= cut.fullPeriods; ++k, base += cut.period) {
    algo::Part part = k < cut.fullPeriods ? fullPart(cut, lane) : lastPart(cut, lane);
    part.offset += base;
    if (part.count > 0) body(part);
  }
}

}  // namespace rondo
