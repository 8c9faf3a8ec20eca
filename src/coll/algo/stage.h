#pragma once
// A stage of a composed algorithm: an executor on which any algorithm runs among some of the ranks,
// with some of the data, and between others.

#include "coll/algo/verbs.h"

namespace rondo::algo {

/// What a stage makes of an algorithm's bits.
enum StageKind : int {
  kWhole = 0,
  kPartial = 1,  ///< Later stages go on with what it reduces: nothing is final.
  kKept = 2,     ///< dst holds src's data already: it is not copied there.
  kHeld = 6,     ///< As kKept, and what dst holds takes src's place.
  kForward = 8   ///< What would be kept of a slot goes to that slot's rank.
};

RONDO_ALGO constexpr int stageBits(int kind, int bits) {
  if ((kind & kPartial) != 0) bits &= ~kFinal;
  const bool copies = (bits & kSrc) != 0 && (bits & kRecv) == 0;
  if ((kind & kKept) != 0 && copies) bits &= ~kDst;
  if ((kind & kHeld) == kHeld && (bits & kSrc) != 0) bits = (bits & ~kSrc) | kOwn;
  if ((kind & kForward) != 0 && (bits & kDst) != 0) bits = (bits & ~kDst) | kSend;
  return bits;
}

/// Slots are what they are.
struct SameBlock {
  RONDO_ALGO Block operator()(Block b) const { return b; }
};

/// The algorithm counts the ranks of the stage from 0: ranks(number) is the real one. What it calls
/// slot s of a block is blocks(block).
template <int kind, class Prims, class Ranks, class Blocks>
class Stage : public Primitives<Stage<kind, Prims, Ranks, Blocks>> {
 public:
  RONDO_ALGO Stage(Prims& prims, const Ranks& ranks, const Blocks& blocks)
      : prims_(prims), ranks_(ranks), blocks_(blocks) {}

  template <int bits>
  RONDO_ALGO void move(Block block, int from, int to) {
    constexpr int now = stageBits(kind, bits);
    if constexpr (does(now) || !does(bits)) {
      const Block b = blocks_(block);
      const bool forwards = (kind & kForward) != 0 && (bits & kDst) != 0;
      prims_.template move<now>(b, rank(from), forwards ? b.slot : rank(to));
    }
  }
  template <int bits>
  RONDO_ALGO void move2(Block block, int from, int from2, int to) {
    static_assert((kind & kForward) == 0, "no algorithm needs it");
    prims_.template move2<stageBits(kind, bits)>(blocks_(block), rank(from), rank(from2), rank(to));
  }

 private:
  RONDO_ALGO static constexpr bool does(int bits) { return (bits & (kDst | kSend)) != 0; }
  RONDO_ALGO int rank(int number) const { return number < 0 ? number : ranks_(number); }

  Prims& prims_;
  Ranks ranks_;
  Blocks blocks_;
};

template <int kind, class Prims, class Ranks, class Blocks = SameBlock>
RONDO_ALGO Stage<kind, Prims, Ranks, Blocks> stage(Prims& prims, const Ranks& ranks,
                                                   const Blocks& blocks = {}) {
  return {prims, ranks, blocks};
}

}  // namespace rondo::algo
