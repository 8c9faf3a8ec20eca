// Rings.

#include "coll/algo/ring.h"
#include "kernels/impl/entry.h"

namespace rondo {
namespace {

RONDO_ALGORITHM(AllReduce, allReduceRing);
RONDO_ALGORITHM(ReduceScatter, reduceScatterRing);
RONDO_ALGORITHM(AllGather, allGatherRing);
RONDO_ALGORITHM(Reduce, reduceRing);
RONDO_ALGORITHM(Broadcast, broadcastRing);

}  // namespace

std::vector<Kernel> ringKernels() {
  return {
      straightRow<AllReduce, HotReducer>("allreduce"),
      ringRow<AllReduce, AnyReducer>("allreduce"),
      ringRow<ReduceScatter, HotReducer>("reducescatter"),
      ringRow<ReduceScatter, AnyReducer>("reducescatter"),
      chainRow<Reduce, HotReducer>("reduce"),
      chainRow<Reduce, AnyReducer>("reduce"),
      pairRow<Reduce, HotReducer>("reduce"),
      straightRow<AllGather, NoReducer>("allgather"),
      chainRow<Broadcast, NoReducer, true>("broadcast"),
      pairRow<Broadcast, NoReducer, true>("broadcast"),
  };
}

}  // namespace rondo
