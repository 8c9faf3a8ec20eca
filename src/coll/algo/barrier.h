#pragma once
// Barriers of messages without data.

#include "coll/algo/verbs.h"

namespace rondo::algo {

/// Barrier in ceil(log2 n) rounds: in round k everyone tells the rank 2^k further on, and hears
/// from the one 2^k back, that it and all it has heard of are here. Source: Hensgen, Finkel and
/// Manber, "Two algorithms for barrier synchronization", 1988 (dissemination).
template <class Prims>
RONDO_ALGO void barrierDissemination(Prims& p, const Group& g, const Part&) {
  for (int far = 1; far < g.size; far *= 2) {
    p.notify(g.after(far));
    p.hear(g.before(far));
  }
}

}  // namespace rondo::algo
