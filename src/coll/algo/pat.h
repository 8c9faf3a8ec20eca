#pragma once
// Parallel trees: a tree for every slot, rooted at its rank, all of the same shape and all at work
// at once. Source: Jeaugey, "PAT: a new algorithm for all-gather and reduce-scatter operations at
// scale", 2025 (NCCL 2.23).

#include "coll/algo/tree.h"

namespace rondo::algo {

/// All-gather over binomial trees, far ranks first: ceil(log2 n) rounds in which the distance
/// halves while the slots sent double, so that what travels far is little. Two messages may wait,
/// so a round of m slots takes (m + 1) / 2 hops.
template <class Prims>
RONDO_ALGO void allGatherPat(Prims& p, const Group& g, const Part& part) {
  const int n = g.size;
  if (n == 1) return p.copy(part.slot(0));
  int far = floorPowerOfTwo(n - 1);
  for (bool first = true; far >= 1; far /= 2, first = false) {
    // The ranks that are 0, 2 far, 4 far, .. from a slot's owner have it, and hand it on.
    const int slots = (n - far + 2 * far - 1) / (2 * far);
    for (int j = 0; j <= slots; ++j) {
      if (j < slots) {
        const Block b = part.slot(g.before(2 * far * j));
        first ? p.copySend(b, g.after(far)) : p.sendOwn(b, g.after(far));
      }
      if (j > 0) p.recv(part.slot(g.before(2 * far * (j - 1) + far)), g.before(far));
    }
  }
}

/// Reduce-scatter over binary trees, joining what comes up with src: nothing is kept on the way
/// (binomial trees, as in the source, would have to keep partial results of half the slots). Every
/// rank walks the same tree, children before parents, and takes its place for another slot at each
/// step, so that one message waits for each level. The hops are those of about n / 2 steps.
template <class Prims>
RONDO_ALGO void reduceScatterPat(Prims& p, const Group& g, const Part& part) {
  const int n = g.size;
  if (n == 1) return p.copy(part.slot(0));
  const InOrderTree tree{n};
  const auto rankAt = [&](int at, int place) { return (g.rank + at - place + n) % n; };
  for (int place = 1; place != 0;) {
    const int left = tree.left(place), right = tree.right(place), up = tree.parent(place);
    const Block b = part.slot(rankAt(tree.top(), place));
    const int from = rankAt(left, place), from2 = rankAt(right, place), to = rankAt(up, place);
    if (up == 0) {
      right != 0 ? p.recv2ReduceCopy(b, from, from2) : p.recvReduceCopy(b, from);
    } else if (left == 0) {
      p.send(b, to);
    } else {
      right != 0 ? p.recv2ReduceSend(b, from, from2, to) : p.recvReduceSend(b, from, to);
    }
    // After a left child comes the first leaf of its sibling's subtree, if there is one.
    const int sibling = up != 0 && tree.left(up) == place ? tree.right(up) : 0;
    place = sibling != 0 ? sibling - InOrderTree::lowestBit(sibling) + 1 : up;
  }
}

}  // namespace rondo::algo
