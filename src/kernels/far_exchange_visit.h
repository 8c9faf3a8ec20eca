#pragma once
// What a kernel does of sends and receives between hosts (kernels/far_call.h). Compiled by nvcc,
// and by the host compiler for tests.

#include <cstdint>

#include "kernels/far_call.h"

namespace rondo {

/// A lane of a queue of a launch, and how far it is. Kept where all threads of a block see it.
struct FarHeld {
  uint32_t begun;          ///< Pieces that surely were answered before this launch.
  uint32_t left;           ///< Pieces behind them, of earlier launches, which did not wait.
  uint32_t rung, taken;    ///< Those and this launch's: rung for, and done with.
  int32_t next, oldest;    ///< The transfers that those two come to.
  uint64_t nextAt, oldAt;  ///< Bytes of them at which the lane's next piece begins.
  uint32_t looked;         ///< 1: a look for answers was taken since all was rung for.
};
/// That a block may hold.
constexpr int kMostFarHeld = kMostFarQueues * kFarPairLanes;

/// What one block does of sends and receives: every block-th lane of a queue, whichever can go on,
/// so that none waits for another. Beside toHost, fromHost, write, ring, meet and toLines
/// (kernels/far_visit.h), `Hands` have:
///   int block(), blocks()
///   FarHeld held(int i)           of the block's i-th
///   void keep(int i, const FarHeld& held, bool changed)
///                                 if it has changed: once all threads have read what it was, and
///                                 before any goes on
///   bool rang(uint32_t* word, uint32_t n)   whether it was answered by now
///   bool gotLines(FarLine* lines, const FarLined& what, uint32_t tag, void* device)
///                                 takes them if all have come by now
///   void endStrand(uint32_t* count, uint32_t n)
///   bool idle(bool moved)         after a look at all, of which one at least goes on; false: give
///                                 up
template <class Hands>
class FarExchangeVisit {
 public:
  RONDO_ALGO FarExchangeVisit(Hands& hands, const FarExchangeCall& call)
      : hands_(hands), call_(call) {}

  RONDO_ALGO void run() {
    for (int i = 0; has(i); ++i) begin(i);
    for (bool ended = false; !ended;) {
      ended = true;
      bool moved = false;
      for (int i = 0; has(i); ++i) {
        const Strand strand = of(i);
        FarHeld held = hands_.held(i);
        if (done(strand, held)) continue;
        const bool took = !canPut(strand, held) && takeOut(strand, held);
        const bool looked = strand.sends() && held.next == strand.queue.end;
        if (looked) held.looked = 1;
        const bool put = canPut(strand, held);
        if (put) putIn(strand, held);
        moved = moved || took || put;
        ended = ended && done(strand, held);
        hands_.keep(i, held, took || put || looked);
      }
      if (!ended && !hands_.idle(moved)) return;
    }
    for (int i = 0; has(i); ++i) end(i);
  }

 private:
  struct Strand {
    const FarQueue& queue;
    int32_t lane, number;
    RONDO_ALGO bool sends() const { return queue.queue % 2 == 0; }
  };
  RONDO_ALGO int at(int i) const { return hands_.block() + i * hands_.blocks(); }
  RONDO_ALGO bool has(int i) const { return at(i) < call_.queues * call_.lanes; }
  /// First lanes come first: all that is short goes by them.
  RONDO_ALGO Strand of(int i) const {
    const FarQueue& queue = call_.queue[at(i) % call_.queues];
    const int32_t lane = at(i) / call_.queues;
    return {queue, lane, queue.queue * call_.view.lanes + lane};
  }

  RONDO_ALGO void begin(int i) {
    const Strand strand = of(i);
    FarHeld held{0, 0, 0, 0, strand.queue.begin, strand.queue.begin, 0, 0, 0};
    held.nextAt = firstAt(strand, held.next);
    find(strand, &held.next, &held.nextAt);
    held.oldest = held.next;
    held.oldAt = held.nextAt;
    if (held.next != strand.queue.end) {
      held.begun = call_.view.settled[strand.number];
      held.left = call_.view.pieces[strand.number] - held.begun;
      held.rung = held.left;
    }
    hands_.keep(i, held, true);
  }
  RONDO_ALGO void end(int i) const {
    const FarHeld held = hands_.held(i);
    if (held.rung == held.left) return;  // it had nothing
    const int32_t strand = of(i).number;
    hands_.endStrand(&call_.view.pieces[strand], held.begun + held.rung);
    hands_.endStrand(&call_.view.settled[strand], held.begun + held.taken);
  }
  /// Who sends waits for nobody, unless the network reads what it sends where it lies. If it leaves
  /// no room it looks once, so that the next launch need not before it puts something in.
  RONDO_ALGO bool done(const Strand& strand, const FarHeld& held) const {
    if (held.oldest == strand.queue.end) return true;
    if (!strand.sends() || held.next != strand.queue.end) return false;
    if (!hasRoom(held) && held.looked == 0) return false;
    if (strand.queue.zeroCopies == 0 || strand.lane != 0) return true;
    for (int32_t t = held.oldest; t < strand.queue.end; ++t) {
      if (lies(strand, t)) return false;
    }
    return true;
  }

