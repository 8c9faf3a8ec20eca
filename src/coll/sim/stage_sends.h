#pragma once
// What pipeline stages send each other.

#include "coll/sim/rehearsal.h"

namespace rondo::sim {

/// Time in which every rank of each stage but the last one sends `bytes` to the rank at its place
/// in the next stage, all at once over the same links. Stages are `stage` ranks each, in the order
/// of the ranks; `on` has all of them in one part. A message on device memory goes GPU to GPU.
Time stageSend(const Rehearsal& on, int stage, uint64_t bytes);

}  // namespace rondo::sim
