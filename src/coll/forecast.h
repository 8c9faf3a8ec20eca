#pragma once
// What the planner expects of a plan, from a few of its ranks.

#include <cstdint>
#include <vector>

#include "coll/facts.h"
#include "coll/plan.h"

namespace rondo {

/// Predicted time of a call in picoseconds, from the plans of ranks that stand for all: the slowest
/// of them, and where some ranks wait for others to begin (a root's readers, a root of leaves),
/// what these have to do before.
uint64_t forecast(const std::vector<Plan>& plans, size_t elementBytes, const CommFacts& facts);

}  // namespace rondo
