#pragma once
// Sends and receives as one launch: what its kernel is told. Needs no CUDA header.

#include <cstdint>

#include "coll/algo/transfer.h"
#include "kernels/launching.h"
#include "p2p/channel_view.h"

struct CUevent_st;
struct CUstream_st;

namespace rondo {

/// Memory that a transfer reads or writes. A copy of a rank to itself is two of them, from and to.
struct TransferPiece {
  unsigned char* data;
  uint64_t bytes;
};

/// Transfers with one peer in one direction, in their order: pieces [begin, end).
struct TransferQueue {
  algo::Side side;
  int32_t peer;
  int32_t begin;
  int32_t end;
  int32_t lanes;  ///< The most that one of them is cut into.
};

constexpr int kMostQueues = 2 * (kMaxPairRanks - 1) + 1;
/// Threads of a block at most. Few, because each has four vectors under way at once, which takes
/// registers.
constexpr int kExchangeThreads = 256;
/// Pieces of one launch; what fewer need, few take, because arguments cost time.
constexpr int kFewPieces = 8;
constexpr int kManyPieces = 192;
constexpr int kMostPieces = 1024;
/// Lanes of queues that a block takes turns with.
constexpr int kMostHeld = 64;

/// What every launch is told; the pieces follow.
struct ExchangeHead {
  PairView pairs;
  FaultView fault;
  int32_t rank;
  int32_t queues;
  int32_t items;  ///< Lanes of all queues together.
  int32_t close;  ///< As CallArgs has it.
  int32_t cut;  ///< Lanes of a transfer at most that is too short to ask; both ranks have the same.
  TransferQueue queue[kMostQueues];
};
template <int kPieces>
struct ExchangeCall : ExchangeHead {
  TransferPiece piece[kPieces];
};

/// How both ranks of a pair cut a transfer: a lane has `perLane` bytes from lane x perLane on, in
/// blocks of `block` bytes.
struct TransferCut {
  int32_t lanes;
  uint32_t block;
  uint64_t perLane;
};

/// Data bytes of a slot: of lines 15 of 16 words carry data.
constexpr uint32_t kPairLineData = kPairSlotBytes / 16 * 15;
/// What a lane copies to its own rank before it looks after its other queues.
constexpr uint32_t kCopyBlock = 128u << 10;
/// A lane is worth its block from so many bytes on.
constexpr uint64_t kLeastBytesPerLane = 3840;

/// From here on a transfer may ask its receiver where it goes, which takes about three
/// microseconds, more than slots do below (16 messages in a row, 2 x H200, 2026-11: 1 MiB 7.6 us
/// and through slots 4.1, 8 MiB 25 and 32).
constexpr uint64_t kAsksFrom = 4u << 20;

RONDO_ALGO uint64_t divideUp(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

RONDO_ALGO TransferCut cutTransfer(const PairView& pairs, int cut, uint64_t bytes) {
  const uint64_t most = static_cast<uint64_t>(bytes < kAsksFrom ? cut : pairs.lanes);
  const uint64_t wanted = divideUp(bytes, kLeastBytesPerLane);
  // whole warps of lines, or whole 16-byte vectors
  const uint64_t grain = pairs.lines != 0 ? 480 : 512;
  const uint64_t per = divideUp(divideUp(bytes, wanted < most ? wanted : most), grain) * grain;
  return {static_cast<int32_t>(divideUp(bytes, per)),
          pairs.lines != 0 ? kPairLineData : kPairSlotBytes, per};
}

RONDO_ALGO TransferCut cutTransfer(const PairView& pairs, uint64_t bytes) {
  return cutTransfer(pairs, pairs.lanes, bytes);
}
/// The cut of a scatter. Its root has lanes with all ranks at once, itself too: no more than it has
/// blocks, as one that has two lanes takes turns (64 instead of 32 for each of three others: 1 MiB
/// 29.8 us instead of 18.7; a gather gains nothing by it; four ranks on 2 x H200, 2026-11).
constexpr int lanesOfScatter(int pairLanes, int blocks, int ranks) {
  const int share = blocks / ranks;
  return share < 1 ? 1 : share < pairLanes ? share : pairLanes;
}
RONDO_ALGO TransferCut cutTransfer(const ExchangeHead& call, uint64_t bytes) {
  return cutTransfer(call.pairs, call.cut, bytes);
}

/// Enqueues one launch of `blocks` blocks for so many pieces (at most kMostPieces, in the array
/// behind `call`); `how`: see Launching. Allowed while `stream` captures. Returns a
/// cudaError_t.
int launchExchange(const ExchangeHead& call, int pieces, int blocks, int threads,
                   CUstream_st* stream, const Launching& how);

/// What is enqueued on `later` from now on waits for what is on `first` by now; `event` is free for
/// further use at once. Returns a cudaError_t.
int orderStreams(CUstream_st* first, CUstream_st* later, CUevent_st* event);
int makeEvent(CUevent_st** event);
void freeEvent(CUevent_st* event);

/// The kernels behind it, to be loaded with all others.
struct ExchangeKernels {
  const void* function[3];
};
ExchangeKernels exchangeKernels();

}  // namespace rondo
