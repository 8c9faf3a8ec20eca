#pragma once
// Collectives that give every rank a part of its own, on memory that peers can address: everyone
// talks to everyone directly, in one exchange.

#include "coll/algo/verbs.h"

namespace rondo::algo {

/// All-gather: everyone publishes its slot once, and reads the others'.
template <class Win>
RONDO_ALGO void allGatherDirect(Win& w, const Group& g, const Part& part) {
  if (g.size > 1) {
    w.put(part.slot(g.rank), kEveryone);
    w.signal(kEveryone);
  }
  w.copy(part.slot(g.rank));
  for (int k = 1; k < g.size; ++k) {
    w.wait(g.before(k), Room::All);
    w.fetch(part.slot(g.before(k)), g.before(k), Room::All);
  }
}

/// Reduce-scatter: everyone hands each rank its slot, and reduces its own.
template <class Win>
RONDO_ALGO void reduceScatterDirect(Win& w, const Group& g, const Part& part) {
  if (g.size == 1) return w.copy(part.slot(0));
  for (int k = 1; k < g.size; ++k) {
    w.put(part.slot(g.after(k)), g.after(k));
    w.signal(g.after(k));
  }
  for (int k = 1; k < g.size; ++k) w.wait(g.before(k), Room::Pair);
  w.reduce(part.slot(g.rank), Room::Pair);
}

/// All-to-all: everyone hands each rank its slot.
template <class Win>
RONDO_ALGO void allToAllDirect(Win& w, const Group& g, const Part& part) {
  for (int k = 1; k < g.size; ++k) {
    w.put(part.slot(g.after(k)), g.after(k));
    w.signal(g.after(k));
  }
  w.copy(part.slot(g.rank));
  for (int k = 1; k < g.size; ++k) {
    w.wait(g.before(k), Room::Pair);
    w.fetch(part.slot(g.before(k)), g.before(k), Room::Pair);
  }
}

/// Gather: everyone hands the root its slot.
template <class Win>
RONDO_ALGO void gatherDirect(Win& w, const Group& g, const Part& part) {
  if (g.rank != g.root) {
    w.put(part.slot(g.rank), g.root);
    return w.signal(g.root);
  }
  w.copy(part.slot(g.rank));
  for (int k = 1; k < g.size; ++k) {
    w.wait(g.before(k), Room::Pair);
    w.fetch(part.slot(g.before(k)), g.before(k), Room::Pair);
  }
}

/// Scatter: the root hands everyone its slot.
template <class Win>
RONDO_ALGO void scatterDirect(Win& w, const Group& g, const Part& part) {
  if (g.rank != g.root) {
    w.wait(g.root, Room::Pair);
    return w.fetch(part.slot(g.rank), g.root, Room::Pair);
  }
  for (int k = 1; k < g.size; ++k) {
    w.put(part.slot(g.after(k)), g.after(k));
    w.signal(g.after(k));
  }
  w.copy(part.slot(g.rank));
}

}  // namespace rondo::algo
