#pragma once
// Device memory between hosts: what a kernel and the progress thread of its process say to each
// other through page-locked host memory, and the kernel's side of it, written once. The kernel puts
// a part of the call (a chunk, a piece) into the memory with a letter that says what is to be done
// with it, and rings: it writes the part's number. The thread answers with the same number. All
// numbers count on in device memory, so that the replay of a graph, which runs no host code, goes
// on where the last kernel stopped. Compiled by nvcc, and by the host compiler for tests.

#include <cstddef>
#include <cstdint>

#include "coll/algo/base.h"
#include "kernels/far_lines.h"
#include "p2p/channel_view.h"

namespace rondo {

/// Blocks of a kernel at most. Each rings for itself.
constexpr int kFarBlocks = 8;
/// Chunks of a collective under way: up to four on the wire, and as many that are copied in or out.
constexpr uint32_t kFarSlots = 8;
/// Pieces of a queue of sends or receives under way.
constexpr uint32_t kFarPairSlots = 2;
/// Of one launch. A kernel's arguments are 4 KiB at most.
constexpr int kMostFarQueues = 64;
constexpr int kMostFarPieces = 128;

/// A chunk of a collective: as the call, but for its elements.
struct FarLetter {
  uint64_t count;  ///< Of a slot.
  const char* name;
  int32_t collective, type, op, root;
  uint32_t blocks;  ///< That ring.
  uint32_t onRail;  ///< Among the ranks of this one's rail alone; else among all.
  // Of what goes in lines, the letter too; else 0:
  uint32_t srcSlots, dstSlots;
  uint64_t slotBytes;
};
RONDO_ALGO FarLined farLetterLined() { return {1, sizeof(FarLetter), 0}; }
/// Lines that a slot has for its letter and what the kernel gives.
constexpr uint64_t kFarInLines =
    (sizeof(FarLetter) + kFarLineBytes - 1) / kFarLineBytes + kMostFarLines;

/// A piece of a send or a receive.
struct FarPairLetter {
  unsigned char* lies;  ///< Where it is, in the device's memory; nullptr: in its slot.
  uint64_t bytes;
  uint64_t offset;  ///< Of the piece in its transfer.
  uint64_t whole;   ///< Bytes of the transfer.
};

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
  uint32_t* rung;      ///< [kFarSlots][kFarBlocks]: by the kernel.
  FarWord* answered;   ///< [kFarSlots]: by the host.
  uint32_t* chunks;    ///< Device memory, [kFarBlocks]: chunks so far, of all calls.
  FarLine* inLines;    ///< [kFarSlots][kFarInLines]: instead of letter, ring and `in`.
  FarLine* outLines;   ///< [kFarSlots][kMostFarLines]: instead of `answered` and `out`.
};

/// Sends and receives: queue 2 k of the k-th peer from this rank on is what goes there, queue
/// 2 k + 1 what comes from the k-th before it.
struct FarPairView {
  unsigned char* slots;  ///< [queue][kFarPairSlots] x pieceBytes
  uint64_t pieceBytes;
  FarPairLetter* letters;  ///< [queue][kFarPairSlots]
  uint32_t* rung;          ///< [queue][kFarPairSlots]
  FarWord* answered;       ///< [queue][kFarPairSlots]
  uint32_t* pieces;        ///< Device memory, [queue]: pieces so far.
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
  int32_t collective, type, op, root;
  uint32_t onRail;
  uint32_t inLines;  ///< 1: short, and of one block.
  const char* name;  ///< For the host.
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
  FarQueue queue[kMostFarQueues];
  FarPiece piece[kMostFarPieces];
};
static_assert(sizeof(FarExchangeCall) <= 4096 && sizeof(FarCall) <= 4096);

RONDO_ALGO uint64_t farLeast(uint64_t a, uint64_t b) { return a < b ? a : b; }

/// What one block of a collective's kernel does, for `Hands` that copy and wait. All threads of the
/// block call it alike:
///   int block(), blocks()
///   uint32_t begun(uint32_t* chunks)       the number it has so far
///   void toHost(void* host, const void* device, uint64_t bytes), fromHost(...)
///                                          this block's part of a copy
///   void write(T* host, const T& value)    for the host
///   void ring(uint32_t* word, uint32_t n)  after all that the block has written
///   bool await(uint32_t* word, uint32_t n) false: given up
///   void toLines(FarLine* lines, const FarLined& what, uint32_t tag, const void* from)
///   bool fromLines(FarLine* lines, const FarLined& what, uint32_t tag, void* device)
///                                          waits for each line; false: given up
///   void end(uint32_t* chunks, uint32_t n)
template <class Hands>
class FarVisit {
 public:
  RONDO_ALGO FarVisit(Hands& hands, const FarCall& call)
      : hands_(hands), call_(call), first_(hands.begun(call.view.chunks)) {}

