// The collectives of instantiate_windows.cu once more, for the numbers of GPUs that hosts have
// most: with unrolled loops over peers.

#include "coll/algo/window.h"
#include "coll/algo/window_slots.h"
#include "kernels/impl/standing.h"

namespace rondo {
namespace {

RONDO_ALGORITHM(AllReduceOneShot, allReduceOneShot);
RONDO_ALGORITHM(AllReduceTwoShot, allReduceTwoShot);
RONDO_ALGORITHM(ReduceScatter, reduceScatterDirect);
RONDO_ALGORITHM(AllGather, allGatherDirect);
RONDO_ALGORITHM(AllToAll, allToAllDirect);
RONDO_ALGORITHM(Reduce, reduceOneShot);
RONDO_ALGORITHM(Broadcast, broadcastOneShot);

using Line = ProtocolLL128<15>;
using EvenLine = ProtocolLL128<14>;  // no 16-byte element is cut in two
constexpr Meets kHello = Meets::kByHello;

/// Those that keep what they are to put and to fetch in memory where the number is not known.
template <int kRanks>
void addWithLists(std::vector<Kernel>& rows) {
  rows.push_back(windowRow<ReduceScatter, Line, HotReducer, kRanks>("reducescatter", "direct"));
  rows.push_back(windowRow<AllGather, Line, NoReducer, kRanks>("allgather", "direct"));
  rows.push_back(windowRow<AllToAll, Line, NoReducer, kRanks>("alltoall", "direct"));
}

template <int kRanks>
void add(std::vector<Kernel>& rows) {
  addWithLists<kRanks>(rows);
  rows.push_back(
      standingRow<AllReduceOneShot, EvenLine, AnyReducer, kRanks>("allreduce", "oneshot"));
  rows.push_back(windowRow<AllReduceTwoShot, EvenLine, AnyReducer, kRanks>("allreduce", "twoshot"));
  rows.push_back(windowRow<ReduceScatter, EvenLine, AnyReducer, kRanks>("reducescatter", "direct"));
  rows.push_back(windowRow<Reduce, Line, HotReducer, kRanks, kHello>("reduce", "oneshot"));
  rows.push_back(windowRow<Broadcast, Line, NoReducer, kRanks, kHello>("broadcast", "oneshot"));
}

}  // namespace

std::vector<Kernel> rankedKernels() {
  std::vector<Kernel> rows;
  add<2>(rows);
  addWithLists<3>(rows);
  add<4>(rows);
  addWithLists<8>(rows);
  return rows;
}

}  // namespace rondo
