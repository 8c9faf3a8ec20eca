#pragma once
// Whether a long call goes round a ring straight: all ranks must do the same, as blocks that go
// straight are longer than what slots hold.

#include "kernels/direct_call.h"
#include "kernels/impl/wait.h"
#include "kernels/launch.h"

namespace rondo::device {

/// What a rank says of the memory that its previous rank is to write into.
enum RingWay : uint64_t { kNowhere = 0, kSure = 1, kMarked = 2 };

/// Marks of rings are none of transfers: those count lanes.
constexpr int kRingMark = 255;

/// Where in a rank's dst its mark stands: where another rank's data come, and none is yet.
__device__ __forceinline__ unsigned long long* ringMark(const RingCall& call, uint64_t dst,
                                                        int rank) {
  const int behind = rank + 1 < call.args.size ? rank + 1 : 0;
  return reinterpret_cast<unsigned long long*>(dst +
                                               static_cast<uint64_t>(behind) * call.args.dstSlot);
}

/// By one thread: where rank `prev` has this one's dst; from a place of graphs, which is marked.
__device__ __forceinline__ uint64_t lookUpWay(const RingCall& call, int prev, uint64_t number) {
  const uint64_t index = call.straight.there & ~kGraphPlace;
  const GraphPlacesView& places = call.straight.places;
  uint64_t way = loadRelaxed(word(&places.device[index].way));
  if (way == 0) {
    way = loadRelaxed(word(&places.host[index].way));
    storeRelaxed(word(&places.device[index].way), way);
  }
  if (way == 0 || way == kNoWay) return 0;
  const auto dst = reinterpret_cast<uint64_t>(call.args.dst);
  storeRelaxed(ringMark(call, dst, call.args.rank),
               markOf(number, call.args.rank, prev, kRingMark));
  return followWay(way, dst);
}

/// By one thread, once a call went there: for the host, which drops places that nobody uses.
__device__ __forceinline__ void usedWay(const StraightRing& straight) {
  const uint64_t index = straight.there & ~kGraphPlace;
  GraphPlace& known = straight.places.device[index];
  if (known.used == 0) storeRelaxed(word(&straight.places.host[index].used), 1ull);
  known.used = 1;
}

/// Polls a word of this rank's until it is of this call; false if the wait was given up. No need to
/// acquire: where a mark is not seen although it is there the call goes through slots.
template <class IsOfCall>
__device__ __forceinline__ bool hearWord(const FaultView& fault, uint64_t* at, uint64_t* seen,
                                         IsOfCall isOfCall) {
  return waitUntil(fault, [&] { return isOfCall(*seen = loadRelaxed(word(at))); });
}

/// Told to lanes in place of a decision: the call was given up.
constexpr uint64_t kGivenUp = ~uint64_t{0};

/// By the first lane's first warp: tells all others whether the rank before this one can write into
/// its dst, hears the same of them, and tells all lanes what follows. Words of two calls alternate:
/// a rank of a pipeline may be one call ahead of those behind it, which have not read theirs yet;
/// it is not two ahead, as it hears from all in each.
__device__ __noinline__ inline void decideWay(const RingCall& call, uint32_t* calls) {
  const uint64_t number = *calls + 1;
  __syncwarp();
  const int thread = static_cast<int>(threadIdx.x);
  const int rank = call.args.rank, size = call.args.size;
  const int prev = rank > 0 ? rank - 1 : size - 1, next = rank + 1 < size ? rank + 1 : 0;
  RingOffers* const own = call.ring.offers[rank];
  const bool asked = thread < size && thread != rank;
  const bool marks = (call.straight.there & kGraphPlace) != 0;
  uint64_t there = call.straight.there;
  if (marks && thread == prev) there = lookUpWay(call, prev, number);
  there = __shfl_sync(~0u, there, prev);
  uint64_t way = there == 0 ? kNowhere : marks ? kMarked : kSure;
  uint64_t said = 0;
  // Others' words may be there from before an abort: who begins after it must not write anywhere.
  // Host memory, which takes its microsecond while the others' words come.
  const uint32_t aborted = loadRelaxed(&call.args.fault.words->abort);
  const uint32_t failed = loadRelaxed(&call.args.fault.words->error);
  bool lost = false;
  if (asked) {
    const uint64_t offer = thread == prev ? packOffer(there, number) | (marks ? kOfferMarked : 0)
                                          : packOffer(way, number);
    uint64_t* const at = &call.ring.offers[thread]->offer[number % 2][rank];
    if (marks) {
      storeRelease(at, offer);
    } else {
      storeRelaxed(word(at), offer);
    }
    lost = !hearWord(call.args.fault, &own->offer[number % 2][thread], &said,
                     [&](uint64_t seen) { return ((seen ^ number) & kOfferNumbers) == 0; });
    way = said >> 16;
    if (thread == next && way != 0) way = (said & kOfferMarked) != 0 ? kMarked : kSure;
  } else if (thread >= size) {
    way = kSure;
  }
  const uint64_t to = __shfl_sync(~0u, said >> 16, next);
  lost = __any_sync(~0u, lost || aborted != 0 || failed != 0) != 0;
  bool all = !lost && __all_sync(~0u, way != kNowhere) != 0;
  if (all && __any_sync(~0u, way == kMarked)) {
    bool found = true;
    if (thread == next && way == kMarked) {
      found = loadRelaxed(ringMark(call, to, next)) == markOf(number, next, rank, kRingMark);
    }
    found = __shfl_sync(~0u, found, next);
    if (asked) {
      // Not every call has verdicts, so they carry all of its number.
      storeRelaxed(word(&call.ring.offers[thread]->verdict[rank]), packDone(number, !found));
      uint64_t verdict = 0;
      lost = !hearWord(call.args.fault, &own->verdict[thread], &verdict,
                       [&](uint64_t seen) { return seen >> 1 == number; });
      found = (verdict & 1) == 0;
    }
    lost = __any_sync(~0u, lost) != 0;
    all = !lost && __all_sync(~0u, found) != 0;
    if (all && marks && thread == prev) usedWay(call.straight);
  }
  if (lost && thread == 0) noteGivenUp(call.args.fault);
  // Who begins later must not find the offer of a rank that has given up.
  if (lost && asked) {
    storeRelaxed(word(&call.ring.offers[thread]->offer[number % 2][rank]), packOffer(0, number));
  }
  if (thread == 0) *calls = static_cast<uint32_t>(number);
  for (uint32_t lane = threadIdx.x; lane < gridDim.x; lane += 32) {
    storeRelaxed(word(&call.ring.decisions[lane]), lost ? kGivenUp : (all ? to : 0) + 1);
  }
}

/// By one thread of each lane: what the first one has decided: 1 + where, or kGivenUp. Once a wait
/// of the communicator was given up words may be of an earlier call.
__device__ __forceinline__ uint64_t hearWay(const RingCall& call, int lane) {
  const FaultView& fault = call.args.fault;
  uint64_t* const decision = &call.ring.decisions[lane];
  uint64_t seen = 0;
  const bool came = hearWord(fault, decision, &seen, [](uint64_t told) { return told != 0; });
  storeRelaxed(word(decision), 0);
  return came && loadRelaxed(&fault.look->stop) == 0 ? seen : kGivenUp;
}

}  // namespace rondo::device
