#pragma once
// Device memory between hosts: what a kernel and the progress thread of its process say to each
// other through page-locked host memory; the kernel's side of it is in far_visit.h and
// far_exchange_visit.h. The kernel puts a part of the call (a chunk, a piece) into the memory with
// a letter that says what is to be done with it, and rings: it writes the part's number. The thread
// answers with the same number. A kernel that gets nothing does not wait for its answers: whoever
// needs the memory next does. All numbers count on in device memory, so that the replay of a graph,
// which runs no host code, goes on where the last kernel stopped.

#include <cstddef>
#include <cstdint>

#include "coll/algo/base.h"
#include "kernels/far_lines.h"
#include "p2p/channel_view.h"

namespace rondo {

/// Blocks of a kernel at most. Each rings for itself.
constexpr int kFarBlocks = 8;
/// Words of a processor's line: what is rung for another thread begins another line.
constexpr uint32_t kFarLineWords = 16;
static_assert(kFarBlocks <= kFarLineWords);
/// Chunks of a collective under way: up to four on the wire, and as many that are copied in or out.
constexpr uint32_t kFarSlots = 8;
/// Lanes of a queue of sends or receives at most, and pieces of each that are under way.
constexpr int kFarPairLanes = 4;
constexpr uint32_t kFarPairSlots = 2;
/// Of a transfer that goes in lines: with 4 KiB it takes longer so (2 x H100, 2026-11-25).
constexpr uint64_t kMostFarPairLines = 256;
/// With several lanes a shorter piece is not worth its message.
constexpr uint64_t kLeastLanePiece = 32u << 10;
/// Of one launch. A kernel's arguments are 4 KiB at most.
constexpr int kMostFarQueues = 64;
constexpr int kMostFarPieces = 128;

/// A chunk of a collective: as the call, but for its elements.
struct FarLetter {
  uint64_t count;  ///< Of a slot.
  const char* name;
  int32_t collective, type, op, root;
  uint32_t blocks;              ///< That ring.
  uint32_t onRail;              ///< Among the ranks of this one's rail alone; else among all.
  uint32_t srcSlots, dstSlots;  ///< That go in lines.
  uint64_t slotBytes;           ///< Of each of them.
};
RONDO_ALGO FarLined farLetterLined() { return {1, sizeof(FarLetter), 0}; }
/// Lines that a slot has for its letter and what the kernel gives.
constexpr uint64_t kFarInLines =
    (sizeof(FarLetter) + kFarLineBytes - 1) / kFarLineBytes + kMostFarLines;

/// A piece of a send or a receive.
struct FarPairLetter {
  unsigned char* lies;  ///< Where it is, in the device's memory; nullptr: in its slot.
  uint64_t bytes;
  uint64_t offset;   ///< Of the piece in its transfer.
  uint64_t whole;    ///< Bytes of the transfer.
  uint64_t inLines;  ///< 1: it goes in lines.
};
RONDO_ALGO FarLined farPairLetterLined() { return {1, sizeof(FarPairLetter), 0}; }
/// Lines that a place of sends or receives has: for its letter, and for its data behind that.
constexpr uint64_t kFarPairLetterLines =
    (sizeof(FarPairLetter) + kFarLineBytes - 1) / kFarLineBytes;
constexpr uint64_t kFarPairLines = kFarPairLetterLines + kMostFarPairLines;

/// A word that one side writes and the other polls, on a line of its own.
struct alignas(64) FarWord {
  uint32_t value;
};

/// Collectives. All but `chunks` is host memory, here as the kernel or as the host addresses it.
struct FarView {
  unsigned char* in;   ///< [kFarSlots] x slotBytes: what ranks give.
  unsigned char* out;  ///< [kFarSlots] x slotBytes: what they get.
  uint64_t slotBytes;
  FarLetter* letters;  ///< [kFarSlots]
  uint32_t* rung;      ///< [kFarSlots][kFarLineWords]: a block's word of a chunk, by the kernel; by
                       ///< the host, if it does not.
  FarWord* answered;   ///< [kFarSlots]: by the host.
  uint32_t* chunks;    ///< Device memory, [kFarBlocks]: chunks so far, of all calls.
  uint32_t* settled;   ///< Device memory, [kFarBlocks]: so many of them surely were answered.
  FarLine* inLines;    ///< [kFarSlots][kFarInLines]: instead of letter, ring and `in`.
  FarLine* outLines;   ///< [kFarSlots][kMostFarLines]: instead of `answered` and `out`.
};

/// Sends and receives: queue 2 k of the k-th peer from this rank on is what goes there, queue
/// 2 k + 1 what comes from the k-th before it. Each has as many lanes, which do not wait for each
/// other, and strand `queue * lanes + lane` is one of them.
struct FarPairView {
  unsigned char* slots;  ///< [strand][kFarPairSlots] x pieceBytes
  uint64_t pieceBytes;
  FarPairLetter* letters;  ///< [strand][kFarPairSlots]; those in lines are put here by the host.
  uint32_t* rung;          ///< [lane][rungWords]: of a lane [queue][kFarPairSlots]; likewise.
  uint32_t rungWords;      ///< Whole lines.
  FarWord* answered;       ///< [strand][kFarPairSlots]
  uint32_t* pieces;        ///< Device memory, [strand]: pieces so far.
  uint32_t* settled;       ///< Device memory, [strand]: so many of them surely were answered.
  FarLine* lines;          ///< [queue][kFarPairSlots][kFarPairLines]: of first lanes.
  uint64_t mostInLines;    ///< Transfers of so many bytes go in lines.
  int32_t lanes;
};

/// The argument of the collectives' kernel.
struct FarCall {
  const unsigned char* src;
  unsigned char* dst;
  uint64_t count;   ///< Of a slot.
  uint64_t chunk;   ///< Elements of a slot that go at once; the last chunk may have fewer.
  uint64_t stride;  ///< Elements from the caller's slots to the next.
  uint32_t elementBytes;
  int32_t srcSlots, dstSlots;  ///< What this rank gives and gets; 0: nothing.
  int32_t own;  ///< The slot that this rank gets from itself and need not get back; -1: none.
  int32_t collective, type, op, root;
  uint32_t onRail;
  /// 1: the letter goes in lines, with what the kernel gives, by the first block. Others, if there
  /// are any, are not waited for: the call has no more chunks than there are slots.
  uint32_t inLines;
  uint32_t outLines;  ///< 1: so does what it gets.
  const char* name;   ///< For the host.
  FarView view;
  FaultView fault;
};

struct FarPiece {
  unsigned char* data;
  uint64_t bytes;
};
struct FarQueue {
  int32_t queue;       ///< As in FarPairView.
  int32_t begin, end;  ///< Of its transfers.
  int32_t zeroCopies;  ///< The network reads and writes what is long where it lies.
};
/// The argument of the sends' and receives' kernel.
struct FarExchangeCall {
  FarPairView view;
  FaultView fault;
  uint64_t zeroCopyFrom;   ///< Bytes of a transfer that is long.
  uint64_t zeroCopyPiece;  ///< Of it as much goes at once.
  int32_t queues;
  int32_t lanes;  ///< That any of its transfers has pieces for.
  FarQueue queue[kMostFarQueues];
  FarPiece piece[kMostFarPieces];
};
static_assert(sizeof(FarExchangeCall) <= 4096 && sizeof(FarCall) <= 4096);

RONDO_ALGO uint64_t farLeast(uint64_t a, uint64_t b) { return a < b ? a : b; }

/// Whether the network reads or writes this transfer of the queue where it lies.
RONDO_ALGO bool farLies(const FarExchangeCall& call, const FarQueue& queue, int32_t transfer) {
  return queue.zeroCopies != 0 && call.piece[transfer].bytes >= call.zeroCopyFrom;
}
/// How a transfer is cut, alike on both sides: piece k goes by lane k % lanes.
struct FarCut {
  uint64_t piece;  ///< Bytes; the last one may have fewer.
  int32_t lanes;
};
/// Two pieces for each lane where they are long enough. What lies where the network moves it goes
/// by one.
RONDO_ALGO FarCut farCut(const FarExchangeCall& call, const FarQueue& queue, int32_t transfer) {
  if (farLies(call, queue, transfer)) return {call.zeroCopyPiece, 1};
  const FarPairView& view = call.view;
  if (view.lanes == 1) return {view.pieceBytes, 1};
  constexpr uint64_t kGrain = 512;
  const int shift = 1 + view.lanes / 2;  // of 2 lanes, which are 1, 2 or 4: a division takes long
  const uint64_t part = (call.piece[transfer].bytes + (uint64_t{1} << shift) - 1) >> shift;
  const uint64_t whole = (part + kGrain - 1) / kGrain * kGrain;
  const uint64_t piece = whole < kLeastLanePiece ? kLeastLanePiece : whole;
  return {farLeast(piece, view.pieceBytes), view.lanes};
}
RONDO_ALGO uint64_t farPieces(const FarCut& cut, uint64_t bytes) {
  return (bytes + cut.piece - 1) / cut.piece;
}

}  // namespace rondo
