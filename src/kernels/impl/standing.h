#pragma once
// A window kernel that waits for more calls.

#include "kernels/impl/entry.h"
#include "kernels/impl/wait.h"
#include "kernels/standing_call.h"

namespace rondo {
namespace device {

__device__ __forceinline__ uint64_t join(uint32_t low, uint32_t high) {
  return low | static_cast<uint64_t>(high) << 32;
}

/// By one warp: waits for the lane's order of a number above *last, and puts it into *args, and
/// its number into *last. False: it did not come within `lingerNs`, or says that there is none.
__device__ __forceinline__ bool takeOrder(const StandingOrder& order, uint32_t* last,
                                          uint64_t lingerNs, uint32_t* words, CallArgs* args) {
  const auto* const mine =
      reinterpret_cast<const unsigned long long*>(&order.word[threadIdx.x % kOrderWords]);
  const uint64_t since = nanoseconds();
  // Acquired, so that what the host and others had written before is seen: a fence would wait for
  // this thread's stores, too.
  unsigned long long word = loadAcquire(mine);
  for (;;) {
    const auto number = static_cast<uint32_t>(word >> 32);
    const uint32_t first = __shfl_sync(~0u, number, 0);
    if (__all_sync(~0u, number == first) && static_cast<int32_t>(first - *last) > 0) {
      *last = first;
      break;
    }
    if (__any_sync(~0u, nanoseconds() - since > lingerNs)) return false;
    word = loadAcquire(mine);
  }
  if (threadIdx.x < kOrderWords) words[threadIdx.x] = static_cast<uint32_t>(word);
  __syncwarp();
  if (words[kOrderElement] == 0) return false;
  if (threadIdx.x == 0) {
    args->src =
        reinterpret_cast<const unsigned char*>(join(words[kOrderSrcLow], words[kOrderSrcHigh]));
    args->dst = reinterpret_cast<unsigned char*>(join(words[kOrderDstLow], words[kOrderDstHigh]));
    args->elementBytes = words[kOrderElement];
    args->reduction = {static_cast<rondoDataType_t>(words[kOrderType]),
                       static_cast<rondoRedOp_t>(words[kOrderOp]), words[kOrderDivisor]};
    args->cut = {words[kOrderChunk], words[kOrderPeriod],    words[kOrderFullPeriods],
                 words[kOrderLeft],  words[kOrderLastBlock], static_cast<int>(words[kOrderBlocks])};
  }
  return true;
}

}  // namespace device

/// As windowKernel(), for one call after the other.
template <class Algorithm, class Wire, class Reducer, int kRanks>
__global__ void __launch_bounds__(kBlockThreads, 2)
    standingKernel(const __grid_constant__ StandingCall given) {
  __shared__ WindowCall call;
  __shared__ uint32_t words[kOrderWords];
  __shared__ bool more;
  const int lane = static_cast<int>(blockIdx.x);
  auto* const answer = reinterpret_cast<unsigned long long*>(given.desk.answers + lane);
  if (threadIdx.x == 0) call = given;
  __syncthreads();
  bool serves = (given.lanes >> lane & 1) != 0;
  uint32_t order = given.order, last = given.last;
  // The epoch stays in a register: no other kernel of the communicator runs meanwhile.
  Window<Wire, Reducer, kRanks> window(call, lane);
#pragma unroll 1
  for (;;) {
    if (serves) {
      const algo::Group group{call.args.rank, kRanks == 0 ? call.args.size : kRanks,
                              call.args.root};
      forEachPart(call.args.cut, lane, [&](const algo::Part& part) {
        window.begin();
        Algorithm::run(window, group, part);
        window.end();
      });
      window.finish();
      __syncthreads();
    }
    if (threadIdx.x < 32) {
      if (threadIdx.x == 0) {
        __threadfence_system();
        device::storeRelaxed(answer, standingWord(order, kStandingDone));
      }
      const bool came =
          device::takeOrder(given.desk.orders[lane], &last, given.lingerNs, words, &call.args);
      if (threadIdx.x == 0) {
        more = came;
        device::storeRelaxed(
            answer, came ? standingWord(last, kStandingTaken) : standingWord(order, kStandingLeft));
      }
    }
    __syncthreads();
    if (!more) return;
    order = last;  // of the first warp, which answers
    serves = true;
  }
}

/// A window's row whose kernel can stand.
template <class Algorithm, class Wire, class Reducer, int kRanks = 0>
Kernel standingRow(const char* collective, const char* algorithm) {
  Kernel row = windowRow<Algorithm, Wire, Reducer, kRanks>(collective, algorithm);
  row.standing = reinterpret_cast<const void*>(&standingKernel<Algorithm, Wire, Reducer, kRanks>);
  return row;
}

}  // namespace rondo
