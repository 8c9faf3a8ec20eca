#pragma once
// What every collective does once its own arguments are in order: the checks that all share, then
// the plan.

#include <span>

#include "api/argument_checks.h"
#include "coll/exchange.h"

namespace rondo {

/// What a call asks for, beside its buffers.
struct CollectiveKind {
  Collective collective;
  bool reduces = false;
  rondoRedOp_t op = rondoSum;
  bool rooted = false;
  int root = 0;
};

/// Checks buffers, operator, root and memory, and runs the call to its end. Even slots.
rondoResult_t runCollective(const CollectiveArgs& args, const CollectiveKind& kind);

/// Runs a checked call on host memory to its end, or puts it into the open group, which copies what
/// request.uneven points to.
rondoResult_t runHost(const CollectiveArgs& args, const HostRequest& request);

/// The same for sends and receives.
rondoResult_t runTransfers(const CollectiveArgs& args, std::span<const Transfer> transfers);

/// Refuses a premultiplied sum whose scalar the host cannot read, for buffers of the host.
rondoResult_t checkScalar(const CollectiveArgs& args, rondoRedOp_t op);

}  // namespace rondo
