#pragma once
// The two vocabularies. An executor derives from Primitives or Windows (or both) and implements the
// few operations they are made of; algorithms call the named verbs.

#include "coll/algo/base.h"

namespace rondo::algo {

/// What a move takes part in. Recv + Src reduces the two; Final marks the reduction that completes
/// a value, where rondoAvg divides and 16-bit results are rounded for good.
enum Bits : int { kRecv = 1, kSrc = 2, kDst = 4, kSend = 8, kFinal = 16 };

/// Hop by hop: a block comes from one neighbour, is combined or kept, and goes to another.
/// `Executor` implements
///   template <int bits> void move(Block block, int from, int to);
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
  RONDO_ALGO void recvReduceSend(Block b, int from, int to) {
    self().template move<kRecv | kSrc | kSend>(b, from, to);
  }
  RONDO_ALGO void recvReduceCopy(Block b, int from) {
    self().template move<kRecv | kSrc | kDst | kFinal>(b, from, -1);
  }
  RONDO_ALGO void recvReduceCopySend(Block b, int from, int to) {
    self().template move<kRecv | kSrc | kDst | kSend | kFinal>(b, from, to);
  }

 private:
  RONDO_ALGO Executor& self() { return *static_cast<Executor*>(this); }
};

/// As a destination: every other rank gets the same bytes.
constexpr int kEveryone = -1;

/// Which of a rank's two staging rooms: what a peer put for this rank alone, or what it put for
/// everyone.
enum class Room : unsigned char { Pair, All };

/// Windows are memory that peers can address. The verbs, implemented by the executor:
///   put(block, to)            src's block into my place in the Pair room of `to`, or in everyone's
///   All room signal(to)                what I put for `to` (or everyone) since the last signal may
///   be read wait(from, room)          until `from` has signalled what it put there reduce(block,
///   room)       dst = op over all ranks, in rank order, of what they put in that room; mine is src
///   reducePut(block, room)    the same, and the result goes into everyone's All room as well
///   fetch(block, from, room)  dst = what `from` put there
///   copy(block)               dst = src
///   barrier()                 until every rank is here
/// A place may be put again only after its reader has read it. Executors with credits see to it; on
/// those without, an algorithm is sound only if its own exchange implies it for two alternating
/// places (the verifier checks).
struct Windows {};

}  // namespace rondo::algo
