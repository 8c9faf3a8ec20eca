#pragma once
// What a block of threads knows of the lanes of transfers that are its own.

#include <type_traits>

#include "kernels/direct_call.h"
#include "kernels/impl/copy.h"

namespace rondo {
namespace device {

__device__ __forceinline__ uint64_t loadAcquire(const uint64_t* p) {
  uint64_t v;
  asm volatile("ld.acquire.sys.global.b64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
}
/// How a transfer goes: through slots, or straight into the receiver's buffer.
enum class Way : int32_t { kUnknown, kStaged, kDirect };

/// Where a block of threads is with one lane of one queue.
struct Held {
  int32_t queue;
  int32_t lane;
  int32_t piece;   ///< The transfer that it is at; the queue's end: none.
  uint64_t slots;  ///< Sent, or received, on this lane so far.
  uint64_t done;   ///< Bytes of the lane's part of the transfer.
  // of a launch that knows memory of its ranks:
  uint64_t there;  ///< Where the transfer goes straight.
  uint64_t met;    ///< Large transfers on this lane so far, this one too once its way is known.
  Way way;
};

__device__ __forceinline__ PairLane* counters(const ExchangeHead& call, int owner, int peer,
                                              int lane) {
  const int place = peer < owner ? peer : peer - 1;
  return reinterpret_cast<PairLane*>(call.pairs.counters[owner]) + place * call.pairs.lanes + lane;
}

__device__ __forceinline__ DirectLane* directLane(const DirectHead& call, int owner, int peer,
                                                  int lane) {
  const int place = peer < owner ? peer : peer - 1;
  return reinterpret_cast<DirectLane*>(call.direct.lanes[owner]) + place * call.pairs.lanes + lane;
}

/// From `held->piece` on to the next transfer that uses the lane, or to the queue's end.
template <class Piece>
__device__ __forceinline__ void skipOthers(const ExchangeHead& call, const Piece* pieces,
                                           Held* held) {
  const TransferQueue& queue = call.queue[held->queue];
  const int step = queue.side == algo::Side::Copies ? 2 : 1;
  while (held->piece < queue.end &&
         held->lane >= cutTransfer(call, pieces[held->piece].bytes).lanes) {
    held->piece += step;
  }
}

/// On to the lane's next transfer.
template <class Piece>
__device__ __forceinline__ void nextPiece(const ExchangeHead& call, const Piece* pieces,
                                          Held* held) {
  held->done = 0;
  held->way = Way::kUnknown;
  held->piece += call.queue[held->queue].side == algo::Side::Copies ? 2 : 1;
  skipOthers(call, pieces, held);
}

/// Opens item `item` of the call, by one thread.
template <class Head, class Piece>
__device__ __forceinline__ Held openItem(const Head& call, const Piece* pieces, int item) {
  Held held{};
  int lane = item;
  while (lane >= call.queue[held.queue].lanes) lane -= call.queue[held.queue++].lanes;
  const TransferQueue& queue = call.queue[held.queue];
  held.lane = lane;
  held.piece = queue.begin;
  skipOthers(call, pieces, &held);
  if (queue.side == algo::Side::Copies) return held;
  const PairLane* own = counters(call, call.rank, queue.peer, lane);
  const bool sends = queue.side == algo::Side::Sends;
  held.slots =
      __ldcg(reinterpret_cast<const unsigned long long*>(sends ? &own->sent : &own->received));
  if constexpr (std::is_same_v<Piece, DirectPiece>) {
    const DirectLane* const words = directLane(call, call.rank, queue.peer, lane);
    held.met = __ldcg(
        reinterpret_cast<const unsigned long long*>(sends ? &words->sent : &words->received));
  }
  return held;
}

/// Writes back for the next kernel what the lane has done, by one thread.
template <class Head, class Piece>
__device__ __forceinline__ void finish(const Head& call, const Piece*, const Held& held) {
  const TransferQueue& queue = call.queue[held.queue];
  if (queue.side == algo::Side::Copies) return;
  const bool sends = queue.side == algo::Side::Sends;
  PairLane* const own = counters(call, call.rank, queue.peer, held.lane);
  (sends ? own->sent : own->received) = held.slots;
  if constexpr (std::is_same_v<Piece, DirectPiece>) {
    DirectLane* const words = directLane(call, call.rank, queue.peer, held.lane);
    (sends ? words->sent : words->received) = held.met;
  }
}

}  // namespace device

}  // namespace rondo
