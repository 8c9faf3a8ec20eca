#pragma once
// Short calls: a lane whose messages travel in their headers needs nothing remembered from step to
// step, and most of them end without a wait worth the name. The Runner takes over where this ends.

#include <cstddef>

#include "coll/runner.h"

namespace rondo {

/// Whether runShort() may be asked.
inline bool isShort(const BoundPlan& plan, const HostCall& call) {
  return plan.fullPeriods == 0 && plan.lanes.size() == 1 && call.uneven == nullptr &&
         !call.stream && plan.scale == nullptr;
}

/// Does the first steps of a call that isShort(), one after the other, looking at most `looks`
/// times for each message, and says how many they are: the rest is the Runner's. The stamp of
/// posted messages is set before.
size_t runShort(const BoundPlan& plan, const HostCall& call, uint32_t looks);

}  // namespace rondo
