#pragma once
// Large transfers of one lane: the receiver says where, the sender writes there, and then says so.

#include "kernels/direct_call.h"
#include "kernels/impl/exchange_lane.h"
#include "kernels/impl/wait.h"

namespace rondo::device {

/// Whether the transfer that `held` is at begins with an offer. The same on both ranks.
__device__ __forceinline__ bool asks(const DirectPiece* pieces, const Held& held) {
  return pieces[held.piece].there != kUnasked;
}

/// By one thread: makes the offer, or looks for it. False while there is none.
__device__ __forceinline__ bool agree(const DirectHead& call, const DirectPiece* pieces,
                                      Held* held) {
  if (held->way != Way::kUnknown) return true;
  const TransferQueue& queue = call.queue[held->queue];
  const uint64_t number = held->met + 1;
  if (queue.side == algo::Side::Receives) {
    held->there = pieces[held->piece].there;
    DirectLane* const peers = directLane(call, queue.peer, call.rank, held->lane);
    storeRelaxed(reinterpret_cast<unsigned long long*>(&peers->offer),
                 packOffer(held->there, number));
  } else {
    const DirectLane* const own = directLane(call, call.rank, queue.peer, held->lane);
    const uint64_t offer = loadRelaxed(reinterpret_cast<const unsigned long long*>(&own->offer));
    if (((offer ^ number) & kOfferNumbers) != 0) return false;
    held->there = offer >> 16;
  }
  held->met = number;
  held->way = held->there != 0 ? Way::kDirect : Way::kStaged;
  return true;
}

/// By one thread, of a receiver: whether all of the lane's part is there.
__device__ __forceinline__ bool arrived(const DirectHead& call, const Held& held) {
  const int peer = call.queue[held.queue].peer;
  return loadAcquire(&directLane(call, call.rank, peer, held.lane)->done) == held.met;
}

/// Any number of bytes, by all threads of the block, eight vectors of each under way. Not inlined:
/// it needs all registers for itself.
__device__ __noinline__ inline void copyLong(unsigned char* to, const unsigned char* from,
                                             uint64_t bytes) {
  constexpr uint64_t kAtOnce = 1u << 30;
  for (uint64_t at = 0; at < bytes; at += kAtOnce) {
    const auto now = static_cast<uint32_t>(bytes - at < kAtOnce ? bytes - at : kAtOnce);
    if (aligned(to, 16) && aligned(from, 16)) {
      const uint32_t whole = now / 16 * 16;
      copyPieces<uint4, 8>(to + at, from + at, whole);
      copyPieces<unsigned char, 1>(to + at + whole, from + at + whole, now - whole);
    } else {
      copyAny(to + at, from + at, now);
    }
  }
}

/// By all threads: the lane's part goes to where the offer said, and the receiver hears of it.
__device__ __forceinline__ void push(const DirectHead& call, const DirectPiece& piece,
                                     const Held& held) {
  const TransferCut cut = cutTransfer(call.pairs, piece.bytes);
  const uint64_t begin = static_cast<uint64_t>(held.lane) * cut.perLane;
  const uint64_t left = piece.bytes - begin;
  copyLong(reinterpret_cast<unsigned char*>(held.there) + begin, piece.data + begin,
           left < cut.perLane ? left : cut.perLane);
  __syncthreads();
  if (threadIdx.x == 0) {
    const int peer = call.queue[held.queue].peer;
    storeRelease(&directLane(call, peer, call.rank, held.lane)->done, held.met);
  }
}

enum class Did : int { kNothing, kAll, kMustStage };

/// By all threads of a block that has several lanes: what can be done without waiting. The offer is
/// made, or found, and a transfer that goes straight is done as a whole.
__device__ __forceinline__ Did tryDirect(const DirectHead& call, const DirectPiece* pieces,
                                         Held* held) {
  if (!asks(pieces, *held)) return Did::kMustStage;
  const bool sends = call.queue[held->queue].side == algo::Side::Sends;
  bool now = true;
  if (threadIdx.x == 0) {
    now = agree(call, pieces, held) && (sends || held->way == Way::kStaged || arrived(call, *held));
  }
  if (!__syncthreads_and(now)) return Did::kNothing;
  if (held->way == Way::kStaged) return Did::kMustStage;
  if (sends) push(call, pieces[held->piece], *held);
  return Did::kAll;
}

/// By all threads of a block that has no other lane, each with its own `held`: waits for the offer,
/// and does a transfer that goes straight. False if a wait was given up.
__device__ __forceinline__ bool waitDirect(const DirectHead& call, const DirectPiece* pieces,
                                           Held* held, uint64_t* told) {
  bool given = false;
  if (held->way == Way::kUnknown) {
    if (threadIdx.x == 0) {
      given = !waitUntil(call.fault, [&] { return agree(call, pieces, held); });
      *told = held->there;
    }
    if (__syncthreads_or(given)) return false;
    if (threadIdx.x != 0) {
      held->there = *told;
      ++held->met;
      held->way = held->there != 0 ? Way::kDirect : Way::kStaged;
    }
    __syncthreads();  // the word is free again
  }
  if (held->way == Way::kStaged) return true;
  if (call.queue[held->queue].side == algo::Side::Sends) {
    push(call, pieces[held->piece], *held);
    return true;
  }
  if (threadIdx.x == 0) given = !waitUntil(call.fault, [&] { return arrived(call, *held); });
  return !__syncthreads_or(given);
}

}  // namespace rondo::device
