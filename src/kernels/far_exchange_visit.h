#pragma once
// What a kernel does of sends and receives between hosts (kernels/far_call.h). Compiled by nvcc,
// and by the host compiler for tests.

#include <cstdint>

#include "kernels/far_call.h"

namespace rondo {

/// A queue of a launch, and how far it is. Kept where all threads of a block see it.
struct FarHeld {
  uint32_t begun;          ///< Pieces that surely were answered before this launch.
  uint32_t left;           ///< Pieces behind them, of earlier launches, which did not wait.
  uint32_t rung, taken;    ///< Those and this launch's: rung for, and done with.
  int32_t next, oldest;    ///< The transfers that those two come to.
  uint64_t nextAt, oldAt;  ///< Bytes of them that are behind.
};

/// What one block does of sends and receives: every block-th queue, whichever can go on, so that
/// none waits for another. Beside toHost, fromHost, write and ring (kernels/far_visit.h), `Hands`
/// have:
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
        bool changed = putIn(queue, held);
        if (!done(queue, held) && takeOut(queue, held)) {
          putIn(queue, held);
          changed = true;
        }
        moved = moved || changed;
        ended = ended && done(queue, held);
        hands_.keep(i, held, changed);
      }
      if (!ended && !hands_.idle(moved)) return;
    }
    for (int i = 0; queueOf(i) < call_.queues; ++i) {
      const FarHeld held = hands_.held(i);
      const int32_t queue = call_.queue[queueOf(i)].queue;
      hands_.endQueue(&call_.view.pieces[queue], held.begun + held.rung);
      hands_.endQueue(&call_.view.settled[queue], held.begun + held.taken);
    }
  }

 private:
  RONDO_ALGO int queueOf(int i) const { return hands_.block() + i * hands_.blocks(); }
  RONDO_ALGO void begin() {
    for (int i = 0; queueOf(i) < call_.queues; ++i) {
      const FarQueue& queue = call_.queue[queueOf(i)];
      const uint32_t settled = call_.view.settled[queue.queue];
      const uint32_t left = call_.view.pieces[queue.queue] - settled;
      hands_.keep(i, FarHeld{settled, left, left, 0, queue.begin, queue.begin, 0, 0}, true);
    }
  }
  /// Who sends waits for nobody, unless the network reads what it sends where it lies.
  RONDO_ALGO bool done(const FarQueue& queue, const FarHeld& held) const {
    if (held.oldest == queue.end) return true;
    if (queue.queue % 2 != 0 || held.next != queue.end) return false;
    if (queue.zeroCopies == 0) return true;
    for (int32_t t = held.oldest; t < queue.end; ++t) {
      if (lies(queue, t)) return false;
    }
    return true;
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
    if (held.taken < held.left) {  // an earlier launch's
      ++held.taken;
      return true;
    }
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
