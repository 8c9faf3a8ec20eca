// What PrimsStraight takes for granted of the rings' algorithms: who writes into a place of a
// rank's result knows that the rank is done with what was there, though nobody asks for room.

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "coll/algo/ring.h"

namespace rondo {
namespace {

struct Move {
  int bits;
  algo::Block block;
};

/// Writes down what one rank does.
struct Moves : algo::Primitives<Moves> {
  std::vector<Move> all;
  template <int bits>
  void move(algo::Block block, int, int) {
    if (block.count > 0) all.push_back({bits, block});
  }
};

using Clock = std::vector<size_t>;          // by rank: how many of its moves are over
using Place = std::pair<int, algo::Count>;  // of a rank's result

/// Lets all ranks do their moves, and says before how many writes into its result a rank might have
/// been slow to do what it does there before it takes what is written. Clocks say what a writer
/// knows in every order of events.
template <class Run>
int unreadyWrites(int size, Run run, int root = 0) {
  std::vector<Moves> ranks(static_cast<size_t>(size));
  for (int r = 0; r < size; ++r) {
    const algo::Group group{r, size, root};
    for (algo::Count period = 0; period < 3; ++period) {
      const auto n = static_cast<algo::Count>(size);
      run(ranks[static_cast<size_t>(r)], group, algo::Part{period * 4 * n, 4 * n, 4});
    }
  }
  int unready = 0;
  std::vector<Clock> clock(ranks.size(), Clock(ranks.size(), 0));
  std::vector<std::vector<Clock>> sent(ranks.size());
  std::vector<size_t> at(ranks.size(), 0), heard(ranks.size(), 0);
  std::vector<std::map<Place, size_t>> touched(ranks.size());  // each place's last move so far
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t r = 0; r < ranks.size(); ++r) {
      if (at[r] == ranks[r].all.size()) continue;
      const Move& move = ranks[r].all[at[r]];
      const size_t prev = (r + ranks.size() - 1) % ranks.size();
      size_t& last = touched[r][{move.block.slot, move.block.offset}];
      Clock& mine = clock[r];
      if ((move.bits & algo::kRecv) != 0) {
        if (heard[r] == sent[prev].size()) continue;
        const Clock& told = sent[prev][heard[r]++];
        if (told[r] < last) ++unready;
        for (size_t i = 0; i < mine.size(); ++i) mine[i] = std::max(mine[i], told[i]);
      }
      moved = true;
      mine[r] = ++at[r];
      if ((move.bits & (algo::kRecv | algo::kDst)) != 0) last = mine[r];
      if ((move.bits & algo::kSend) != 0) sent[r].push_back(mine);
    }
  }
  for (size_t r = 0; r < ranks.size(); ++r) EXPECT_EQ(at[r], ranks[r].all.size()) << "stands still";
  return unready;
}

TEST(StraightRings, WriteWhereTheNextRankIsReady) {
  const auto sums = [](Moves& moves, const algo::Group& group, const algo::Part& part) {
    algo::allReduceRing(moves, group, part);
  };
  const auto gathers = [](Moves& moves, const algo::Group& group, const algo::Part& part) {
    algo::allGatherRing(moves, group, part);
  };
  for (int size = 2; size <= 8; ++size) {
    EXPECT_EQ(unreadyWrites(size, sums), 0) << "all-reduce, " << size;
    EXPECT_EQ(unreadyWrites(size, gathers), 0) << "all-gather, " << size;
  }
}

TEST(StraightRings, BroadcastsWriteWhereTheNextRankIsReady) {
  const auto broadcasts = [](Moves& moves, const algo::Group& group, const algo::Part& part) {
    algo::broadcastRing(moves, group, part);
  };
  for (int size = 2; size <= 8; ++size) {
    for (const int root : {0, size - 1})
      EXPECT_EQ(unreadyWrites(size, broadcasts, root), 0) << size;
  }
}

/// Partial results that all pass through one place need somebody to say when it is free.
TEST(StraightRings, TheTestFindsThatReduceScatterHasNoRoom) {
  const auto inOnePlace = [](Moves& moves, const algo::Group& group, const algo::Part& part) {
    Moves all;
    algo::reduceScatterRing(all, group, part);
    for (Move move : all.all) {
      move.block.slot = 0;
      moves.all.push_back(move);
    }
  };
  EXPECT_GT(unreadyWrites(3, inOnePlace), 0);
}

}  // namespace
}  // namespace rondo
