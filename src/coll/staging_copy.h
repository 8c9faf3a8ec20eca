#pragma once
// How a copy into a port's space is made.

#include "base/ticks.h"
#include "coll/reduce/reduce.h"
#include "p2p/staging_way.h"
#include "p2p/transport.h"

namespace rondo {

/// Copies all of the port's acquired space or a part of it, the way its writer has found the better
/// one so far. Only the copy is timed: what goes before it, a reduction, reads what peers wrote.
inline void copyToStaging(CopyFn copy, const SendPort& port, void* space, const void* from,
                          uint64_t bytes) {
  StagingWay* const way = bytes >= kLeastPast ? port.way() : nullptr;
  if (way == nullptr) return copy(space, nullptr, from, bytes, CopyTo::kStaging);
  const uint64_t began = ticks();
  copy(space, nullptr, from, bytes,
       way->past()   ? CopyTo::kPast
       : way->wide() ? CopyTo::kNear
                     : CopyTo::kStaging);
  way->learn(ticks() - began, bytes);
}

/// What becomes of a copy of the message to the user. `past`: he is not going to find it in the
/// caches anyway.
inline CopyTo toUser(const Message& message, bool past) {
  return past ? CopyTo::kPast : message.wide ? CopyTo::kNear : CopyTo::kUser;
}

}  // namespace rondo