  RONDO_ALGO void run() {
    const uint64_t chunks = (call_.count + call_.chunk - 1) / call_.chunk;
    for (uint64_t k = 0; k < chunks + kFarSlots; ++k) {
      if (k >= kFarSlots && k - kFarSlots < chunks && !takeOut(k - kFarSlots)) return;
      if (k < chunks) putIn(k);
    }
    hands_.end(call_.view.chunks, first_ + static_cast<uint32_t>(chunks));
  }

 private:
  RONDO_ALGO uint64_t elements(uint64_t k) const {
    return farLeast(call_.chunk, call_.count - k * call_.chunk);
  }
  RONDO_ALGO uint32_t number(uint64_t k) const { return first_ + static_cast<uint32_t>(k) + 1; }
  RONDO_ALGO uint32_t slot(uint64_t k) const { return (number(k) - 1) % kFarSlots; }
  /// Where slot `s` of the caller's has chunk k.
  RONDO_ALGO uint64_t at(int s, uint64_t k) const {
    return (static_cast<uint64_t>(s) * call_.stride + k * call_.chunk) * call_.elementBytes;
  }

  RONDO_ALGO FarLetter letter(uint64_t k) const {
    const bool lined = call_.inLines != 0;
    return {elements(k),
            call_.name,
            call_.collective,
            call_.type,
            call_.op,
            call_.root,
            static_cast<uint32_t>(hands_.blocks()),
            call_.onRail,
            lined ? static_cast<uint32_t>(call_.srcSlots) : 0,
            lined ? static_cast<uint32_t>(call_.dstSlots) : 0,
            lined ? elements(k) * call_.elementBytes : 0};
  }
  /// What the caller has of chunk k.
  RONDO_ALGO FarLined lined(int slots, uint64_t k) const {
    return {static_cast<uint64_t>(slots), elements(k) * call_.elementBytes,
            call_.stride * call_.elementBytes};
  }

  RONDO_ALGO void putInLines(uint64_t k) {
    FarLine* const lines = call_.view.inLines + slot(k) * kFarInLines;
    const FarLetter mail = letter(k);
    hands_.toLines(lines, farLetterLined(), farTag(number(k)), &mail);
    hands_.toLines(lines + farLetterLined().lines(), lined(call_.srcSlots, k), farTag(number(k)),
                   call_.src + at(0, k));
  }

  RONDO_ALGO void putIn(uint64_t k) {
    if (call_.inLines != 0) return putInLines(k);
    const uint64_t bytes = elements(k) * call_.elementBytes;
    unsigned char* const in = call_.view.in + slot(k) * call_.view.slotBytes;
    for (int s = 0; s < call_.srcSlots; ++s) {
      hands_.toHost(in + static_cast<uint64_t>(s) * bytes, call_.src + at(s, k), bytes);
    }
    if (hands_.block() == 0) {
      hands_.write(&call_.view.letters[slot(k)], letter(k));
    }
    hands_.ring(&call_.view.rung[slot(k) * kFarBlocks + static_cast<uint32_t>(hands_.block())],
                number(k));
  }

  RONDO_ALGO bool takeOut(uint64_t k) {
    if (call_.inLines != 0 && call_.dstSlots > 0) {
      return hands_.fromLines(call_.view.outLines + slot(k) * kMostFarLines,
                              lined(call_.dstSlots, k), farTag(number(k)), call_.dst + at(0, k));
    }
    if (!hands_.await(&call_.view.answered[slot(k)].value, number(k))) return false;
    const uint64_t bytes = elements(k) * call_.elementBytes;
    const unsigned char* const out = call_.view.out + slot(k) * call_.view.slotBytes;
    for (int s = 0; s < call_.dstSlots; ++s) {
      hands_.fromHost(call_.dst + at(s, k), out + static_cast<uint64_t>(s) * bytes, bytes);
    }
    return true;
  }

  Hands& hands_;
  const FarCall& call_;
  const uint32_t first_;
};

/// Whether the network reads or writes this transfer of the queue where it lies.
RONDO_ALGO bool farLies(const FarExchangeCall& call, const FarQueue& queue, int32_t transfer) {
  return queue.zeroCopies != 0 && call.piece[transfer].bytes >= call.zeroCopyFrom;
}
/// Bytes of it that go at once.
RONDO_ALGO uint64_t farPieceOf(const FarExchangeCall& call, const FarQueue& queue,
                               int32_t transfer) {
  return farLies(call, queue, transfer) ? call.zeroCopyPiece : call.view.pieceBytes;
}

/// A queue of a launch, and how far it is. Kept where all threads of a block see it.
struct FarHeld {
  uint32_t begun;          ///< Pieces before this launch.
  uint32_t rung, taken;    ///< Pieces of this launch that were rung for, and that are done with.
  int32_t next, oldest;    ///< The transfers that those two come to.
  uint64_t nextAt, oldAt;  ///< Bytes of them that are behind.
};

