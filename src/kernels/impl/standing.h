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

/// One warp's view of what a lane waits for.
struct NextOrder {
  const StandingOrder& line;
  unsigned long long* decided;  ///< By the first lane, for all.
  uint32_t order;               ///< Number of the last that the lane did.

  /// This thread's word of the line, and whether all of them are of one order after the last.
  __device__ bool poll(unsigned long long* word, uint32_t* number) const {
    // Acquired, so that what the host and others had written before is seen: a fence would wait for
    // this thread's stores, too.
    *word = loadAcquire(
        reinterpret_cast<const unsigned long long*>(&line.word[threadIdx.x % kOrderWords]));
    *number = __shfl_sync(~0u, static_cast<uint32_t>(*word >> 32), 0);
    return __all_sync(~0u, static_cast<uint32_t>(*word >> 32) == *number) &&
           static_cast<int32_t>(*number - order) > 0;
  }
  /// That the last order that all lanes do is this one, and whether the kernel then ends.
  __device__ void decide(uint32_t number, bool leaves) const {
    storeRelaxed(decided, static_cast<unsigned long long>(number) << 1 | (leaves ? 1 : 0));
  }
  /// Whether the first lane has taken order `number`; *left: it has ended after the lane's last.
  __device__ bool taken(uint32_t number, bool* left) const {
    const unsigned long long word = loadAcquire(decided);
    *left = word == (static_cast<unsigned long long>(order) << 1 | 1);
    return static_cast<int32_t>(static_cast<uint32_t>(word >> 1) - number) >= 0;
  }
};

/// The first lane's wait, by its first warp. False: no order came within `lingerNs`, or one that
/// ends the kernel.
__device__ __forceinline__ bool awaitFirst(const NextOrder& next, uint64_t lingerNs,
                                           unsigned long long* word, uint32_t* number) {
  const uint64_t since = nanoseconds();
  bool came = next.poll(word, number);
  while (!came && !__any_sync(~0u, nanoseconds() - since > lingerNs)) {
    came = next.poll(word, number);
  }
  came = came && static_cast<uint32_t>(__shfl_sync(~0u, *word, kOrderElement)) != 0;
  if (threadIdx.x == 0) next.decide(came ? *number : next.order, !came);
  return came;
}

/// The other lanes': the host writes every lane's order, but none is to be done before the first
/// lane has taken its own, so that all of them do it or none.
__device__ __forceinline__ bool awaitOther(const NextOrder& next, unsigned long long* word,
                                           uint32_t* number) {
  bool left = false;
  while (!next.poll(word, number)) {
    next.taken(0, &left);
    if (__any_sync(~0u, left)) return false;
  }
  while (!__any_sync(~0u, next.taken(*number, &left))) {
    if (__any_sync(~0u, left)) return false;
  }
  return true;
}

/// By one warp: puts the lane's next order into *args, and its number into *order. False: there is
/// none.
__device__ __forceinline__ bool takeOrder(const StandingCall& given, int lane, uint32_t* order,
                                          uint32_t* words, CallArgs* args) {
  const NextOrder next{given.desk.orders[lane],
                       reinterpret_cast<unsigned long long*>(&given.args.fault.look->standing),
                       *order};
  unsigned long long word = 0;
  uint32_t number = 0;
  if (!(lane == 0 ? awaitFirst(next, given.lingerNs, &word, &number)
                  : awaitOther(next, &word, &number))) {
    return false;
  }
  *order = number;
  if (threadIdx.x < kOrderWords) words[threadIdx.x] = static_cast<uint32_t>(word);
  __syncwarp();
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
  uint32_t order = given.order;
#pragma unroll 1
  for (;;) {
    // Made anew, as it reads the epoch: a graph of another stream may have run meanwhile.
    Window<Wire, Reducer, kRanks> window(call, lane);
    const algo::Group group{call.args.rank, kRanks == 0 ? call.args.size : kRanks, call.args.root};
    forEachPart(call.args.cut, lane, [&](const algo::Part& part) {
      window.begin();
      Algorithm::run(window, group, part);
      window.end();
    });
    window.finish();
    __syncthreads();
    if (threadIdx.x < 32) {
      if (threadIdx.x == 0) {
        __threadfence_system();
        device::storeRelaxed(answer, standingWord(order, kStandingDone));
      }
      const uint32_t before = order;
      const bool came = device::takeOrder(given, lane, &order, words, &call.args);
      if (threadIdx.x == 0) {
        more = came;
        if (lane == 0) {
          device::storeRelaxed(answer, came ? standingWord(order, kStandingTaken)
                                            : standingWord(before, kStandingLeft));
        }
      }
    }
    __syncthreads();
    if (!more) return;
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
