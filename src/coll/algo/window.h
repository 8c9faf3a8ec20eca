#pragma once
// Algorithms on memory that peers can address: fewer hops than a ring, for ranks of one node.

#include "coll/algo/verbs.h"

namespace rondo::algo {

/// One-shot all-reduce: everyone gets everyone's data and reduces all of it. One exchange, the
/// lowest latency; moves n - 1 times the data.
template <class Win>
RONDO_ALGO void allReduceOneShot(Win& w, const Group& g, const Part& part) {
  if (g.size == 1) return w.copy(part.whole());
  w.put(part.whole(), kEveryone);
  w.signal(kEveryone);
  for (int k = 1; k < g.size; ++k) w.wait(g.after(k), Room::All);
  w.reduce(part.whole(), Room::All);
}

/// Two-shot all-reduce: a direct reduce-scatter, then a direct all-gather. Two exchanges; moves 2
/// (n - 1) / n of the data, as the ring does.
template <class Win>
RONDO_ALGO void allReduceTwoShot(Win& w, const Group& g, const Part& part) {
  if (g.size == 1) return w.copy(part.whole());
  for (int k = 1; k < g.size; ++k) {
    w.put(part.at(g.after(k)), g.after(k));
    w.signal(g.after(k));
  }
  for (int k = 1; k < g.size; ++k) w.wait(g.before(k), Room::Pair);
  w.reducePut(part.at(g.rank), Room::Pair);
  w.signal(kEveryone);
  for (int k = 1; k < g.size; ++k) {
    w.wait(g.before(k), Room::All);
    w.fetch(part.at(g.before(k)), g.before(k), Room::All);
  }
}

/// Reduce in one exchange: everyone hands the root its data.
template <class Win>
RONDO_ALGO void reduceOneShot(Win& w, const Group& g, const Part& part) {
  if (g.size == 1) return w.copy(part.whole());
  if (g.rank != g.root) {
    w.put(part.whole(), g.root);
    return w.signal(g.root);
  }
  for (int k = 1; k < g.size; ++k) w.wait(g.after(k), Room::Pair);
  w.reduce(part.whole(), Room::Pair);
}

/// Reduce in two exchanges: a direct reduce-scatter, whose results go to the root.
template <class Win>
RONDO_ALGO void reduceTwoShot(Win& w, const Group& g, const Part& part) {
  if (g.size == 1) return w.copy(part.whole());
  for (int k = 1; k < g.size; ++k) {
    w.put(part.at(g.after(k)), g.after(k));
    w.signal(g.after(k));
  }
  for (int k = 1; k < g.size; ++k) w.wait(g.before(k), Room::Pair);
  if (g.rank != g.root) {
    w.reducePutTo(part.at(g.rank), Room::Pair, g.root);
    return w.signal(g.root);
  }
  w.reduce(part.at(g.rank), Room::Pair);
  for (int k = 1; k < g.size; ++k) {
    w.wait(g.before(k), Room::Pair);
    w.fetch(part.at(g.before(k)), g.before(k), Room::Pair);
  }
}

/// Broadcast through the root's All room: everyone reads the same copy.
template <class Win>
RONDO_ALGO void broadcastOneShot(Win& w, const Group& g, const Part& part) {
  if (g.rank == g.root) {
    if (g.size > 1) {
      w.put(part.whole(), kEveryone);
      w.signal(kEveryone);
    }
    return w.copy(part.whole());
  }
  w.wait(g.root, Room::All);
  w.fetch(part.whole(), g.root, Room::All);
}

/// Barrier: everyone tells everyone.
template <class Win>
RONDO_ALGO void barrierOneShot(Win& w, const Group& g, const Part&) {
  if (g.size > 1) w.barrier();
}

}  // namespace rondo::algo
