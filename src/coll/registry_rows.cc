// The registry's rows.

#include "coll/algo/aggregate.h"
#include "coll/algo/barrier.h"
#include "coll/algo/bruck.h"
#include "coll/algo/hierarchy.h"
#include "coll/algo/knomial.h"
#include "coll/algo/pairwise.h"
#include "coll/algo/pat.h"
#include "coll/algo/recursive.h"
#include "coll/algo/ring.h"
#include "coll/algo/scan.h"
#include "coll/algo/tree.h"
#include "coll/algo/window.h"
#include "coll/algo/window_slots.h"
#include "coll/recorder.h"
#include "coll/registry.h"

namespace rondo {
namespace {

int oneBlock(int) { return 1; }
int blockPerRank(int ranks) { return ranks; }
int blockPerWorker(int ranks) { return algo::floorPowerOfTwo(ranks); }
constexpr int kTreeBlocks = 8;
int treeBlocks(int) { return kTreeBlocks; }

int noFill(int) { return 0; }
int chainFill(int ranks) { return ranks > 2 ? ranks - 2 : 0; }
int log2Floor(int n) { return n < 2 ? 0 : 1 + log2Floor(n / 2); }
/// Up and down the tree, of which most ranks wait twice, and leaves once.
int upAndDownFill(int ranks) { return ranks < 4 ? log2Floor(ranks) : 2 * log2Floor(ranks) - 2; }
/// Where two ranks that stand for two are the farthest apart, the one that stood aside first waits
/// once more than anyone who works.
int foldFill(int ranks) {
  const int workers = algo::floorPowerOfTwo(ranks);
  return 2 * (ranks - workers) > workers ? 1 : 0;
}
/// A rank is its own peer once, in another round than the others.
int tournamentFill(int ranks) { return ranks > 2 ? 1 : 0; }
/// Past the root: the others' tree.
int twoTreeFill(int ranks) { return log2Floor(ranks - 1); }
/// The most digits that are not 0 in a rank's number, less one.
template <int k>
int knomialFill(int ranks) {
  int depth = 0;
  for (int ones = 1; ones < ranks; ones = ones * k + 1) ++depth;
  return depth > 1 ? depth - 1 : 0;
}

// Hierarchies.
int oneBlockOf(const GroupShape&) { return 1; }
int blockPerStripe(const GroupShape& shape) { return shape.smallest; }
int noFillOf(const GroupShape&) { return 0; }
/// Hops of a tree of two binary ones below a root.
int treeHops(int ranks) { return ranks < 2 ? 0 : 1 + log2Floor(ranks - 1); }
/// Members wait once each way, and the leaders as often as they talk: the trees' hops but one.
int upAndDownFillOf(const GroupShape& shape) { return 2 * treeHops(shape.largest) - 1; }
int downFillOf(const GroupShape& shape) {
  return treeHops(shape.groups) + treeHops(shape.largest) - 1;
}
int chainOfLeadersFillOf(const GroupShape& shape) {
  return shape.groups - 1 + treeHops(shape.largest) - 1;
}
/// The leaders' word to their groups.
int releaseFillOf(const GroupShape&) { return 1; }

constexpr Hierarchical kUpAndDown{oneBlockOf, upAndDownFillOf};
constexpr Hierarchical kStripes{blockPerStripe, noFillOf};
constexpr Hierarchical kDown{oneBlockOf, downFillOf};
constexpr Hierarchical kUp{oneBlockOf, chainOfLeadersFillOf};
constexpr Hierarchical kMeeting{oneBlockOf, releaseFillOf};
constexpr Hierarchical kShares{oneBlockOf, noFillOf};

}  // namespace

const std::vector<Algorithm>& registry() {
  using C = Collective;
  static const char* const aggregate = "coll/algo/aggregate.h";
  static const char* const bruck = "coll/algo/bruck.h";
  static const char* const knomial = "coll/algo/knomial.h";
  static const char* const pairwise = "coll/algo/pairwise.h";
  static const char* const pat = "coll/algo/pat.h";
  static const char* const recursive = "coll/algo/recursive.h";
  static const char* const tree = "coll/algo/tree.h";
  static const char* const window = "coll/algo/window.h";
  static const char* const slots = "coll/algo/window_slots.h";
  static const char* const ring = "coll/algo/ring.h";
  static const char* const hier = "coll/algo/hierarchy.h";
  static const char* const scan = "coll/algo/scan.h";
  static const std::vector<Algorithm> rows = {
      {"oneshot", C::AllReduce, oneBlock, algo::allReduceOneShot<Recorder>, false, noFill, true,
       window, true},
      {"twoshot", C::AllReduce, blockPerRank, algo::allReduceTwoShot<Recorder>, true, noFill, true,
       window, true},
      {"ring", C::AllReduce, blockPerRank, algo::allReduceRing<Recorder>, true, noFill, true, ring,
       false, false, false, nullptr, true},
      {"doubling", C::AllReduce, oneBlock, algo::allReduceDoubling<Recorder>, false, foldFill,
       false, recursive},
      {"halving", C::AllReduce, blockPerWorker, algo::allReduceHalving<Recorder>, true, noFill,
       false, recursive},
      {"tree", C::AllReduce, oneBlock, algo::allReduceTree<1, Recorder>, true, upAndDownFill, false,
       tree},
      {"treepipe", C::AllReduce, treeBlocks, algo::allReduceTree<kTreeBlocks, Recorder>, true,
       noFill, false, tree},
      {"hier", C::AllReduce, oneBlock, algo::allReduceHierarchy<Recorder>, true, upAndDownFill,
       false, hier, false, false, false, &kUpAndDown},
      {"stripes", C::AllReduce, blockPerRank, algo::allReduceStripes<Recorder>, true, noFill, false,
       hier, false, false, false, &kStripes},
      {"ring", C::Broadcast, oneBlock, algo::broadcastRing<Recorder>, true, chainFill, true, ring,
       false, false, false, nullptr, true},
      {"oneshot", C::Broadcast, oneBlock, algo::broadcastOneShot<Recorder>, true, noFill, true,
       window, false, false, true},
      {"tree", C::Broadcast, oneBlock, algo::broadcastTree<Recorder>, true, twoTreeFill, false,
       tree},
      {"binomial", C::Broadcast, oneBlock, algo::broadcastKnomial<2, Recorder>, true,
       knomialFill<2>, false, knomial},
      {"knomial4", C::Broadcast, oneBlock, algo::broadcastKnomial<4, Recorder>, true,
       knomialFill<4>, false, knomial},
      {"hier", C::Broadcast, oneBlock, algo::broadcastHierarchy<Recorder>, true, twoTreeFill, false,
       hier, false, false, false, &kDown},
      {"oneshot", C::Barrier, oneBlock, algo::barrierOneShot<Recorder>, true, noFill, false,
       window},
      {"dissemination", C::Barrier, oneBlock, algo::barrierDissemination<Recorder>, true, noFill,
       false, "coll/algo/barrier.h"},
      {"hier", C::Barrier, oneBlock, algo::barrierHierarchy<Recorder>, true, noFill, false, hier,
       false, false, false, &kMeeting},
      {"oneshot", C::Reduce, oneBlock, algo::reduceOneShot<Recorder>, true, noFill, true, window,
       true, false, true},
      {"twoshot", C::Reduce, blockPerRank, algo::reduceTwoShot<Recorder>, true, noFill, false,
       window, true},
      {"ring", C::Reduce, oneBlock, algo::reduceRing<Recorder>, true, chainFill, true, ring},
      {"tree", C::Reduce, oneBlock, algo::reduceTree<Recorder>, true, twoTreeFill, false, tree},
      {"hier", C::Reduce, oneBlock, algo::reduceHierarchy<Recorder>, true, twoTreeFill, false, hier,
       false, false, false, &kUp},
      {"direct", C::AllGather, oneBlock, algo::allGatherDirect<Recorder>, true, noFill, true, slots,
       false, true},
      {"ring", C::AllGather, oneBlock, algo::allGatherRing<Recorder>, true, noFill, true, ring,
       false, true, false, nullptr, true},
      {"doubling", C::AllGather, oneBlock, algo::allGatherDoubling<Recorder>, true, noFill, false,
       recursive, false, true},
      {"bruck", C::AllGather, oneBlock, algo::allGatherBruck<Recorder>, true, noFill, false, bruck,
       false, true},
      {"pat", C::AllGather, oneBlock, algo::allGatherPat<Recorder>, true, noFill, false, pat, false,
       true},
      {"hier", C::AllGather, oneBlock, algo::allGatherColumns<Recorder>, true, noFill, false,
       aggregate, false, true, false, &kShares},
      {"direct", C::ReduceScatter, oneBlock, algo::reduceScatterDirect<Recorder>, true, noFill,
       true, slots, true, true},
      {"ring", C::ReduceScatter, oneBlock, algo::reduceScatterRing<Recorder>, true, noFill, true,
       ring, false, true},
      {"pairwise", C::ReduceScatter, oneBlock, algo::reduceScatterPairwise<Recorder>, true, noFill,
       false, pairwise, false, true},
      {"pat", C::ReduceScatter, oneBlock, algo::reduceScatterPat<Recorder>, true, noFill, false,
       pat, false, true},
      {"hier", C::ReduceScatter, oneBlock, algo::reduceScatterHierarchy<Recorder>, true, noFill,
       false, hier, false, true, false, &kShares},
      {"direct", C::AllToAll, oneBlock, algo::allToAllDirect<Recorder>, false, noFill, true, slots,
       false, true},
      {"pairwise", C::AllToAll, oneBlock, algo::allToAllPairwise<Recorder>, false, tournamentFill,
       false, pairwise, false, true},
      {"hier", C::AllToAll, oneBlock, algo::allToAllHierarchy<Recorder>, false, tournamentFill,
       false, aggregate, false, false, false, &kShares},
      {"direct", C::Gather, oneBlock, algo::gatherDirect<Recorder>, true, noFill, false, slots,
       false, true},
      {"binomial", C::Gather, oneBlock, algo::gatherKnomial<2, Recorder>, true, noFill, false,
       knomial},
      {"knomial4", C::Gather, oneBlock, algo::gatherKnomial<4, Recorder>, true, noFill, false,
       knomial},
      {"direct", C::Scatter, oneBlock, algo::scatterDirect<Recorder>, true, noFill, false, slots,
       false, true},
      {"binomial", C::Scatter, oneBlock, algo::scatterKnomial<2, Recorder>, true, noFill, false,
       knomial},
      {"knomial4", C::Scatter, oneBlock, algo::scatterKnomial<4, Recorder>, true, noFill, false,
       knomial},
      {"oneshot", C::Scan, oneBlock, algo::scanOneShot<Recorder>, false, noFill, true, scan, true},
      {"chain", C::Scan, oneBlock, algo::scanChain<Recorder>, true, chainFill, true, scan},
      {"doubling", C::Scan, oneBlock, algo::scanDoubling<Recorder>, false, noFill, false,
       recursive},
      {"oneshot", C::Exscan, oneBlock, algo::exscanOneShot<Recorder>, false, noFill, true, scan,
       true},
      {"chain", C::Exscan, oneBlock, algo::exscanChain<Recorder>, true, chainFill, true, scan},
      {"doubling", C::Exscan, oneBlock, algo::exscanDoubling<Recorder>, false, noFill, false,
       recursive},
  };
  return rows;
}

}  // namespace rondo
