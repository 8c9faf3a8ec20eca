#pragma once
// What the two ranks of a pair mean to move between them in a v-collective.

#include <string>

#include "coll/runner.h"
#include "p2p/call_record.h"

namespace rondo {

/// What two ranks of other hosts mean to move between them.
constexpr PairCounts kUntold{UINT64_MAX, UINT64_MAX};

/// Of rank `me` with `peer`, from its own slots.
PairCounts pairCountsOf(Collective collective, const UnevenSlots& slots, int root, int me,
                        int peer);

/// Whether a v-collective of this kind can bring rank `me` anything from `peer`.
bool canTake(Collective collective, int root, int me, int peer);

/// Rank `a` and rank `b`, and what each wrote about the other.
struct Pair {
  int a, b;
  PairCounts ofA, ofB;

  bool agrees() const {
    return ofA == kUntold || ofB == kUntold || (ofA.sent == ofB.taken && ofA.taken == ofB.sent);
  }
};

/// "rank 0's sendcounts[1] is 5 where rank 1's recvcounts[0] is 4"; for a pair that does not agree.
std::string pairText(Collective collective, const Pair& pair);

}  // namespace rondo
