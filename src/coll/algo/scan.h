#pragma once
// Prefix reductions.

#include "coll/algo/verbs.h"

namespace rondo::algo {

/// Scan in one exchange: everyone publishes its data and reduces what the ranks up to it published.
template <class Win>
RONDO_ALGO void scanOneShot(Win& w, const Group& g, const Part& part) {
  if (g.size == 1) return w.copy(part.whole());
  w.put(part.whole(), kEveryone);
  w.signal(kEveryone);
  for (int k = 1; k < g.size; ++k) w.wait(g.after(k), Room::All);
  w.reduceRange(part.whole(), Room::All, 0, g.rank + 1);
}

/// Exclusive scan in one exchange: without the rank's own.
template <class Win>
RONDO_ALGO void exscanOneShot(Win& w, const Group& g, const Part& part) {
  if (g.size == 1) return;
  w.put(part.whole(), kEveryone);
  w.signal(kEveryone);
  for (int k = 1; k < g.size; ++k) w.wait(g.after(k), Room::All);
  w.reduceRange(part.whole(), Room::All, 0, g.rank);
}

/// Scan along the ranks: each adds its own and passes the result on. n - 1 hops, pipelined by the
/// periods of a long message; every rank reduces once.
template <class Prims>
RONDO_ALGO void scanChain(Prims& p, const Group& g, const Part& part) {
  const Block b = part.whole();
  const int before = g.rank - 1, after = g.rank + 1;
  if (g.size == 1) return p.copy(b);
  if (g.rank == 0) return p.copySend(b, after);
  if (after == g.size) return p.recvReduceKeep(b, before);
  p.recvReduceKeepSend(b, before, after);
}

/// Exclusive scan along the ranks.
template <class Prims>
RONDO_ALGO void exscanChain(Prims& p, const Group& g, const Part& part) {
  const Block b = part.whole();
  const int before = g.rank - 1, after = g.rank + 1;
  if (g.size == 1) return;
  if (g.rank == 0) return p.send(b, after);
  if (after == g.size) return p.recv(b, before);
  p.recvCopyReduceSend(b, before, after);
}

}  // namespace rondo::algo
