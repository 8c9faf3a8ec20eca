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

/// Where in `data` the mark of the lane's part stands; nullptr: the part is too short for one.
__device__ __forceinline__ unsigned long long* markPlace(const DirectHead& call, uint64_t bytes,
                                                         uint64_t data, int lane) {
  const TransferCut cut = cutTransfer(call, bytes);
  const uint64_t begin = static_cast<uint64_t>(lane) * cut.perLane;
  const uint64_t end = begin + cut.perLane < bytes ? begin + cut.perLane : bytes;
  const uint64_t at = (data + begin + 7) / 8 * 8;
  return at + 8 <= data + end ? reinterpret_cast<unsigned long long*>(at) : nullptr;
}

/// By one thread, of a receiver in a graph: where the sender has the memory, if at all; then the
/// mark is written.
__device__ __noinline__ inline uint64_t lookUp(const DirectHead& call, const DirectPiece& piece,
                                               int sender, int lane, uint64_t number) {
  const uint64_t index = piece.there & ~kGraphPlace;
  uint64_t way = loadRelaxed(word(&call.places.device[index].way));
  if (way == 0 && lane == 0) {
    way = loadRelaxed(word(&call.places.host[index].way));
    storeRelaxed(word(&call.places.device[index].way), way);
  }
  const auto data = reinterpret_cast<uint64_t>(piece.data);
  unsigned long long* const mark = markPlace(call, piece.bytes, data, lane);
  if (way == 0 || way == kNoWay || mark == nullptr) return 0;
  storeRelaxed(mark, markOf(number, call.rank, sender, lane));
  return followWay(way, data);
}

/// By one thread, of a sender: whether the receiver's mark is there. No need to acquire: where it
/// is not seen although it is there the transfer goes through slots.
__device__ __noinline__ inline bool findsMark(const DirectHead& call, uint64_t bytes,
                                              uint64_t there, int receiver, int lane,
                                              uint64_t number) {
  const unsigned long long* const mark = markPlace(call, bytes, there, lane);
  return mark != nullptr && loadRelaxed(mark) == markOf(number, receiver, call.rank, lane);
}

/// Whether a wait of the communicator was given up: a sender whose kernel begins later must not
/// find an offer then.
__device__ __forceinline__ bool hasStopped(const DirectHead& call) {
  return loadRelaxed(&call.fault.look->stop) != 0;
}

/// By one thread: makes the offer, which says nowhere if `stopped`, or looks for it. False while
/// there is none.
__device__ __forceinline__ bool agree(const DirectHead& call, const DirectPiece* pieces, Held* held,
                                      bool stopped) {
  if (held->way != Way::kUnknown) return true;
  const TransferQueue& queue = call.queue[held->queue];
  const DirectPiece& piece = pieces[held->piece];
  const uint64_t number = held->met + 1;
  DirectLane* const peers = directLane(call, queue.peer, call.rank, held->lane);
  if (queue.side == algo::Side::Receives) {
    held->there = stopped ? 0 : piece.there;
    if (!stopped && (piece.there & kGraphPlace) != 0) {
      held->there = lookUp(call, piece, queue.peer, held->lane, number);
      storeRelease(&peers->offer, packOffer(held->there, number) | kOfferMarked);
    } else {
      storeRelaxed(word(&peers->offer), packOffer(held->there, number));
    }
  } else {
    const DirectLane* const own = directLane(call, call.rank, queue.peer, held->lane);
    const uint64_t offer = loadRelaxed(reinterpret_cast<const unsigned long long*>(&own->offer));
    if (((offer ^ number) & kOfferNumbers) != 0) return false;
    held->there = offer >> 16;
    if ((offer & kOfferMarked) != 0 && held->there != 0 &&
        !findsMark(call, piece.bytes, held->there, queue.peer, held->lane, number)) {
      held->there = 0;
      storeRelaxed(word(&peers->done), packDone(number, true));
    }
  }
  held->met = number;
  held->way = held->there != 0 ? Way::kDirect : Way::kStaged;
  return true;
}

