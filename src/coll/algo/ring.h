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

/// Reduce along the ring to the root: each rank adds its own and passes the result on. n - 1 hops,
/// pipelined by the periods of a long message.
template <class Prims>
RONDO_ALGO void reduceRing(Prims& p, const Group& g, const Part& part) {
  const Block b = part.whole();
  if (g.size == 1) return p.copy(b);
  if (g.rank == g.root) return p.recvReduceCopy(b, g.prev());
  if (g.prev() == g.root) return p.send(b, g.next());
  p.recvReduceSend(b, g.prev(), g.next());
}

/// All-gather in n - 1 hops: the slots go round.
template <class Prims>
RONDO_ALGO void allGatherRing(Prims& p, const Group& g, const Part& part) {
  const int n = g.size, next = g.next(), prev = g.prev();
  if (n == 1) return p.copy(part.slot(0));
  p.copySend(part.slot(g.rank), next);
  for (int k = 1; k < n - 1; ++k) p.recvCopySend(part.slot(g.before(k)), prev, next);
  p.recv(part.slot(g.before(n - 1)), prev);
}

/// Reduce-scatter in n - 1 hops: each slot collects one rank's contribution a hop and ends where it
/// belongs.
template <class Prims>
RONDO_ALGO void reduceScatterRing(Prims& p, const Group& g, const Part& part) {
  const int n = g.size, next = g.next(), prev = g.prev();
  if (n == 1) return p.copy(part.slot(0));
  p.send(part.slot(prev), next);
  for (int k = 2; k < n; ++k) p.recvReduceSend(part.slot(g.before(k)), prev, next);
  p.recvReduceCopy(part.slot(g.rank), prev);
}

}  // namespace rondo::algo
