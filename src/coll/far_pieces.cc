#include "coll/far_pieces.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "coll/far_lines.h"
#include "coll/far_words.h"

namespace rondo {
namespace {

/// Both sides of a piece have the same, if their transfers are equally long and as far.
uint64_t tagOf(const FarPairLetter& letter) {
  return letter.whole + letter.offset * 0x9e3779b97f4a7c15u;
}

}  // namespace

FarPieces::FarPieces(Communicator& carrier, const FarPairView& view, int lane, FarZeroCopy zeroCopy)
    : carrier_(carrier), view_(view), lane_(lane), zeroCopy_(std::move(zeroCopy)) {
  const int rank = carrier.place().rank, n = carrier.place().size;
  queues_ = std::vector<Queue>(static_cast<size_t>(farQueues(n)));
  for (size_t index = 0; index < queues_.size(); ++index) {
    queues_[index].peer = farPeer(index, rank, n);
    queues_[index].sends = index % 2 == 0;
  }
}

void FarPieces::startAt(uint32_t number) {
  for (Queue& queue : queues_) queue.begun = number;
  if (hasLines()) clearLines(view_.lines, queues_.size() * kFarPairSlots * kFarPairLines);
}

/// Of the next piece, once all of it has come.
bool FarPieces::takeLetter(size_t index) {
  const Queue& queue = queues_[index];
  const uint32_t tag = farTag(queue.begun + 1);
  if (!hasLines() || !lineBegun(*linesOf(index, queue.begun), tag)) {
    return look(rungFor(index, queue.begun)) == queue.begun + 1;
  }
  FarPairLetter& mail = letterOf(index, queue.begun);
  const FarLine* const lines = linesOf(index, queue.begun);
  if (!takeLines(lines, farPairLetterLined(), tag, reinterpret_cast<unsigned char*>(&mail))) {
    return false;
  }
  noteRing(rungFor(index, queue.begun), queue.begun + 1);
  return !queue.sends || mail.lies != nullptr ||
         takeLines(lines + kFarPairLetterLines, {1, mail.bytes, 0}, tag,
                   slotOf(index, queue.begun));
}

bool FarPieces::owes(size_t index) {
  const Queue& queue = queues_[index];
  if (!queue.sends || carrier_.fabric()->gone(queue.peer)) return false;
  return queue.busy() || takeLetter(index);
}

bool FarPieces::owes() {
  for (size_t i = 0; i < queues_.size(); ++i) {
    if (owes(i)) return true;
  }
  return false;
}

bool FarPieces::start(size_t index) {
  if (!takeLetter(index)) return false;
  Queue& queue = queues_[index];
  const FarPairLetter& mail = letterOf(index, queue.begun);
  queue.transfer = {queue.peer, queue.sends, reinterpret_cast<char*>(slotOf(index, queue.begun)),
                    mail.lies != nullptr ? 0 : mail.bytes};
  ExchangeContext context = carrier_.exchangeContext();
  context.tag = tagOf(mail);
  queue.exchange.begin(carrier_.channels(), carrier_.place().rank, {&queue.transfer, 1}, context);
  ++queue.begun;
  queue.running = true;
  ++running_;
  return true;
}

/// The piece that was begun last is what the peer expects, too.
void FarPieces::move(size_t index) {
  Queue& queue = queues_[index];
  const FarPairLetter& mail = letterOf(index, queue.begun - 1);
  ZeroCopy* const move =
      queue.sends ? network().sendZeroCopy(queue.peer, mail.lies, mail.bytes, zeroCopy_.kind)
                  : network().receiveZeroCopy(queue.peer, mail.lies, mail.bytes, zeroCopy_.kind);
  queue.moves[(queue.begun - 1) % kFarPairSlots] = {move, queue.begun - 1};
  ++moving_;
}

bool FarPieces::endMoves(size_t index) {
  Queue& queue = queues_[index];
  bool any = false;
  for (Queue::Move& move : queue.moves) {
    if (move.copy == nullptr || !move.copy->ended()) continue;
    network().giveBack(std::exchange(move.copy, nullptr));
    if (!queue.sends) zeroCopy_.settle();
    --moving_;
    finish(index, move.piece);
    any = true;
  }
  return any;
}

/// Its kernel goes on, and writes into the place, as soon as it sees an answer.
void FarPieces::finish(size_t index, uint32_t piece) {
  const size_t place = placeOf(index, piece);
  if (hasLines() && piece % kFarClearEvery < kFarPairSlots) {
    clearLines(linesOf(index, piece), kFarPairLines);
  }
  if (letterOf(index, piece).inLines != 0 && !queues_[index].sends) {
    putLines(linesOf(index, piece) + kFarPairLetterLines, {1, letterOf(index, piece).bytes, 0},
             farTag(piece + 1), slotOf(index, piece));
  }
  answer(view_.answered[place], piece + 1);
  ++done_;
}

bool FarPieces::pollQueue(size_t index, FarFailure* failure) {
  Queue& queue = queues_[index];
  bool moved = moving_ > 0 && endMoves(index);
  while (queue.running || start(index)) {
    if (!queue.exchange.poll(&moved)) {
      if (!queue.exchange.mismatch()) return moved;
      *failure = {rondoMismatch,
                  format("rondoRecv: rank %d receives %llu bytes from rank %d, which sends another "
                         "number of bytes; allowed: the count of the matching rondoSend",
                         carrier_.place().rank,
                         static_cast<unsigned long long>(letterOf(index, queue.begun - 1).whole),
                         queue.peer)};
      return true;
    }
    queue.running = false;
    --running_;
    moved = true;
    if (letterOf(index, queue.begun - 1).lies != nullptr) {
      move(index);
    } else {
      finish(index, queue.begun - 1);
    }
  }
  return moved;
}

std::chrono::steady_clock::duration FarPieces::longestWait(
    std::chrono::steady_clock::time_point now) {
  std::chrono::steady_clock::duration longest{};
  for (Queue& queue : queues_) {
    if (!queue.busy()) continue;
    if (queue.since == std::chrono::steady_clock::time_point{}) queue.since = now;
    longest = std::max(longest, now - queue.since);
  }
  return longest;
}

bool FarPieces::poll(FarFailure* failure) {
  bool moved = false;
  if (moving_ > 0) network().progress();
  for (size_t i = 0; i < queues_.size() && failure->what.empty(); ++i) {
    if (!pollQueue(i, failure)) continue;
    queues_[i].since = {};
    moved = true;
  }
  if (failure->what.empty() && busy() && !moved && carrier_.aborted()) {
    Communicator::End end = carrier_.endOf();
    *failure = {end.code, end.code == rondoMismatch ? end.why : "sends and receives: " + end.why};
  }
  return moved;
}

}  // namespace rondo