  RONDO_ALGO bool lies(const Strand& strand, int32_t transfer) const {
    return !inLines(transfer) && farLies(call_, strand.queue, transfer);
  }
  RONDO_ALGO FarCut cut(const Strand& strand, int32_t transfer) const {
    return farCut(call_, strand.queue, transfer);
  }
  /// Where the lane's first piece of it begins; behind its end: it has none.
  RONDO_ALGO uint64_t firstAt(const Strand& strand, int32_t transfer) const {
    const FarCut by = cut(strand, transfer);
    if (strand.lane >= by.lanes) return call_.piece[transfer].bytes;
    return static_cast<uint64_t>(strand.lane) * by.piece;
  }
  /// The next piece from there on.
  RONDO_ALGO void find(const Strand& strand, int32_t* transfer, uint64_t* begins) const {
    while (*begins >= call_.piece[*transfer].bytes) {
      *begins = 0;
      if (++*transfer == strand.queue.end) return;
      *begins = firstAt(strand, *transfer);
    }
  }
  /// One piece further.
  RONDO_ALGO void step(const Strand& strand, int32_t* transfer, uint64_t* begins) const {
    const FarCut by = cut(strand, *transfer);
    *begins += by.piece * static_cast<uint64_t>(by.lanes);
    find(strand, transfer, begins);
  }
  RONDO_ALGO uint64_t bytesAt(const Strand& strand, int32_t transfer, uint64_t begins) const {
    return farLeast(cut(strand, transfer).piece, call_.piece[transfer].bytes - begins);
  }

  RONDO_ALGO uint64_t place(const Strand& strand, uint32_t piece) const {
    return static_cast<uint64_t>(strand.number) * kFarPairSlots + piece % kFarPairSlots;
  }
  RONDO_ALGO uint32_t* rungFor(const Strand& strand, uint32_t piece) const {
    const auto lane = static_cast<uint32_t>(strand.lane),
               queue = static_cast<uint32_t>(strand.queue.queue);
    return call_.view.rung + lane * call_.view.rungWords + queue * kFarPairSlots +
           piece % kFarPairSlots;
  }
  RONDO_ALGO unsigned char* slot(uint64_t place) const {
    return call_.view.slots + place * call_.view.pieceBytes;
  }

  RONDO_ALGO bool hasRoom(const FarHeld& held) const {
    return held.rung - held.taken < kFarPairSlots;
  }
  RONDO_ALGO bool canPut(const Strand& strand, const FarHeld& held) const {
    return held.next != strand.queue.end && hasRoom(held);
  }
  RONDO_ALGO bool inLines(int32_t transfer) const {
    return call_.piece[transfer].bytes <= call_.view.mostInLines;
  }
  RONDO_ALGO FarLine* linesOf(const Strand& strand, uint32_t piece) const {
    const auto queue = static_cast<uint64_t>(strand.queue.queue);
    return call_.view.lines + (queue * kFarPairSlots + piece % kFarPairSlots) * kFarPairLines;
  }
  /// A letter goes in lines unless data that do not have to be there before it.
  RONDO_ALGO void putIn(const Strand& strand, FarHeld& held) {
    const uint32_t number = held.begun + held.rung;
    const FarPiece& piece = call_.piece[held.next];
    const uint64_t to = place(strand, number), bytes = bytesAt(strand, held.next, held.nextAt);
    unsigned char* const data = piece.data + held.nextAt;
    const bool lined = inLines(held.next), stays = lies(strand, held.next);
    const bool gives = strand.sends() && !stays;
    const FarPairLetter mail{stays ? data : nullptr, bytes, held.nextAt, piece.bytes,
                             lined ? 1u : 0u};
    if (lined || (!gives && strand.lane == 0 && call_.view.mostInLines != 0)) {
      // The place is the network's once a few threads have put the letter in: all must have read
      // what it had.
      if (!strand.sends() && held.taken != held.left) hands_.meet();
      FarLine* const lines = linesOf(strand, number);
      hands_.toLines(lines, farPairLetterLined(), farTag(number + 1), &mail);
      if (gives) {
        hands_.toLines(lines + kFarPairLetterLines, FarLined{1, bytes, 0}, farTag(number + 1),
                       data);
      }
    } else {
      if (gives) hands_.toHost(slot(to), data, bytes);
      hands_.write(&call_.view.letters[to], mail);
      hands_.ring(rungFor(strand, number), number + 1);
    }
    ++held.rung;
    step(strand, &held.next, &held.nextAt);
  }

  RONDO_ALGO bool takeOut(const Strand& strand, FarHeld& held) {
    if (held.taken == held.rung) return false;
    const uint32_t number = held.begun + held.taken;
    const bool gets = !strand.sends() && !lies(strand, held.oldest);
    if (gets && inLines(held.oldest)) {
      const FarPiece& piece = call_.piece[held.oldest];
      if (!hands_.gotLines(linesOf(strand, number) + kFarPairLetterLines,
                           FarLined{1, piece.bytes, 0}, farTag(number + 1), piece.data)) {
        return false;
      }
    } else {
      const uint64_t from = place(strand, number);
      if (!hands_.rang(&call_.view.answered[from].value, number + 1)) return false;
      if (held.taken < held.left) {  // an earlier launch's
        ++held.taken;
        return true;
      }
      if (gets) {
        hands_.fromHost(call_.piece[held.oldest].data + held.oldAt, slot(from),
                        bytesAt(strand, held.oldest, held.oldAt));
      }
    }
    ++held.taken;
    step(strand, &held.oldest, &held.oldAt);
    return true;
  }

  Hands& hands_;
  const FarExchangeCall& call_;
};

}  // namespace rondo
