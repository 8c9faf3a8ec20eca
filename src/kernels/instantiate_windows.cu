// The other collectives through windows, for any number of ranks, and all-reduce of any type. By LL
// those of the usual types, for links over which no line arrives whole.

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

}  // namespace

std::vector<Kernel> windowKernels() {
  return {
      standingRow<AllReduceOneShot, EvenLine, AnyReducer>("allreduce", "oneshot"),
      windowRow<AllReduceTwoShot, EvenLine, AnyReducer>("allreduce", "twoshot"),
      windowRow<ReduceScatter, Line, HotReducer>("reducescatter", "direct"),
      windowRow<ReduceScatter, EvenLine, AnyReducer>("reducescatter", "direct"),
      windowRow<AllGather, Line, NoReducer>("allgather", "direct"),
      windowRow<AllToAll, Line, NoReducer>("alltoall", "direct"),
      windowRow<Reduce, Line, HotReducer, 0, kHello>("reduce", "oneshot"),
      windowRow<Reduce, EvenLine, AnyReducer, 0, kHello>("reduce", "oneshot"),
      windowRow<Broadcast, Line, NoReducer, 0, kHello>("broadcast", "oneshot"),
      windowRow<ReduceScatter, ProtocolLL, HotReducer>("reducescatter", "direct"),
      windowRow<AllGather, ProtocolLL, NoReducer>("allgather", "direct"),
      windowRow<AllToAll, ProtocolLL, NoReducer>("alltoall", "direct"),
      windowRow<Reduce, ProtocolLL, HotReducer, 0, kHello>("reduce", "oneshot"),
      windowRow<Broadcast, ProtocolLL, NoReducer, 0, kHello>("broadcast", "oneshot"),
  };
}

}  // namespace rondo
