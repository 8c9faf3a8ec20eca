#pragma once
// The words an algorithm is written in: ranks, blocks of elements, and how a buffer is cut into
// them. This folder includes nothing outside itself, because every header here is compiled both by
// nvcc, into kernels, and by the host compiler, into plans.

#if defined(__CUDACC__)
#define RONDO_ALGO __device__ __forceinline__
#else
#define RONDO_ALGO inline
#endif

namespace rondo::algo {

using Count = unsigned long long;

/// Elements [offset, offset + count) of one slot of the call's buffers. Empty blocks are skipped by
/// sender and receiver alike.
///
/// Where a collective gives every rank a part of its own (all-gather, reduce-scatter, all-to-all,
/// gather, scatter), a buffer is n slots, slot r being rank r's, and offsets count from the slot's
/// begin. A buffer with one part only, as all-gather's src, is that slot of it: its own slot. Other
/// collectives have slot 0 alone.
///
/// A block may be the same elements of several slots, `slots` of them from `slot` on, each `stride`
/// after the one before: one message, in which they follow each other. Such blocks are copied, sent
/// and received, no more.
struct Block {
  Count offset;
  Count count;  ///< Of each slot.
  int slot = 0;
  int slots = 1;
  int stride = 1;
};

/// Which ranks lie close together: groups of ranks, numbered by their first rank. With less than
/// two of them nothing is known.
struct Placement {
  int count = 0;
  const int* of = nullptr;     ///< By rank: its group.
  const int* place = nullptr;  ///< By rank: its place in its group.
  const int* ranks = nullptr;  ///< Group after group, its ranks ascending...
  const int* begin = nullptr;  ///< ... which begin here; `count` + 1 entries.
};

/// The ranks of a collective as one of them sees it, closed to a ring in rank order.
struct Group {
  int rank;
  int size;
  int root;
  Placement near = {};  ///< For hierarchies (algo/hierarchy.h).
  RONDO_ALGO int next() const { return after(1); }
  RONDO_ALGO int prev() const { return before(1); }
  /// The rank k places further round the ring, 0 <= k <= size.
  RONDO_ALGO int after(int k) const { return rank + k < size ? rank + k : rank + k - size; }
  /// The rank k places back, 0 <= k <= size.
  RONDO_ALGO int before(int k) const { return rank - k >= 0 ? rank - k : rank - k + size; }
};

/// What one lane treats in one period: `count` elements from `offset`, cut into blocks of `block`
/// elements of which the last ones may be short or empty.
struct Part {
  Count offset;
  Count count;
  Count block;
  int lane = 0;
  Count most = 0;  ///< Elements of the longest message; 0: a message is not more than a block.
  RONDO_ALGO Block at(int index) const {
    const Count begin = static_cast<Count>(index) * block;
    if (begin >= count) return Block{offset, 0};
    return Block{offset + begin, count - begin < block ? count - begin : block};
  }
  RONDO_ALGO Block whole() const { return Block{offset, count}; }
  /// The same elements of slot r.
  RONDO_ALGO Block slot(int r) const { return Block{offset, count, r}; }
  /// Of how many slots these elements fit a message; at least 1.
  RONDO_ALGO int slotsOfMessage() const {
    const Count fit = count == 0 ? 1 : most / count;
    constexpr Count kMany = 1 << 30;
    return fit < 1 ? 1 : static_cast<int>(fit < kMany ? fit : kMany);
  }
};

/// How a call's elements are cut: a period is lanes x blocks x chunk elements; full periods repeat,
/// and what is left makes one shorter period with evenly smaller blocks.
struct Geometry {
  Count count;  ///< Elements of the whole call, or of a slot.
  int lanes;    ///< Concurrent sub-programs (channels).
  int blocks;   ///< Blocks a lane cuts a period into.
  Count chunk;  ///< Elements of a block in a full period.
  Count align;  ///< Blocks of the last period are multiples of this many elements, but for the last
                ///< one.
  RONDO_ALGO Count period() const { return static_cast<Count>(lanes) * blocks * chunk; }
  RONDO_ALGO Count fullPeriods() const { return count / period(); }
};

/// The part of `lane` in a full period, relative to the period's first element.
RONDO_ALGO Part fullPart(const Geometry& g, int lane) {
  const Count per = static_cast<Count>(g.blocks) * g.chunk;
  return Part{static_cast<Count>(lane) * per, per, g.chunk, lane, g.chunk};
}

/// The part of `lane` in the last, shorter period, relative to that period's first element; its
/// count may be 0.
RONDO_ALGO Part lastPart(const Geometry& g, int lane) {
  const Count left = g.count - g.fullPeriods() * g.period();
  const Count cuts = static_cast<Count>(g.lanes) * g.blocks;
  Count block = (left + cuts - 1) / cuts;
  block = (block + g.align - 1) / g.align * g.align;
  if (block > g.chunk) block = g.chunk;
  const Count per = static_cast<Count>(g.blocks) * block;
  const Count begin = static_cast<Count>(lane) * per;
  if (begin >= left) return Part{0, 0, block, lane, g.chunk};
  return Part{begin, left - begin < per ? left - begin : per, block, lane, g.chunk};
}

}  // namespace rondo::algo
