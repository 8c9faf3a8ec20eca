#pragma once
// Hierarchies: what crosses from one group of near ranks to another (sockets, NUMA nodes, L3
// caches) is made little. Every stage is an algorithm from another header, run among some ranks;
// here is only who takes part in which stage with what. Groups may be of any sizes and hold any
// ranks. With less than two groups the inner algorithm runs alone.

#include "coll/algo/barrier.h"
#include "coll/algo/ring.h"
#include "coll/algo/stage.h"
#include "coll/algo/tree.h"

namespace rondo::algo {

/// The groups as one rank sees them. A group's leader is its first rank, or the root.
struct Hierarchy {
  const Placement& near;
  int rank;
  int root;
  int mine;   ///< This rank's group.
  int place;  ///< In it.

  RONDO_ALGO explicit Hierarchy(const Group& g)
      : near(g.near),
        rank(g.rank),
        root(g.root),
        mine(g.near.of[g.rank]),
        place(g.near.place[g.rank]) {}
  RONDO_ALGO int size(int group) const { return near.begin[group + 1] - near.begin[group]; }
  RONDO_ALGO int smallest() const {
    int least = size(0);
    for (int group = 1; group < near.count; ++group) {
      if (size(group) < least) least = size(group);
    }
    return least;
  }
  RONDO_ALGO int member(int group, int at) const { return near.ranks[near.begin[group] + at]; }
  RONDO_ALGO int leader(int group) const {
    return group == near.of[root] ? root : member(group, 0);
  }
  RONDO_ALGO bool leads() const { return rank == leader(mine); }
  /// Group number k after this rank's, 0 < k < count.
  RONDO_ALGO int groupAfter(int k) const { return (mine + k) % near.count; }

  /// This rank among the members of its group, whose root is the leader; among the leaders, or the
  /// ranks at one place of every group.
  RONDO_ALGO Group inside() const { return {place, size(mine), near.place[leader(mine)]}; }
  RONDO_ALGO Group across() const { return {mine, near.count, near.of[root]}; }

  // Stage numbers to ranks.
  struct Members {
    const Hierarchy& h;
    RONDO_ALGO int operator()(int number) const { return h.member(h.mine, number); }
  };
  struct Leaders {
    const Hierarchy& h;
    RONDO_ALGO int operator()(int number) const { return h.leader(number); }
  };
  struct Peers {
    const Hierarchy& h;
    RONDO_ALGO int operator()(int number) const { return h.member(number, h.place); }
  };
  RONDO_ALGO Members members() const { return {*this}; }
  RONDO_ALGO Leaders leaders() const { return {*this}; }
  RONDO_ALGO Peers peers() const { return {*this}; }
};

RONDO_ALGO bool isFlat(const Group& g) { return g.near.count < 2; }

/// All-reduce of short messages: up a tree in every group, among the leaders by recursive doubling,
/// and down the trees again.
template <class Prims>
RONDO_ALGO void allReduceHierarchy(Prims& p, const Group& g, const Part& part) {
  if (isFlat(g)) return allReduceTree<1>(p, g, part);
  const Hierarchy h(g);
  auto up = stage<kPartial>(p, h.members());
  reduceTree(up, h.inside(), part);
  auto top = stage<kHeld>(p, h.leaders());
  if (h.leads()) allReduceDoubling(top, h.across(), part);
  auto down = stage<kHeld>(p, h.members());
  broadcastTree(down, h.inside(), part);
}

/// `b` cut for a ring of n ranks; the cuts fall on multiples of 16 elements.
RONDO_ALGO Part ringPart(Block b, int n, int lane) {
  const Count pieces = static_cast<Count>(n);
  const Count least = (b.count + pieces - 1) / pieces;
  return Part{b.offset, b.count, (least + 15) / 16 * 16, lane};
}

/// All-reduce of long messages: reduce-scatter in every group, so that each member holds a stripe
/// of the group's sum; a ring all-reduce of each stripe among the ranks that hold it; all-gather in
/// every group. As many stripes as the smallest group has members: all links between groups carry
/// the least possible, 2 (groups - 1) / groups of the data for all members of a group together.
template <class Prims>
RONDO_ALGO void allReduceStripes(Prims& p, const Group& g, const Part& part) {
  if (isFlat(g)) return allReduceRing(p, g, part);
  const Hierarchy h(g);
  // Members of larger groups own no stripe: their slots are empty.
  const auto stripe = [&part](Block b) { return part.at(b.slot); };
  auto scatter = stage<kPartial>(p, h.members(), stripe);
  reduceScatterRing(scatter, h.inside(), part);
  auto across = stage<kHeld>(p, h.peers());
  if (h.place < h.smallest()) {
    allReduceRing(across, h.across(), ringPart(part.at(h.place), h.near.count, part.lane));
  }
  auto gather = stage<kHeld>(p, h.members(), stripe);
  allGatherRing(gather, h.inside(), part);
}

/// Broadcast down a tree of the leaders, then down a tree in every group. Pipelined by the periods
/// of a long message.
template <class Prims>
RONDO_ALGO void broadcastHierarchy(Prims& p, const Group& g, const Part& part) {
  if (isFlat(g)) return broadcastTree(p, g, part);
  const Hierarchy h(g);
  auto top = stage<kWhole>(p, h.leaders());
  if (h.leads()) broadcastTree(top, h.across(), part);
  if (g.rank == g.root) {
    auto again = stage<kKept>(p, h.members());
    return broadcastTree(again, h.inside(), part);
  }
  auto down = stage<kHeld>(p, h.members());
  broadcastTree(down, h.inside(), part);
}

/// One tree: in every group a tree below its leader, and the leaders a chain that ends in the root.
/// A rank that is not the root has no room for partial results, so a leader takes its group's sum
/// and the chain's in one step.
RONDO_ALGO TreeLinks linksToRoot(const Hierarchy& h, int lane) {
  const Group in = h.inside();
  const auto real = [&h](int place) { return place < 0 ? -1 : h.member(h.mine, place); };
  TreeLinks links{-1, -1, -1, 0};
  if (in.size > 1) {
    const TreeLinks tree = treeBelowRoot(in, lane);
    links = {real(tree.up), real(tree.left), real(tree.right), tree.depth};
  }
  if (!h.leads()) return links;
  const Group top = h.across();
  if (top.rank != top.root) links.up = h.leader(top.prev());
  const int chain = top.next() != top.root ? h.leader(top.next()) : -1;
  links.left < 0 ? links.left = chain : links.right = chain;
  return links;
}

/// Reduce to the root along these links. Pipelined by the periods of a long message.
template <class Prims>
RONDO_ALGO void reduceHierarchy(Prims& p, const Group& g, const Part& part) {
  if (isFlat(g)) return reduceTree(p, g, part);
  const TreeLinks links = linksToRoot(Hierarchy(g), part.lane);
  if (g.rank != g.root) return reduceUp(p, part.whole(), links);
  if (links.right < 0) return p.recvReduceCopy(part.whole(), links.left);
  p.recv2ReduceCopy(part.whole(), links.left, links.right);
}

/// Slots from elsewhere are shared out in every group: place i of group B belongs to the member at
/// place i mod the group's size. held(place, k) is the k-th slot that member answers for, its own
/// being number 0; -1: it has less.
struct Shares {
  const Hierarchy& h;

