#pragma once
// Two binary trees in which a leaf of one is inside the other, so that all ranks send and receive
// alike: even lanes use one tree, odd lanes the other. Source: Sanders, Speck and Träff, "Two-tree
// algorithms for full bandwidth broadcast, reduction and scan", 2009.

#include "coll/algo/recursive.h"

namespace rondo::algo {

/// The binary tree over the places 1 to n in order: a place lies as high as it has zero bits at its
/// end, so odd places are leaves and even ones are not. 0: nobody.
struct InOrderTree {
  int n;

  RONDO_ALGO static int lowestBit(int place) { return place & -place; }
  RONDO_ALGO int top() const { return floorPowerOfTwo(n); }
  RONDO_ALGO int left(int place) const {
    const int bit = lowestBit(place);
    return bit > 1 ? place - bit / 2 : 0;
  }
  /// Half as far after the place as its parent; where the tree ends before that, the next one down.
  RONDO_ALGO int right(int place) const {
    for (int down = lowestBit(place) / 2; down >= 1; down /= 2) {
      if (place + down <= n) return place + down;
    }
    return 0;
  }
  RONDO_ALGO int parent(int place) const {
    if (place == top()) return 0;
    do {
      const int bit = lowestBit(place);
      place = (place - bit) | (2 * bit);
    } while (place > n);
    return place;
  }
  RONDO_ALGO int depth(int place) const {
    int depth = 0;
    for (int up = parent(place); up != 0; up = parent(up)) ++depth;
    return depth;
  }
};

/// A rank's neighbours in a tree; -1: nobody. Who has a right child has a left one.
struct TreeLinks {
  int up;
  int left;
  int right;
  int depth;
};

/// In the tree of all ranks; the lane's parity turns the ranks by one place.
RONDO_ALGO TreeLinks treeOfAll(const Group& g, int lane) {
  const InOrderTree tree{g.size};
  const int shift = lane % 2;
  const int place = (g.rank + g.size - shift) % g.size + 1;
  const auto rankAt = [&](int at) { return at == 0 ? -1 : (at - 1 + shift) % g.size; };
  return {rankAt(tree.parent(place)), rankAt(tree.left(place)), rankAt(tree.right(place)),
          tree.depth(place)};
}

/// In the tree of all ranks but the root, which stands above its top; for the root, `left` is that
/// top.
RONDO_ALGO TreeLinks treeBelowRoot(const Group& g, int lane) {
  const InOrderTree tree{g.size - 1};
  const int others = g.size - 1, shift = lane % 2;
  const auto rankAt = [&](int at) {
    return at == 0 ? -1 : (g.root + (at - 1 + shift) % others + 1) % g.size;
  };
  if (g.rank == g.root) return {-1, rankAt(tree.top()), -1, 0};
  const int number = (g.rank - g.root + g.size) % g.size;  // 1 to n - 1
  const int place = (number - 1 + others - shift) % others + 1;
  const int parent = tree.parent(place);
  return {parent == 0 ? g.root : rankAt(parent), rankAt(tree.left(place)),
          rankAt(tree.right(place)), tree.depth(place) + 1};
}

/// Joins what the children send with src and hands it up; not for the top.
template <class Prims>
RONDO_ALGO void reduceUp(Prims& p, Block b, const TreeLinks& links) {
  if (links.left < 0) return p.send(b, links.up);
  if (links.right < 0) return p.recvReduceSend(b, links.left, links.up);
  p.recv2ReduceSend(b, links.left, links.right, links.up);
}

/// Keeps what comes from above and hands it down; not for the top.
template <class Prims>
RONDO_ALGO void copyDown(Prims& p, Block b, const TreeLinks& links) {
  if (links.left < 0) return p.recv(b, links.up);
  p.recvCopySend(b, links.up, links.left);
  if (links.right >= 0) p.sendOwn(b, links.right);
}

/// Completes what the children send and hands the result down.
template <class Prims>
RONDO_ALGO void turnAtTop(Prims& p, Block b, const TreeLinks& links) {
  if (links.right < 0) return p.recvReduceCopySend(b, links.left, links.left);
  p.recv2ReduceCopySend(b, links.left, links.right, links.left);
  p.sendOwn(b, links.right);
}

/// All-reduce up and down the tree in 2 floor(log2 n) hops. The blocks of a part follow each other:
/// a block comes back to depth d after 2 d others have gone up, which is as many as the messages
/// that may wait allow.
template <int blocks, class Prims>
RONDO_ALGO void allReduceTree(Prims& p, const Group& g, const Part& part) {
  if (g.size == 1) {
    for (int i = 0; i < blocks; ++i) p.copy(part.at(i));
    return;
  }
  const TreeLinks links = treeOfAll(g, part.lane);
  const int behind = 2 * links.depth;
  for (int i = 0; i < blocks + behind; ++i) {
    if (links.up < 0) {
      turnAtTop(p, part.at(i), links);
      continue;
    }
    if (i < blocks) reduceUp(p, part.at(i), links);
    if (i >= behind) copyDown(p, part.at(i - behind), links);
  }
}

/// Broadcast down the tree in 1 + floor(log2 (n - 1)) hops; pipelined by the periods of a long
/// message, which every rank then sends about once over two lanes.
template <class Prims>
RONDO_ALGO void broadcastTree(Prims& p, const Group& g, const Part& part) {
  if (g.size == 1) return p.copy(part.whole());
  const TreeLinks links = treeBelowRoot(g, part.lane);
  if (g.rank == g.root) return p.copySend(part.whole(), links.left);
  copyDown(p, part.whole(), links);
}

/// Reduce up the tree, as many hops.
template <class Prims>
RONDO_ALGO void reduceTree(Prims& p, const Group& g, const Part& part) {
  if (g.size == 1) return p.copy(part.whole());
  const TreeLinks links = treeBelowRoot(g, part.lane);
  if (g.rank == g.root) return p.recvReduceCopy(part.whole(), links.left);
  reduceUp(p, part.whole(), links);
}

}  // namespace rondo::algo
