#pragma once
// k-nomial trees: ranks are numbered from the root on, in base k, and a rank's parent has its last
// digit that is not 0 cleared. k = 2 is the binomial tree. Source: Thakur, Rabenseifner and Gropp,
// "Optimization of Collective Communication Operations in MPICH", 2005, sections 4.2 to 4.4.

#include "coll/algo/verbs.h"

namespace rondo::algo {

/// The tree as one rank sees it. The numbers below a child are the child's own and the ones after
/// it: [child, child + step) for a child at distance digit * step.
template <int k>
struct KnomialTree {
  const Group& g;
  int number;  ///< From the root on.
  int span;    ///< Numbers in this rank's subtree, if there were as many ranks.
  int parent;  ///< Rank; -1 at the root.

  RONDO_ALGO explicit KnomialTree(const Group& group)
      : g(group), number((g.rank - g.root + g.size) % g.size), span(1), parent(-1) {
    while (number == 0 ? span < g.size : number / span % k == 0) span *= k;
    if (number > 0) parent = rankOf(number - number / span % k * span);
  }
  RONDO_ALGO int rankOf(int of) const { return (g.root + of) % g.size; }
  /// One past the last number below the child.
  RONDO_ALGO int end(int child, int step) const {
    return child + step < g.size ? child + step : g.size;
  }
};

/// Broadcast down the tree, the largest subtrees first; pipelined by the periods of a long message.
/// A hop for every digit that is not 0: at most log_k n.
template <int k, class Prims>
RONDO_ALGO void broadcastKnomial(Prims& p, const Group& g, const Part& part) {
  const Block b = part.whole();
  const KnomialTree<k> tree(g);
  bool got = tree.parent < 0;
  for (int step = tree.span / k; step >= 1; step /= k) {
    for (int digit = 1; digit < k && tree.number + digit * step < g.size; ++digit) {
      const int child = tree.rankOf(tree.number + digit * step);
      if (tree.parent < 0) {
        p.send(b, child);
      } else {
        got ? p.sendOwn(b, child) : p.recvCopySend(b, tree.parent, child);
      }
      got = true;
    }
  }
  if (!got) p.recv(b, tree.parent);
  if (tree.parent < 0) p.copy(b);
}

/// Gather up the tree: a rank passes on its own slot and then those of its subtree, by number.
template <int k, class Prims>
RONDO_ALGO void gatherKnomial(Prims& p, const Group& g, const Part& part) {
  const KnomialTree<k> tree(g);
  const bool root = tree.parent < 0;
  root ? p.copy(part.slot(g.rank)) : p.send(part.slot(g.rank), tree.parent);
  for (int step = 1; step < tree.span; step *= k) {
    for (int digit = 1; digit < k; ++digit) {
      const int child = tree.number + digit * step;
      for (int s = child; s < tree.end(child, step); ++s) {
        const Block b = part.slot(tree.rankOf(s));
        root ? p.recv(b, tree.rankOf(child)) : p.recvSend(b, tree.rankOf(child), tree.parent);
      }
    }
  }
}

/// Scatter down the tree: a rank takes its own slot and then passes on those of its subtree, by
/// number. The root serves its largest subtrees first.
template <int k, class Prims>
RONDO_ALGO void scatterKnomial(Prims& p, const Group& g, const Part& part) {
  const KnomialTree<k> tree(g);
  const bool root = tree.parent < 0;
  if (!root) p.recv(part.slot(g.rank), tree.parent);
  for (int up = 1; up < tree.span; up *= k) {
    const int step = root ? tree.span / k / up : up;
    for (int digit = 1; digit < k; ++digit) {
      const int child = tree.number + digit * step;
      for (int s = child; s < tree.end(child, step); ++s) {
        const Block b = part.slot(tree.rankOf(s));
        root ? p.send(b, tree.rankOf(child)) : p.recvSend(b, tree.parent, tree.rankOf(child));
      }
    }
  }
  if (root) p.copy(part.slot(g.rank));
}

}  // namespace rondo::algo
