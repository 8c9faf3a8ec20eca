#pragma once
// What the C API hands to a communicator for one collective on host memory.

#include "coll/plan_cache.h"

namespace rondo {

struct ScaledOp;
struct UnevenSlots;

/// One collective call on host memory, arguments checked.
struct HostRequest {
  PlanKey key;
  const void* src;
  void* dst;
  const UnevenSlots* uneven = nullptr;  ///< With key.uneven.
  uint64_t enqueued = 0;                ///< ticks() when a group took it; 0: it runs at once.
  /// Of a call that a group took: key.op, if that is a premultiplied sum; it may be destroyed
  /// since.
  const ScaledOp* scaled = nullptr;
};

/// Who a rank is among the others.
struct RankPlace {
  int rank = 0;
  int size = 1;
  int localRank = 0;
  int localSize = 1;
};

}  // namespace rondo
