#pragma once
// Between groups of near ranks in few messages: the members of a group first give each other what
// goes out, so that one message carries what a rank has for another group.

#include "coll/algo/hierarchy.h"
#include "coll/algo/pairwise.h"

namespace rondo::algo {

/// Groups of one size whose ranks are numbered evenly: host by host ("0,0,1,1"), or round and round
/// ("0,1,0,1").
struct Lattice {
  int groups;
  int places;     ///< Members of each.
  int groupStep;  ///< From a rank to the one at its place in the next group.
  int placeStep;  ///< From a member to the next.

  RONDO_ALGO explicit Lattice(const Hierarchy& h)
      : groups(h.near.count),
        places(h.size(0)),
        groupStep(h.member(1, 0) - h.member(0, 0)),
        placeStep(h.size(0) > 1 ? h.member(0, 1) - h.member(0, 0) : 1) {}
  RONDO_ALGO int rank(int group, int place) const { return group * groupStep + place * placeStep; }
  /// The slots of all ranks at this place.
  RONDO_ALGO Block column(const Part& part, int place) const {
    return Block{part.offset, part.count, rank(0, place), groups, groupStep};
  }
  /// Whether all ranks are where this says.
  RONDO_ALGO bool holds(const Hierarchy& h) const {
    for (int group = 0; group < groups; ++group) {
      if (h.size(group) != places) return false;
      for (int place = 0; place < places; ++place) {
        if (h.member(group, place) != rank(group, place)) return false;
      }
    }
    return true;
  }
};

/// Swaps several slots with each of a number of peers, in place: what goes to a peer leaves before
/// what it sends takes its place. Peer k of them, 0 < k < `peers`, is the k-th after this rank to
/// send to and the k-th before it to hear from.
struct Swap {
  int peers;   ///< And this rank.
  int slots;   ///< For each peer, from its first one on...
  int stride;  ///< ... one after that many.
  int each;    ///< As many of them as a message carries.

  RONDO_ALGO int messages() const { return (slots + each - 1) / each; }
  RONDO_ALGO Block block(const Part& part, int first, int message) const {
    const int begin = message * each;
    const int count = slots - begin < each ? slots - begin : each;
    return Block{part.offset, part.count, first + begin * stride, count, stride};
  }
  /// send(k, message) and recv(k, message), in an order in which at most two messages are on their
  /// way between two ranks.
  template <class Send, class Recv>
  RONDO_ALGO void run(const Send& send, const Recv& recv) const {
    for (int message = 0; message <= messages(); ++message) {
      for (int k = 1; k < peers && message < messages(); ++k) send(k, message);
      for (int k = 1; k < peers && message > 0; ++k) recv(k, message - 1);
    }
  }
};

/// All-gather of short slots: every rank gives its slot to the ranks at its place in the other
/// groups, so that it holds one of each group, and all of these to the members of its own group, in
/// one message each. Slots of which not all fit a message, and ranks that are not numbered evenly,
/// go by allGatherHierarchy().
template <class Prims>
RONDO_ALGO void allGatherColumns(Prims& p, const Group& g, const Part& part) {
  if (isFlat(g)) return allGatherHierarchy(p, g, part);
  const Hierarchy h(g);
  const Lattice all(h);
  const bool fits = all.places > 1 && part.slotsOfMessage() >= all.groups;
  if (!fits || !all.holds(h)) return allGatherHierarchy(p, g, part);
  for (int k = 1; k < all.groups; ++k) {
    const int to = all.rank(h.groupAfter(k), h.place);
    k == 1 ? p.copySend(part.slot(g.rank), to) : p.send(part.slot(g.rank), to);
  }
  for (int k = 1; k < all.groups; ++k) {
    const int from = all.rank(h.groupAfter(all.groups - k), h.place);
    p.recv(part.slot(from), from);
  }
  for (int k = 1; k < all.places; ++k) {
    p.sendOwn(all.column(part, h.place), all.rank(h.mine, (h.place + k) % all.places));
  }
  for (int k = 1; k < all.places; ++k) {
    const int from = (h.place + all.places - k) % all.places;
    p.recv(all.column(part, from), all.rank(h.mine, from));
  }
}

/// All-to-all by way of the own group's members. Members l and r of a group swap what l has for the
/// r-th rank of each group and r for the l-th: then l holds what its group has for all l-th ranks,
/// and the l-th ranks of two groups swap that. A group of m ranks sends m messages to each other
/// group, not m x m. What goes out lies in dst until then. Ranks that are not numbered evenly (see
/// Lattice) exchange pairwise. Source: Traff and Rougier, "MPI Collectives and Datatypes for
/// Hierarchical All-to-all Communication", 2014; its datatypes are blocks of several slots here.
template <class Prims>
RONDO_ALGO void allToAllHierarchy(Prims& p, const Group& g, const Part& part) {
  if (isFlat(g)) return allToAllPairwise(p, g, part);
  const Hierarchy h(g);
  const Lattice all(h);
  if (all.places < 2 || !all.holds(h)) return allToAllPairwise(p, g, part);
  const auto fit = [&part](int slots) {
    return part.slotsOfMessage() < slots ? part.slotsOfMessage() : slots;
  };
  p.copy(all.column(part, h.place));

  const Swap inside{all.places, all.groups, all.groupStep, fit(all.groups)};
  inside.run(
      [&](int k, int message) {
        const int to = (h.place + k) % all.places;
        p.send(inside.block(part, all.rank(0, to), message), all.rank(h.mine, to));
      },
      [&](int k, int message) {
        const int from = (h.place + all.places - k) % all.places;
        p.recv(inside.block(part, all.rank(0, from), message), all.rank(h.mine, from));
      });

  const Swap across{all.groups, all.places, all.placeStep, fit(all.places)};
  across.run(
      [&](int k, int message) {
        const int to = h.groupAfter(k);
        p.sendOwn(across.block(part, all.rank(to, 0), message), all.rank(to, h.place));
      },
      [&](int k, int message) {
        const int from = h.groupAfter(all.groups - k);
        p.recv(across.block(part, all.rank(from, 0), message), all.rank(from, h.place));
      });
}

}  // namespace rondo::algo