/// By one thread, of a receiver whose offer says where: whether all of the lane's part is there, or
/// goes through slots, since the sender has refused.
__device__ __forceinline__ bool arrived(const DirectHead& call, const DirectPiece& piece,
                                        Held* held) {
  const int peer = call.queue[held->queue].peer;
  const uint64_t done = loadAcquire(&directLane(call, call.rank, peer, held->lane)->done);
  if (done == packDone(held->met, true)) {
    held->way = Way::kStaged;
    return true;
  }
  if (done != packDone(held->met, false)) return false;
  if ((piece.there & kGraphPlace) != 0 && held->lane == 0) {
    const uint64_t index = piece.there & ~kGraphPlace;
    GraphPlace& known = call.places.device[index];
    if (known.used == 0) storeRelaxed(word(&call.places.host[index].used), 1ull);
    known.used = 1;
  }
  return true;
}

/// By one thread, of a receiver that gives up: its offer is none any more. A sender whose kernel
/// begins later goes through slots, which are the communicator's, and gives up there; one that has
/// read the offer already ends the lane's part.
__device__ __noinline__ inline void withdraw(const DirectHead& call, const Held& held) {
  const TransferQueue& queue = call.queue[held.queue];
  if (queue.side != algo::Side::Receives || held.way != Way::kDirect) return;
  DirectLane* const peers = directLane(call, queue.peer, call.rank, held.lane);
  storeRelaxed(word(&peers->offer), packOffer(0, held.met));
}

constexpr uint32_t kMemoryLine = 128;
/// Shorter parts of lanes are copied from where they begin.
constexpr uint64_t kLinesFrom = 32u << 10;

/// Long copies to a peer, a warp's stores of which are whole lines of its memory, wherever that
/// begins: a store across five lines instead of four takes 2 % longer (a bare kernel, 2 x H200,
/// 2026-11). The first warp copies what lies before the first whole line by the byte.
__device__ __forceinline__ void copyByLines(unsigned char* to, const unsigned char* from,
                                            uint64_t bytes) {
  const uint32_t past = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(to) % kMemoryLine);
  const uint32_t lead = past == 0 || bytes < kLinesFrom ? 0 : kMemoryLine - past;
  if (threadIdx.x < 32) {
    constexpr uint32_t kTimes = kMemoryLine / 32;
    unsigned char part[kTimes] = {};
#pragma unroll
    for (uint32_t t = 0; t < kTimes; ++t) {
      const uint32_t i = threadIdx.x + 32 * t;
      if (i < lead) part[t] = __ldcg(from + i);
    }
#pragma unroll
    for (uint32_t t = 0; t < kTimes; ++t) {
      const uint32_t i = threadIdx.x + 32 * t;
      if (i < lead) to[i] = part[t];
    }
  }
  copyLong(to + lead, from + lead, bytes - lead);
}

/// By all threads: the lane's part goes to where the offer said, and the receiver hears of it.
__device__ __forceinline__ void push(const DirectHead& call, const DirectPiece& piece,
                                     const Held& held) {
  const TransferCut cut = cutTransfer(call, piece.bytes);
  const uint64_t begin = static_cast<uint64_t>(held.lane) * cut.perLane;
  const uint64_t left = piece.bytes - begin;
  copyByLines(reinterpret_cast<unsigned char*>(held.there) + begin, piece.data + begin,
              left < cut.perLane ? left : cut.perLane);
  __syncthreads();
  if (threadIdx.x == 0) {
    const int peer = call.queue[held.queue].peer;
    storeRelease(&directLane(call, peer, call.rank, held.lane)->done, packDone(held.met, false));
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
    now = agree(call, pieces, held, !sends && hasStopped(call)) &&
          (sends || held->way == Way::kStaged || arrived(call, pieces[held->piece], held));
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
      const bool sends = call.queue[held->queue].side == algo::Side::Sends;
      const bool stopped = !sends && hasStopped(call);
      given = !waitUntil(call.fault, [&] { return agree(call, pieces, held, stopped); });
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
  if (threadIdx.x == 0) {
    given = !waitUntil(call.fault, [&] { return arrived(call, pieces[held->piece], held); });
    if (given) withdraw(call, *held);
    *told = held->way == Way::kStaged ? 1 : 0;
  }
  if (__syncthreads_or(given)) return false;
  if (*told != 0) held->way = Way::kStaged;
  __syncthreads();  // the word is free again
  return true;
}

}  // namespace rondo::device
