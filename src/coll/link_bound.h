#pragma once
// Links that several ranks share: the cards of a host, the links between packages.

#include <cstdint>
#include <vector>

#include "coll/facts.h"
#include "coll/plan.h"

namespace rondo {

/// Least time, in picoseconds, in which the links into and out of the packages and hosts of these
/// ranks carry the call, as far as facts.links knows them; 0: it knows none. `plans`: of ranks that
/// stand for all; in an area of which several are given, the one that moves the most is one of a
/// kind, and the other ranks are as the mean of the others.
uint64_t linkBound(const std::vector<Plan>& plans, size_t elementBytes, const CommFacts& facts);

}  // namespace rondo
