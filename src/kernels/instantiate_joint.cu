// Short collectives of a group in one launch, for any number of ranks: each block of threads is a
// lane of one of them.

#include "coll/algo/window.h"
#include "coll/algo/window_slots.h"
#include "kernels/impl/entry.h"
#include "kernels/joint_call.h"

namespace rondo {
namespace {

RONDO_ALGORITHM(AllReduce, allReduceOneShot);
RONDO_ALGORITHM(ReduceScatter, reduceScatterDirect);
RONDO_ALGORITHM(AllGather, allGatherDirect);

template <class Algorithm, class Wire, class Reducer>
__global__ void __launch_bounds__(kBlockThreads, 2)
    jointKernel(const __grid_constant__ JointWindowCall call) {
  __shared__ WindowCall own;  // as if there were no other
  device::followClosely(call.args.close);
  const uint32_t lanes = static_cast<uint32_t>(call.lanes), lane = blockIdx.x % lanes;
  const JointItem& item = call.item[blockIdx.x / lanes];
  if (threadIdx.x == 0) {
    own = WindowCall{call.window, call.args};
    const uint64_t slot = uint64_t{item.count} * item.elementBytes;
    own.args.src = item.src;
    own.args.dst = item.dst;
    own.args.elementBytes = item.elementBytes;
    own.args.reduction = item.reduction;
    own.args.srcSlot = call.srcSlots != 0 ? slot : 0;
    own.args.dstSlot = call.dstSlots != 0 ? slot : 0;
  }
  __syncthreads();
  Window<Wire, Reducer, 0> window(own, call.firstLane + static_cast<int>(blockIdx.x));
  const algo::Group group{call.args.rank, call.args.size, 0};
  const uint32_t begin = lane * item.perLane;
  const uint32_t end = begin + item.perLane < item.count ? begin + item.perLane : item.count;
#pragma unroll 1
  for (uint32_t at = begin; at < end; at += item.chunk) {
    const uint32_t left = end - at, now = left < item.chunk ? left : item.chunk;
    window.begin();
    Algorithm::run(window, group, algo::Part{at, now, now});
    window.end();
  }
  window.finish();
}

template <class Algorithm, class Wire, class Reducer>
Kernel jointRow(const char* collective) {
  return {collective,
          kJoint,
          kProtocolOf<Wire>,
          kReducesOf<Reducer>,
          0,
          kBlockThreads,
          reinterpret_cast<const void*>(&jointKernel<Algorithm, Wire, Reducer>)};
}

using Line = ProtocolLL128<15>;
using EvenLine = ProtocolLL128<14>;

}  // namespace

std::vector<Kernel> jointKernels() {
  return {
      jointRow<AllReduce, Line, HotReducer>("allreduce"),
      jointRow<AllReduce, EvenLine, AnyReducer>("allreduce"),
      jointRow<AllReduce, ProtocolLL, HotReducer>("allreduce"),
      jointRow<ReduceScatter, Line, HotReducer>("reducescatter"),
      jointRow<ReduceScatter, EvenLine, AnyReducer>("reducescatter"),
      jointRow<ReduceScatter, ProtocolLL, HotReducer>("reducescatter"),
      jointRow<AllGather, Line, NoReducer>("allgather"),
      jointRow<AllGather, ProtocolLL, NoReducer>("allgather"),
  };
}

}  // namespace rondo
