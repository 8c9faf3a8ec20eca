// How a call's elements are cut: exactly, without overlap, and as evenly as promised.

#include "coll/algo/base.h"

#include <gtest/gtest.h>

#include <vector>

namespace rondo::algo {
namespace {

/// Appends the blocks of one period in order of lanes and indices.
void append(std::vector<Block>& out, const Geometry& g, bool full, Count base) {
  for (int lane = 0; lane < g.lanes; ++lane) {
    const Part part = full ? fullPart(g, lane) : lastPart(g, lane);
    Count inPart = 0;
    for (int index = 0; index < g.blocks; ++index) {
      const Block block = part.at(index);
      inPart += block.count;
      if (block.count > 0) out.push_back(Block{base + block.offset, block.count});
    }
    EXPECT_EQ(inPart, part.whole().count);
    EXPECT_EQ(part.at(g.blocks).count, 0u) << "a lane has no more blocks than the geometry says";
  }
}

TEST(Geometry, BlocksCoverTheCallExactlyOnceInOrder) {
  int cases = 0;
  for (const int lanes : {1, 2, 3, 5}) {
    for (const int blocks : {1, 2, 3, 8}) {
      for (const Count chunk : {1, 3, 8}) {
        for (const Count align : {1, 2, 4, 16}) {
          const Count period = Geometry{0, lanes, blocks, chunk, align}.period();
          for (Count count = 0; count <= 2 * period + 3; ++count, ++cases) {
            const Geometry g{count, lanes, blocks, chunk, align};
            std::vector<Block> all;
            for (Count p = 0; p < g.fullPeriods(); ++p) append(all, g, true, p * period);
            append(all, g, false, g.fullPeriods() * period);
            Count next = 0;
            for (const Block& block : all) {
              ASSERT_EQ(block.offset, next)
                  << count << " " << lanes << " " << blocks << " " << chunk;
              ASSERT_LE(block.count, chunk);
              next += block.count;
            }
            ASSERT_EQ(next, count) << lanes << " " << blocks << " " << chunk << " " << align;
          }
        }
      }
    }
  }
  EXPECT_GT(cases, 1000);
}

TEST(Geometry, LastBlocksAreAlignedAndEven) {
  for (Count left = 1; left < 64; ++left) {
    const Geometry g{left, 2, 4, 8, 4};
    for (int lane = 0; lane < g.lanes; ++lane) {
      const Part part = lastPart(g, lane);
      EXPECT_EQ(part.block % g.align, 0u);
      EXPECT_LT(part.block, (left + 7) / 8 + g.align) << "no larger than even and aligned needs";
      for (int index = 0; index < g.blocks; ++index) {
        const Block block = part.at(index);
        if (block.count > 0 && block.offset + block.count < left) {
          EXPECT_EQ(block.count, part.block) << "only the call's last block is short";
        }
      }
    }
  }
}

TEST(Geometry, AChunkSmallerThanTheAlignmentIsKept) {
  const Geometry g{5, 1, 3, 2, 16};
  EXPECT_EQ(lastPart(g, 0).block, 2u);
}

TEST(Group, NeighboursCloseTheRing) {
  for (int size = 1; size <= 17; ++size) {
    for (int rank = 0; rank < size; ++rank) {
      const Group g{rank, size, 0};
      for (int k = 0; k <= size; ++k) {
        EXPECT_EQ(g.after(k), (rank + k) % size);
        EXPECT_EQ(g.before(k), (rank + size - k) % size);
      }
      EXPECT_EQ((Group{g.next(), size, 0}.prev()), rank);
    }
  }
}

}  // namespace
}  // namespace rondo::algo
