#pragma once
// The ring: every rank talks to its two neighbours only, all links are busy all the time.

#include "coll/algo/verbs.h"

namespace rondo::algo {

/// All-reduce in 2 (n - 1) hops: n - 1 in which a block collects one rank's contribution a hop, n -
/// 1 in which the finished blocks go round. Moves 2 (n - 1) / n of the data over every link, the
/// least possible. Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for
/// clusters of workstations", 2009.
template <class Prims>
RONDO_ALGO void allReduceRing(Prims& p, const Group& g, const Part& part) {
  const int n = g.size, next = g.next(), prev = g.prev();
  if (n == 1) return p.copy(part.at(0));
  p.send(part.at(prev), next);
  for (int k = 2; k < n; ++k) p.recvReduceSend(part.at(g.before(k)), prev, next);
  p.recvReduceCopySend(part.at(g.rank), prev, next);
  for (int k = 1; k < n - 1; ++k) p.recvCopySend(part.at(g.before(k)), prev, next);
  p.recv(part.at(g.before(n - 1)), prev);
}

/// Broadcast along the ring from the root; pipelined by the periods of a long message.
template <class Prims>
RONDO_ALGO void broadcastRing(Prims& p, const Group& g, const Part& part) {
  if (g.size == 1) return p.copy(part.at(0));
  if (g.rank == g.root) return p.copySend(part.at(0), g.next());
  if (g.next() == g.root) return p.recv(part.at(0), g.prev());
  p.recvCopySend(part.at(0), g.prev(), g.next());
}

}  // namespace rondo::algo
