#pragma once
// The two vocabularies. An executor derives from Primitives or Windows (or both) and implements the
// few operations they are made of; algorithms call the named verbs.

#include "coll/algo/base.h"

namespace rondo::algo {

/// What a move takes part in. Recv + Src reduces the two; Final marks the reduction that completes
/// a value, where rondoAvg divides and 16-bit results are rounded for good.
/// Own takes what this rank's dst holds by now in place of src. Before writes into dst what was
/// received, before the reduction with src that is sent on. First makes what this rank has the
/// first operand of two, not the last.
enum Bits : int {
  kRecv = 1,
  kSrc = 2,
  kDst = 4,
  kSend = 8,
  kFinal = 16,
  kOwn = 32,
  kBefore = 64,
  kFirst = 128
};

/// What a move sends is what it keeps: a value that is complete, and that whoever takes it keeps as
/// well. Such values may be written into the taker's dst, if it has said where that is, instead of
/// into staging (an algorithm that is `straight` in the registry).
RONDO_ALGO constexpr bool sendsKept(int bits) {
  const bool partial = (bits & kRecv) != 0 && (bits & kSrc) != 0 && (bits & kFinal) == 0;
  return (bits & kSend) != 0 && (bits & kDst) != 0 && (bits & kBefore) == 0 && !partial;
}
/// The other side of it: what comes is kept as it is.
RONDO_ALGO constexpr bool takesKept(int bits) {
  return (bits & kRecv) != 0 && (bits & kDst) != 0 && (bits & (kSrc | kOwn)) == 0;
}

/// Hop by hop: a block comes from one neighbour, is combined or kept, and goes to another.
/// `Executor` implements
///   template <int bits> void move(Block block, int from, int to);
///   template <int bits> void move2(Block block, int from, int from2, int to);
/// the second one for algorithms that join two neighbours' blocks in one step.
template <class Executor>
class Primitives {
 public:
  RONDO_ALGO void copy(Block b) { self().template move<kSrc | kDst>(b, -1, -1); }
  RONDO_ALGO void send(Block b, int to) { self().template move<kSrc | kSend>(b, -1, to); }
  RONDO_ALGO void copySend(Block b, int to) {
    self().template move<kSrc | kDst | kSend>(b, -1, to);
  }
  RONDO_ALGO void recv(Block b, int from) { self().template move<kRecv | kDst>(b, from, -1); }
  RONDO_ALGO void recvCopySend(Block b, int from, int to) {
    self().template move<kRecv | kDst | kSend>(b, from, to);
  }
  /// Passes on what is not this rank's.
  RONDO_ALGO void recvSend(Block b, int from, int to) {
    self().template move<kRecv | kSend>(b, from, to);
  }
  /// Sends what dst holds by now.
  RONDO_ALGO void sendOwn(Block b, int to) { self().template move<kOwn | kSend>(b, -1, to); }
  RONDO_ALGO void recvReduceSend(Block b, int from, int to) {
    self().template move<kRecv | kSrc | kSend>(b, from, to);
  }
  RONDO_ALGO void recvReduceCopy(Block b, int from) {
    self().template move<kRecv | kSrc | kDst | kFinal>(b, from, -1);
  }
  RONDO_ALGO void recvReduceCopySend(Block b, int from, int to) {
    self().template move<kRecv | kSrc | kDst | kSend | kFinal>(b, from, to);
  }
  /// Partial results: dst = received op src, dst = received op dst; the second one completes it.
  RONDO_ALGO void recvReduceKeep(Block b, int from) {
    self().template move<kRecv | kSrc | kDst>(b, from, -1);
  }
  RONDO_ALGO void recvReduceOwn(Block b, int from) {
    self().template move<kRecv | kOwn | kDst>(b, from, -1);
  }
  RONDO_ALGO void recvReduceOwnFinal(Block b, int from) {
    self().template move<kRecv | kOwn | kDst | kFinal>(b, from, -1);
  }
  /// The same and recvReduceCopy with the operands in the other order: dst = src op received, dst =
  /// dst op received. For ranks that reduce the same values each and want the same bits.
  RONDO_ALGO void reduceRecvCopy(Block b, int from) {
    self().template move<kRecv | kSrc | kDst | kFinal | kFirst>(b, from, -1);
  }
  RONDO_ALGO void reduceRecvKeep(Block b, int from) {
    self().template move<kRecv | kSrc | kDst | kFirst>(b, from, -1);
  }
  RONDO_ALGO void reduceRecvOwn(Block b, int from) {
    self().template move<kRecv | kOwn | kDst | kFirst>(b, from, -1);
  }
  RONDO_ALGO void reduceRecvOwnFinal(Block b, int from) {
    self().template move<kRecv | kOwn | kDst | kFinal | kFirst>(b, from, -1);
  }
  /// For scans: what is passed on is not final.
  RONDO_ALGO void recvReduceKeepSend(Block b, int from, int to) {
    self().template move<kRecv | kSrc | kDst | kSend>(b, from, to);
  }
  RONDO_ALGO void recvCopyReduceSend(Block b, int from, int to) {
    self().template move<kRecv | kSrc | kDst | kSend | kBefore>(b, from, to);
  }
  /// Without data: `to` hears that this rank has come so far.
  RONDO_ALGO void notify(int to) { self().template move<kSend>(Block{0, 0}, -1, to); }
  RONDO_ALGO void hear(int from) { self().template move<kRecv>(Block{0, 0}, from, -1); }
  /// Joins: received op received2 op src.
  RONDO_ALGO void recv2ReduceSend(Block b, int from, int from2, int to) {
    self().template move2<kRecv | kSrc | kSend>(b, from, from2, to);
  }
  RONDO_ALGO void recv2ReduceCopy(Block b, int from, int from2) {
    self().template move2<kRecv | kSrc | kDst | kFinal>(b, from, from2, -1);
  }
  RONDO_ALGO void recv2ReduceCopySend(Block b, int from, int from2, int to) {
    self().template move2<kRecv | kSrc | kDst | kSend | kFinal>(b, from, from2, to);
  }

 private:
  RONDO_ALGO Executor& self() { return *static_cast<Executor*>(this); }
};

/// As a destination: every other rank gets the same bytes. A type of its own, so that a kernel's
/// put() knows it when it is compiled.
enum Everyone : int { kEveryone = -1 };

/// Which of a rank's two staging rooms: what a peer put for this rank alone, or what it put for
/// everyone.
enum class Room : unsigned char { Pair, All };

/// Windows are memory that peers can address. The verbs, implemented by the executor:
///   put(block, to)            src's block into my place in the Pair room of `to`, or in everyone's
///   All room signal(to)                what I put for `to` (or everyone) since the last signal may
///   be read wait(from, room)          until `from` has signalled what it put there reduce(block,
///   room)       dst = op over all ranks, in rank order, of what they put in that room; mine is src
///   reduceRange(block, room, lo, hi)  the same over ranks [lo, hi) alone; what the others put is
///   dropped. With lo == hi dst is left alone.
///   reducePut(block, room)    the same as reduce, and the result goes into everyone's All room too
///   reducePutTo(block, room, to)  the result goes to the Pair room of `to` alone, not into dst
///   fetch(block, from, room)  dst = what `from` put there
///   copy(block)               dst = src
///   barrier()                 until every rank is here
/// A place may be put again only after its reader has read it. Executors with credits see to it; on
/// those without, an algorithm is sound only if its own exchange implies it for two alternating
/// places (the verifier checks).
struct Windows {};

}  // namespace rondo::algo
