#pragma once
// All-gather by dissemination: ceil(log2 n) rounds for any n, near ranks first.

#include "coll/algo/verbs.h"

namespace rondo::algo {

/// In round k a rank gets the slots that the rank 2^k after it has by then, as many as it lacks.
/// Slots travel one by one, so that nothing has to be rotated at the end. Two messages may wait, so
/// a round of m slots takes (m + 1) / 2 hops. Source: Bruck, Ho, Kipnis, Upfal and Weathersby,
/// "Efficient Algorithms for All-to-All Communications in Multiport Message-Passing Systems", 1997,
/// section 4 (concatenation).
template <class Prims>
RONDO_ALGO void allGatherBruck(Prims& p, const Group& g, const Part& part) {
  const int n = g.size;
  if (n == 1) return p.copy(part.slot(0));
  for (int have = 1; have < n; have *= 2) {
    const int to = g.before(have), from = g.after(have);
    const int more = have < n - have ? have : n - have;
    for (int j = 0; j <= more; ++j) {
      if (j < more) {
        const Block b = part.slot(g.after(j));
        have == 1 ? p.copySend(b, to) : p.sendOwn(b, to);
      }
      if (j > 0) p.recv(part.slot(g.after(have + j - 1)), from);
    }
  }
}

}  // namespace rondo::algo
