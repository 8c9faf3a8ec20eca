#pragma once
// Short calls: one lane and one period, whose messages all have room at once, need nothing
// remembered from step to step, and most of them end without a wait worth the name. The Runner
// takes over where this ends.

#include <cstddef>

#include "coll/runner.h"

namespace rondo {

/// Below this many bytes a copy costs less than waiting for the readers at the end of the call.
constexpr uint64_t kLeastInPlace = 4096;

/// The steps of a call that is one short lane, or nullptr: a period that is not full, or, with
/// uneven slots, one that no slot is longer than.
inline const std::vector<BoundStep>* shortSteps(const BoundPlan& plan, const HostCall& call) {
  if (plan.lanes.size() != 1 || call.stream || plan.scale != nullptr) return nullptr;
  const BoundLane& lane = plan.lanes.front();
  if (call.uneven == nullptr) return plan.fullPeriods == 0 ? &lane.last : nullptr;
  const bool once = call.uneven->most * plan.elementBytes <= plan.periodBytes;
  return once && lane.last.empty() ? &lane.full : nullptr;
}

/// Does the first of those steps, one after the other, looking at most `looks` times for each
/// message, and says how many they are: the rest is the Runner's. `stamp`: Channels::stamp.
size_t runShort(const BoundPlan& plan, const HostCall& call, uint32_t* stamp, uint32_t looks);

}  // namespace rondo
