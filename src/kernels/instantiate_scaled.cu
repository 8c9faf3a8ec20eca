// Premultiplied sums of the usual types: one kernel multiplies and adds. Other types go through a
// kernel that only multiplies (scale.h). Large all-reduces have kernels for the numbers of GPUs
// that hosts have most: through one for any number, 16 MiB on two take 1.14 times what two kernels
// do.

#include "coll/algo/ring.h"
#include "coll/algo/window.h"
#include "coll/algo/window_slots.h"
#include "kernels/impl/entry.h"

namespace rondo {
namespace {

RONDO_ALGORITHM(OneShot, allReduceOneShot);
RONDO_ALGORITHM(TwoShot, allReduceTwoShot);
RONDO_ALGORITHM(ReduceScatter, reduceScatterDirect);
RONDO_ALGORITHM(Reduce, reduceOneShot);
RONDO_ALGORITHM(AllReduceRing, allReduceRing);
RONDO_ALGORITHM(ReduceScatterRing, reduceScatterRing);
RONDO_ALGORITHM(ReduceRing, reduceRing);

using Line = ProtocolLL128<15>;

}  // namespace

std::vector<Kernel> scaledKernels() {
  return {
      windowRow<OneShot, ProtocolLL, ScaledReducer>("allreduce", "oneshot"),
      windowRow<OneShot, Line, ScaledReducer>("allreduce", "oneshot"),
      windowRow<TwoShot, Line, ScaledReducer>("allreduce", "twoshot"),
      windowRow<TwoShot, Line, ScaledReducer, 2>("allreduce", "twoshot"),
      windowRow<TwoShot, Line, ScaledReducer, 4>("allreduce", "twoshot"),
      windowRow<TwoShot, Line, ScaledReducer, 8>("allreduce", "twoshot"),
      windowRow<ReduceScatter, Line, ScaledReducer>("reducescatter", "direct"),
      windowRow<Reduce, Line, ScaledReducer, 0, Meets::kByHello>("reduce", "oneshot"),
      ringRow<AllReduceRing, ScaledReducer>("allreduce"),
      ringRow<ReduceScatterRing, ScaledReducer>("reducescatter"),
      chainRow<ReduceRing, ScaledReducer>("reduce"),
  };
}

}  // namespace rondo
