#pragma once
// Recursive doubling and halving: in round k a rank talks to the one whose number differs in bit k.

#include "coll/algo/verbs.h"

namespace rondo::algo {

RONDO_ALGO constexpr int floorPowerOfTwo(int n) {
  int power = 1;
  while (power <= n / 2) power *= 2;
  return power;
}

/// The ranks folded to the largest power of two: the first 2 * pairs ranks work in twos, of which
/// the even one hands its data to the odd one, stands aside, and gets the result at the end.
/// Whoever works stands for neighbouring ranks, so that lower numbers here are lower ranks there.
struct Fold {
  int size;   ///< Of those that work.
  int pairs;  ///< Ranks that stand aside.
  int rank;   ///< Among those that work.
  bool aside;
  bool forTwo;  ///< This rank stands for the one before it too.

  RONDO_ALGO explicit Fold(const Group& g)
      : size(floorPowerOfTwo(g.size)),
        pairs(g.size - size),
        rank(g.rank < 2 * pairs ? g.rank / 2 : g.rank - pairs),
        aside(g.rank < 2 * pairs && g.rank % 2 == 0),
        forTwo(g.rank < 2 * pairs && g.rank % 2 == 1) {}
  /// The first of the ranks that `worker` stands for.
  RONDO_ALGO int first(int worker) const { return worker < pairs ? 2 * worker : worker + pairs; }
  /// The rank that works as `worker`.
  RONDO_ALGO int real(int worker) const { return worker < pairs ? 2 * worker + 1 : worker + pairs; }
};

/// dst = what comes and what this rank has (dst if `own`, else src), the operand of lower ranks
/// first: so both of a pair get the same bits.
template <class Prims>
RONDO_ALGO void reduceInOrder(Prims& p, Block b, const Group& g, int peer, bool own, bool last) {
  const bool mineFirst = g.rank < peer;
  if (own && last) return mineFirst ? p.reduceRecvOwnFinal(b, peer) : p.recvReduceOwnFinal(b, peer);
  if (own) return mineFirst ? p.reduceRecvOwn(b, peer) : p.recvReduceOwn(b, peer);
  if (last) return mineFirst ? p.reduceRecvCopy(b, peer) : p.recvReduceCopy(b, peer);
  mineFirst ? p.reduceRecvKeep(b, peer) : p.recvReduceKeep(b, peer);
}

/// All-reduce in log2 n exchanges of all the data (two hops more where n is no power of two): the
/// fewest hops that messages between two ranks allow. Every rank computes the same expression, in
/// rank order. Source: Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication
/// Operations in MPICH", 2005, section 4.5 (recursive doubling).
template <class Prims>
RONDO_ALGO void allReduceDoubling(Prims& p, const Group& g, const Part& part) {
  const Block b = part.whole();
  const Fold fold(g);
  if (g.size == 1) return p.copy(b);
  if (fold.aside) {
    p.send(b, g.rank + 1);
    return p.recv(b, g.rank + 1);
  }
  bool own = fold.forTwo;  // whether dst holds something by now
  if (own) p.recvReduceKeep(b, g.rank - 1);
  for (int bit = 1; bit < fold.size; bit *= 2, own = true) {
    const int peer = fold.real(fold.rank ^ bit);
    own ? p.sendOwn(b, peer) : p.send(b, peer);
    reduceInOrder(p, b, g, peer, own, 2 * bit == fold.size);
  }
  if (fold.forTwo) p.sendOwn(b, g.rank - 1);
}

/// All-reduce by recursive halving and doubling (Rabenseifner's): a reduce-scatter whose exchanges
/// halve, then an all-gather whose exchanges double; log2 n rounds each, and the least possible
/// data. The part has as many blocks as ranks work. A message is one block and two may wait, so a
/// round of m blocks takes (m + 1) / 2 hops. Source: Thakur, Rabenseifner and Gropp, 2005, section
/// 4.5 (Rabenseifner's algorithm).
template <class Prims>
RONDO_ALGO void allReduceHalving(Prims& p, const Group& g, const Part& part) {
  const Fold fold(g);
  const int blocks = fold.size, before = g.rank - 1, after = g.rank + 1;
  if (g.size == 1) return p.copy(part.at(0));
  if (fold.aside) {
    for (int j = 0; j < blocks; ++j) p.send(part.at(j), after);
    for (int j = 0; j < blocks; ++j) p.recv(part.at(j), after);
    return;
  }
  bool own = fold.forTwo;
  for (int j = 0; own && j < blocks; ++j) p.recvReduceKeep(part.at(j), before);
  int mine = 0;  // blocks [mine, mine + 2 * half) are still this rank's
  for (int half = blocks / 2; half >= 1; half /= 2, own = true) {
    const int peer = fold.real(fold.rank ^ half);
    const bool upper = (fold.rank & half) != 0;
    const int theirs = upper ? mine : mine + half;
    if (upper) mine += half;
    for (int j = 0; j <= half; ++j) {
      if (j < half) own ? p.sendOwn(part.at(theirs + j), peer) : p.send(part.at(theirs + j), peer);
      if (j == 0) continue;
      const Block b = part.at(mine + j - 1);
      if (half > 1) {
        own ? p.recvReduceOwn(b, peer) : p.recvReduceKeep(b, peer);
      } else {
        own ? p.recvReduceOwnFinal(b, peer) : p.recvReduceCopy(b, peer);
      }
    }
  }
  for (int held = 1; held < blocks; held *= 2) {
    const int peer = fold.real(fold.rank ^ held), first = fold.rank & ~(held - 1);
    for (int j = 0; j <= held; ++j) {
      if (j < held) p.sendOwn(part.at(first + j), peer);
      if (j > 0) p.recv(part.at((first ^ held) + j - 1), peer);
    }
  }
  for (int j = 0; fold.forTwo && j < blocks; ++j) p.sendOwn(part.at(j), before);
}

/// All-gather by recursive doubling: log2 n exchanges, each of all the slots that both have by
/// then (and where n is no power of two, one before and one after). Two messages may wait, so an
/// exchange of m slots takes (m + 1) / 2 hops. Source: Thakur, Rabenseifner and Gropp, 2005,
/// section 4.1.
template <class Prims>
RONDO_ALGO void allGatherDoubling(Prims& p, const Group& g, const Part& part) {
  const Fold fold(g);
  const int n = g.size, rank = g.rank, before = rank - 1, after = rank + 1;
  if (n == 1) return p.copy(part.slot(0));
  if (fold.aside) {
    p.copySend(part.slot(rank), after);
    for (int s = 0; s < n; ++s) {
      if (s != rank) p.recv(part.slot(s), after);
    }
    return;
  }
  if (fold.forTwo) p.recv(part.slot(before), before);
  for (int held = 1; held < fold.size; held *= 2) {
    const int first = fold.rank & ~(held - 1), peer = fold.real(fold.rank ^ held);
    const int mine = fold.first(first), mineEnd = fold.first(first + held);
    const int theirs = fold.first(first ^ held), theirsEnd = fold.first((first ^ held) + held);
    for (int j = 0; mine + j < mineEnd || theirs + j - 1 < theirsEnd; ++j) {
      const int s = mine + j;
      if (s < mineEnd) {
        held == 1 && s == rank ? p.copySend(part.slot(s), peer) : p.sendOwn(part.slot(s), peer);
      }
      if (j > 0 && theirs + j - 1 < theirsEnd) p.recv(part.slot(theirs + j - 1), peer);
    }
  }
  for (int s = 0; fold.forTwo && s < n; ++s) {
    if (s != before) p.sendOwn(part.slot(s), before);
  }
}

/// Scan in ceil(log2 n) rounds: in round k a rank takes in what the rank 2^k before it has, which
/// stands for the 2^k ranks up to that one. Source: Hillis and Steele, "Data Parallel Algorithms",
/// 1986, "Sum of an array of numbers".
template <class Prims>
RONDO_ALGO void scanDoubling(Prims& p, const Group& g, const Part& part) {
  const Block b = part.whole();
  const int n = g.size, rank = g.rank;
  if (n == 1) return p.copy(b);
  if (rank == 0) {
    p.copySend(b, 1);
  } else {
    if (rank + 1 < n) p.send(b, rank + 1);
    p.recvReduceKeep(b, rank - 1);
  }
  for (int far = 2; far < n; far *= 2) {
    if (rank + far < n) p.sendOwn(b, rank + far);
    if (rank >= far) p.recvReduceOwn(b, rank - far);
  }
}

/// Exclusive scan in 1 + ceil(log2 (n - 1)) rounds: everyone hands its data to the next rank, and
/// the ranks from 1 on scan what they got.
template <class Prims>
RONDO_ALGO void exscanDoubling(Prims& p, const Group& g, const Part& part) {
  const Block b = part.whole();
  const int n = g.size, rank = g.rank;
  if (rank + 1 < n) p.send(b, rank + 1);
  if (rank == 0) return;
  p.recv(b, rank - 1);
  for (int far = 1; far < n - 1; far *= 2) {
    if (rank + far < n) p.sendOwn(b, rank + far);
    if (rank > far) p.recvReduceOwn(b, rank - far);
  }
}

}  // namespace rondo::algo