/// What one block does of sends and receives: every block-th queue, whichever can go on, so that
/// none waits for another. Beside the above, `Hands` have:
///   FarHeld held(int i), void keep(int i, const FarHeld& held, bool changed)
///                                 of the block's i-th queue
///   bool rang(uint32_t* word, uint32_t n)   whether it was answered by now
///   void endQueue(uint32_t* pieces, uint32_t n)
///   bool idle(bool moved)         after a look at all queues, of which none has ended; false: give
///   up
template <class Hands>
class FarExchangeVisit {
 public:
  RONDO_ALGO FarExchangeVisit(Hands& hands, const FarExchangeCall& call)
      : hands_(hands), call_(call) {}

  RONDO_ALGO void run() {
    begin();
    for (bool ended = false; !ended;) {
      ended = true;
      bool moved = false;
      for (int i = 0; queueOf(i) < call_.queues; ++i) {
        const FarQueue& queue = call_.queue[queueOf(i)];
        FarHeld held = hands_.held(i);
        const bool took = takeOut(queue, held);
        const bool put = putIn(queue, held);
        moved = moved || took || put;
        ended = ended && held.oldest == queue.end;
        hands_.keep(i, held, took || put);
      }
      if (!ended && !hands_.idle(moved)) return;
    }
    for (int i = 0; queueOf(i) < call_.queues; ++i) {
      const FarHeld held = hands_.held(i);
      hands_.endQueue(&call_.view.pieces[call_.queue[queueOf(i)].queue], held.begun + held.rung);
    }
  }

 private:
  RONDO_ALGO int queueOf(int i) const { return hands_.block() + i * hands_.blocks(); }
  RONDO_ALGO void begin() {
    for (int i = 0; queueOf(i) < call_.queues; ++i) {
      const FarQueue& queue = call_.queue[queueOf(i)];
      hands_.keep(i,
                  FarHeld{*(call_.view.pieces + queue.queue), 0, 0, queue.begin, queue.begin, 0, 0},
                  true);
    }
  }
  RONDO_ALGO uint64_t place(const FarQueue& queue, uint32_t piece) const {
    return static_cast<uint64_t>(queue.queue) * kFarPairSlots + piece % kFarPairSlots;
  }
  RONDO_ALGO unsigned char* slot(uint64_t place) const {
    return call_.view.slots + place * call_.view.pieceBytes;
  }
  /// One piece further.
  RONDO_ALGO void step(int32_t* transfer, uint64_t* at, uint64_t bytes) const {
    *at += bytes;
    if (*at < call_.piece[*transfer].bytes) return;
    *at = 0;
    ++*transfer;
  }
  RONDO_ALGO bool lies(const FarQueue& queue, int32_t transfer) const {
    return farLies(call_, queue, transfer);
  }
  RONDO_ALGO uint64_t bytesAt(const FarQueue& queue, int32_t transfer, uint64_t at) const {
    return farLeast(farPieceOf(call_, queue, transfer), call_.piece[transfer].bytes - at);
  }

  RONDO_ALGO bool putIn(const FarQueue& queue, FarHeld& held) {
    if (held.next == queue.end || held.rung - held.taken == kFarPairSlots) return false;
    const uint64_t to = place(queue, held.begun + held.rung);
    const FarPiece& piece = call_.piece[held.next];
    const uint64_t bytes = bytesAt(queue, held.next, held.nextAt);
    unsigned char* const data = piece.data + held.nextAt;
    const bool stays = lies(queue, held.next);
    if (!stays && queue.queue % 2 == 0) hands_.toHost(slot(to), data, bytes);
    hands_.write(&call_.view.letters[to],
                 FarPairLetter{stays ? data : nullptr, bytes, held.nextAt, piece.bytes});
    hands_.ring(&call_.view.rung[to], held.begun + held.rung + 1);
    ++held.rung;
    step(&held.next, &held.nextAt, bytes);
    return true;
  }

  RONDO_ALGO bool takeOut(const FarQueue& queue, FarHeld& held) {
    if (held.taken == held.rung) return false;
    const uint64_t from = place(queue, held.begun + held.taken);
    if (!hands_.rang(&call_.view.answered[from].value, held.begun + held.taken + 1)) return false;
    const uint64_t bytes = bytesAt(queue, held.oldest, held.oldAt);
    if (!lies(queue, held.oldest) && queue.queue % 2 == 1) {
      hands_.fromHost(call_.piece[held.oldest].data + held.oldAt, slot(from), bytes);
    }
    ++held.taken;
    step(&held.oldest, &held.oldAt, bytes);
    return true;
  }

  Hands& hands_;
  const FarExchangeCall& call_;
};

}  // namespace rondo
