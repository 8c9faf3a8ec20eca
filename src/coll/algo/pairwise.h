#pragma once
// Everyone with everyone, two at a time: no rank is talked to by two at once.

#include "coll/algo/verbs.h"

namespace rondo::algo {

/// All-to-all in n rounds: in round k the ranks whose numbers add up to k (modulo n) exchange their
/// slots. What a rank sends leaves before what comes takes its place, so that src may be dst.
/// Source: Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in
/// MPICH", 2005, section 4.3 (pairwise exchange); the pairing is that of a round-robin tournament.
template <class Prims>
RONDO_ALGO void allToAllPairwise(Prims& p, const Group& g, const Part& part) {
  for (int k = 0; k < g.size; ++k) {
    const int peer = (k + g.size - g.rank) % g.size;
    if (peer == g.rank) {
      p.copy(part.slot(peer));
      continue;
    }
    p.send(part.slot(peer), peer);
    p.recv(part.slot(peer), peer);
  }
}

/// Reduce-scatter in n - 1 rounds: in round k a rank hands the rank k after it that one's slot, and
/// adds what the rank k before it sends to its own. Source: as above, section 4.4 (pairwise
/// exchange).
template <class Prims>
RONDO_ALGO void reduceScatterPairwise(Prims& p, const Group& g, const Part& part) {
  const int n = g.size;
  const Block mine = part.slot(g.rank);
  if (n == 1) return p.copy(mine);
  for (int k = 1; k < n; ++k) {
    const int to = g.after(k), from = g.before(k);
    p.send(part.slot(to), to);
    if (k < n - 1) {
      k == 1 ? p.recvReduceKeep(mine, from) : p.recvReduceOwn(mine, from);
    } else {
      k == 1 ? p.recvReduceCopy(mine, from) : p.recvReduceOwnFinal(mine, from);
    }
  }
}

}  // namespace rondo::algo