  RONDO_ALGO int held(int place, int k) const {
    const int size = h.size(h.mine);
    if (k == 0) return h.member(h.mine, place);
    for (int far = 1; far < h.near.count; ++far) {
      const int group = h.groupAfter(far);
      const int here = (h.size(group) - place + size - 1) / size;  // place, place + size, ..
      if (k <= here) return h.member(group, place + (k - 1) * size);
      k -= here > 0 ? here : 0;
    }
    return -1;
  }
  /// The most that a member answers for.
  RONDO_ALGO int most() const {
    int count = 1;
    while (held(0, count) >= 0) ++count;
    return count;
  }
  /// Who answers for this rank's slot in that group.
  RONDO_ALGO int sharer(int group) const { return h.member(group, h.place % h.size(group)); }

  /// In a stage among the members: slot r is the k-th of member r.
  struct Nth {
    const Shares& shares;
    int k;
    RONDO_ALGO Block operator()(Block b) const {
      const int slot = shares.held(b.slot, k);
      return slot < 0 ? Block{0, 0} : Block{b.offset, b.count, slot};
    }
  };
};

/// All-gather: every rank hands its slot to one rank of each other group, then every group makes
/// ring all-gathers of what its members have. A slot enters each group once.
template <class Prims>
RONDO_ALGO void allGatherHierarchy(Prims& p, const Group& g, const Part& part) {
  if (isFlat(g)) return allGatherRing(p, g, part);
  const Hierarchy h(g);
  const Shares shares{h};
  const Block own = part.slot(g.rank);
  for (int k = 1; k < h.near.count; ++k) {
    const int to = shares.sharer(h.groupAfter(k));
    k == 1 ? p.copySend(own, to) : p.send(own, to);
  }
  for (int k = 1, slot = 0; (slot = shares.held(h.place, k)) >= 0; ++k)
    p.recv(part.slot(slot), slot);
  for (int k = 0; k < shares.most(); ++k) {
    auto inside = stage<kHeld>(p, h.members(), Shares::Nth{shares, k});
    allGatherRing(inside, h.inside(), part);
  }
}

/// Reduce-scatter, the other way round: every group makes ring reduce-scatters, the sums of other
/// groups' slots go to their ranks, and every rank adds up what comes.
template <class Prims>
RONDO_ALGO void reduceScatterHierarchy(Prims& p, const Group& g, const Part& part) {
  if (isFlat(g)) return reduceScatterRing(p, g, part);
  const Hierarchy h(g);
  const Shares shares{h};
  for (int k = shares.most() - 1; k > 0; --k) {
    auto others = stage<kPartial | kForward>(p, h.members(), Shares::Nth{shares, k});
    reduceScatterRing(others, h.inside(), part);
  }
  auto own = stage<kPartial>(p, h.members(), Shares::Nth{shares, 0});
  reduceScatterRing(own, h.inside(), part);
  for (int k = 1; k < h.near.count; ++k) {
    const int from = shares.sharer(h.groupAfter(k));
    const Block b = part.slot(g.rank);
    k + 1 < h.near.count ? p.recvReduceOwn(b, from) : p.recvReduceOwnFinal(b, from);
  }
}

/// Barrier: every leader hears from its group, the leaders meet, and every group hears of it.
template <class Prims>
RONDO_ALGO void barrierHierarchy(Prims& p, const Group& g, const Part& part) {
  if (isFlat(g)) return barrierDissemination(p, g, part);
  const Hierarchy h(g);
  const Group in = h.inside();
  if (!h.leads()) {
    p.notify(h.leader(h.mine));
    return p.hear(h.leader(h.mine));
  }
  for (int k = 1; k < in.size; ++k) p.hear(h.member(h.mine, in.after(k)));
  auto top = stage<kWhole>(p, h.leaders());
  barrierDissemination(top, h.across(), part);
  for (int k = 1; k < in.size; ++k) p.notify(h.member(h.mine, in.after(k)));
}

}  // namespace rondo::algo
