#pragma once
// Sends and receives: what two ranks do for a block that one of them has and the other one wants.

#include "coll/algo/verbs.h"

namespace rondo::algo {

/// A rank's part in a transfer; a rank that sends to itself copies.
enum class Side : int { Sends, Receives, Copies };

/// One block of a transfer with `peer`. Blocks of a pair of ranks follow each other in order, on
/// each lane by itself; what is done for different pairs, and for the two directions of one, is
/// independent, so that transfers cannot wait for each other in a circle.
template <class Prims>
RONDO_ALGO void transferBlock(Prims& p, Side side, Block block, int peer) {
  if (side == Side::Sends) return p.send(block, peer);
  if (side == Side::Receives) return p.recv(block, peer);
  p.copy(block);
}

}  // namespace rondo::algo
