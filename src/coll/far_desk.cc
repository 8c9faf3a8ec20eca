#include "coll/far_desk.h"

#include <sched.h>

#include <utility>

#include "base/error.h"
#include "coll/far_lines.h"

namespace rondo {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kWatchEvery{10};
/// Chunks; a power of two, long before tags of lines come again.
constexpr uint32_t kFarClearEvery = 1u << 28;

uint32_t look(uint32_t& word) {
  return std::atomic_ref<uint32_t>(word).load(std::memory_order_acquire);
}
void answer(FarWord& word, uint32_t number) {
  std::atomic_ref<uint32_t>(word.value).store(number, std::memory_order_release);
}

/// Both sides of a piece have the same, if their transfers are equally long and as far.
uint64_t tagOf(const FarPairLetter& letter) {
  return letter.whole + letter.offset * 0x9e3779b97f4a7c15u;
}

}  // namespace

/// Whether all blocks of a kernel have put in their part of the next chunk.
bool FarChunks::rang() {
  const uint32_t slot = next_ % kFarSlots;
  if (lineBegun(*inLines(), farTag(next_ + 1))) return rangInLines();
  uint32_t* const words = view_.rung + slot * kFarBlocks;
  if (look(words[0]) != next_ + 1) return false;
  for (uint32_t b = 1; b < view_.letters[slot].blocks; ++b) {
    if (look(words[b]) != next_ + 1) return false;
  }
  letter_ = view_.letters[slot];
  return true;
}

/// Whether all lines of it have come, which are taken then.
bool FarChunks::rangInLines() {
  const uint32_t tag = farTag(next_ + 1);
  auto* const letter = reinterpret_cast<unsigned char*>(&letter_);
  if (!takeLines(inLines(), farLetterLined(), tag, letter)) return false;
  const FarLined data{letter_.srcSlots, letter_.slotBytes, letter_.slotBytes};
  unsigned char* const in = view_.in + next_ % kFarSlots * view_.slotBytes;
  return takeLines(inLines() + farLetterLined().lines(), data, tag, in);
}

void FarChunks::answerInLines() {
  // Tags come again: by then no line may still have this one. The kernel writes none of this slot
  // before it has its answer.
  if (next_ % kFarClearEvery < kFarSlots) {
    clearLines(inLines(), kFarInLines);
    clearLines(outLines(), kMostFarLines);
  }
  const FarLined data{letter_.dstSlots, letter_.slotBytes, letter_.slotBytes};
  putLines(outLines(), data, farTag(next_ + 1), view_.out + next_ % kFarSlots * view_.slotBytes);
}

void FarChunks::startAt(uint32_t number) {
  next_ = number + (lane_ - number) % lanes_;
  clearLines(view_.inLines, kFarSlots * kFarInLines);
  clearLines(view_.outLines, kFarSlots * kMostFarLines);
}

void FarChunks::start() {
  const uint32_t slot = next_ % kFarSlots;
  const FarLetter& letter = letter_;
  onRail_ = letter.onRail != 0;
  if (onRail_ && checkRail_) checkRail_();
  Communicator& carrier = onRail_ ? *carriers_.rail : *carriers_.all;
  const PlanKey key{letter.count, static_cast<rondoDataType_t>(letter.type),
                    static_cast<rondoRedOp_t>(letter.op), letter.root,
                    static_cast<Collective>(letter.collective)};
  unsigned char* const in = view_.in + slot * view_.slotBytes;
  // A broadcast's root has what it gives, and its kernel waits for nothing.
  const bool gives = key.collective == Collective::Broadcast && letter.root == carrier.place().rank;
  run_.addCollective(carrier, letter.name,
                     {key, in, gives ? in : view_.out + slot * view_.slotBytes});
  run_.issue(OpOrigin::Device);
  running_ = true;
}

bool FarChunks::poll(FarFailure* failure) {
  bool moved = false;
  for (;;) {
    if (!running_) {
      if (!rang()) return moved;
      start();
    }
    moved |= run_.tryPoll();
    if (!run_.done()) return moved;
    const OperationFault& fault = run_.fault();
    if (fault.call != nullptr) {
      *failure = {fault.code, std::string(fault.call) + ": " + fault.what};
      return true;
    }
    run_.close();
    running_ = false;
    answerInLines();
    answer(view_.answered[next_ % kFarSlots], next_ + 1);
    next_ += lanes_;
    ++done_;
  }
}

FarPieces::FarPieces(Communicator& carrier, const FarPairView& view, FarZeroCopy zeroCopy)
    : carrier_(carrier), view_(view), zeroCopy_(std::move(zeroCopy)) {
  const int rank = carrier.place().rank, n = carrier.place().size;
  queues_ = std::vector<Queue>(static_cast<size_t>(farQueues(n)));
  for (size_t index = 0; index < queues_.size(); ++index) {
    queues_[index].peer = farPeer(index, rank, n);
    queues_[index].sends = index % 2 == 0;
  }
}

void FarPieces::startAt(uint32_t number) {
  for (Queue& queue : queues_) queue.begun = number;
}

bool FarPieces::rang(size_t index) const {
  const uint32_t begun = queues_[index].begun;
  return look(view_.rung[placeOf(index, begun)]) == begun + 1;
}

bool FarPieces::settled() const {
  if (busy()) return false;
  for (size_t i = 0; i < queues_.size(); ++i) {
    if (rang(i)) return false;
  }
  return true;
}

bool FarPieces::start(size_t index) {
  if (!rang(index)) return false;
  Queue& queue = queues_[index];
  const size_t place = placeOf(index, queue.begun);
  const FarPairLetter& mail = view_.letters[place];
  unsigned char* const data = view_.slots + place * view_.pieceBytes;
  queue.transfer = {queue.peer, queue.sends, reinterpret_cast<char*>(data),
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
  ZeroCopy*& move = queue.moves[(queue.begun - 1) % kFarPairSlots];
  move = queue.sends ? network().sendZeroCopy(queue.peer, mail.lies, mail.bytes, zeroCopy_.kind)
                     : network().receiveZeroCopy(queue.peer, mail.lies, mail.bytes, zeroCopy_.kind);
  ++moving_;
}

bool FarPieces::endMoves(size_t index) {
  Queue& queue = queues_[index];
  bool any = false;
  for (uint32_t slot = 0; slot < kFarPairSlots; ++slot) {
    if (queue.moves[slot] == nullptr || !queue.moves[slot]->ended()) continue;
    network().giveBack(std::exchange(queue.moves[slot], nullptr));
    if (!queue.sends) zeroCopy_.settle();
    --moving_;
    finish(placeOf(index, slot));
    any = true;
  }
  return any;
}

void FarPieces::finish(size_t place) {
  answer(view_.answered[place], look(view_.rung[place]));
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
      finish(placeOf(index, queue.begun - 1));
    }
  }
  return moved;
}

bool FarPieces::poll(FarFailure* failure) {
  bool moved = false;
  if (moving_ > 0) network().progress();
  for (size_t i = 0; i < queues_.size() && failure->what.empty(); ++i) {
    moved |= pollQueue(i, failure);
  }
  if (failure->what.empty() && busy() && !moved && carrier_.aborted()) {
    Communicator::End end = carrier_.endOf();
    *failure = {end.code, "sends and receives: " + end.why};
  }
  return moved;
}

FarDesk::FarDesk(std::vector<FarCarriers> chunks, std::unique_ptr<Communicator> pieces,
                 const FarView& view, const FarPairView& pairs, FaultWords* faults,
                 FarZeroCopy zeroCopy)
    : chunkCarriers_(std::move(chunks)),
      pieceCarrier_(std::move(pieces)),
      faults_(faults),
      pieces_(*pieceCarrier_, pairs, std::move(zeroCopy)) {
  const auto lanes = static_cast<uint32_t>(chunkCarriers_.size());
  for (uint32_t k = 0; k < lanes; ++k) {
    lanes_.push_back(std::make_unique<Lane>(chunkCarriers_[k], view, k, lanes));
  }
  lanes_[0]->pieces = &pieces_;
}

bool FarDesk::busy(int lane) const {
  return lane < lanes() && lanes_[static_cast<size_t>(lane)]->busy() &&
         !failed_.load(std::memory_order_relaxed);
}

bool FarDesk::poll(int number) {
  if (number >= lanes()) return false;
  Lane& lane = *lanes_[static_cast<size_t>(number)];
  if (lane.owner.exchange(1, std::memory_order_acquire) != 0) return false;
  bool moved = false;
  if (!failed_.load(std::memory_order_relaxed)) {
    FarFailure failure;
    try {
      moved = pollLane(lane, &failure);
    } catch (const Error& error) {
      failure = {error.code(), error.sentence()};
    } catch (const std::exception& error) {
      failure = {rondoInternalError, error.what()};
    }
    if (!failure.what.empty()) fail(std::move(failure));
  }
  lane.owner.store(0, std::memory_order_release);
  return moved;
}

bool FarDesk::pollLane(Lane& lane, FarFailure* failure) {
  const uint32_t before = lane.done();
  bool moved = lane.chunks.poll(failure);
  if (failure->what.empty() && lane.pieces != nullptr) moved |= lane.pieces->poll(failure);
  const uint32_t answers = lane.done() - before;
  if (answers != 0) owed_.fetch_sub(answers, std::memory_order_relaxed);
  if (!failure->what.empty()) return true;
  // Also of a kernel that was answered a moment later: others may get what it left in its buffer.
  if (!moved && look(faults_->error) != 0) {
    *failure = {rondoRemoteError,
                "a kernel waited longer than RONDO_SPIN_BOUND_MS for a peer and was given up"};
    return true;
  }
  if (moved || !lane.busy()) {
    lane.idle = false;
    return moved;
  }
  const auto now = Clock::now();
  if (!lane.idle) {
    lane.idle = true;
    lane.since = now;
    lane.watchAt = now + kWatchEvery;
  } else if (now >= lane.watchAt) {
    lane.watchAt = now + kWatchEvery;
    watch(lane);
  }
  return moved;
}

/// Who waits looks for peers that ended, and reports a stall.
void FarDesk::watch(Lane& lane) {
  const Communicator& carrier = lane.chunks.busy() ? lane.chunks.carrier() : *pieceCarrier_;
  const WaitPolicy& policy = carrier.groupWait();
  if (policy.watch) policy.watch(Clock::now() - lane.since);
}

void FarDesk::fail(FarFailure failure) {
  std::function<void(rondoResult_t)> tell;
  const rondoResult_t code = failure.code;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_.what.empty()) return;  // another lane came first
    // What the carriers say of an abort is about themselves: who caused it the communicator knows.
    const bool echo = ended_ && failure.code == rondoRemoteError;
    if (!echo) failure_ = std::move(failure);
    tell = std::exchange(onFailure_, nullptr);
  }
  failed_.store(true, std::memory_order_release);
  // First the communicator: a kernel that ends now has wrong data, and whoever then asks
  // rondoCommGetAsyncError must hear so.
  if (tell) tell(code);
  endWaits();
}

void FarDesk::abort() noexcept {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  endWaits();
}

void FarDesk::endWaits() noexcept {
  std::atomic_ref<uint32_t>(faults_->abort).store(1);
  for (const FarCarriers& lane : chunkCarriers_) {
    lane.all->abort();
    if (lane.rail) lane.rail->abort();
  }
  pieceCarrier_->abort();
}

FarFailure FarDesk::failure() const {
  if (!failed_.load(std::memory_order_acquire)) return {};
  const std::lock_guard<std::mutex> lock(mutex_);
  return failure_;
}

void FarDesk::checkRailsBy(const std::function<void()>& check) {
  for (const auto& lane : lanes_) lane->chunks.checkRailsBy(check);
}

void FarDesk::onFailure(std::function<void(rondoResult_t)> call) {
  const std::lock_guard<std::mutex> lock(mutex_);
  onFailure_ = std::move(call);
}

void FarDesk::startAt(uint32_t number) {
  close();
  for (const auto& lane : lanes_) lane->chunks.startAt(number);
  pieces_.startAt(number);
  for (const auto& lane : lanes_) lane->owner.store(0, std::memory_order_release);
}

bool FarDesk::settled() {
  for (const auto& lane : lanes_) {
    if (failed_.load(std::memory_order_acquire)) return true;
    if (lane->owner.exchange(1, std::memory_order_acquire) != 0) return false;
    const bool pieces = lane->pieces == nullptr || lane->pieces->settled();
    const bool all = pieces && lane->chunks.settled();
    lane->owner.store(0, std::memory_order_release);
    if (!all) return false;
  }
  return true;
}

void FarDesk::close() {
  for (const auto& lane : lanes_) {
    while (lane->owner.exchange(1, std::memory_order_acquire) != 0) sched_yield();
  }
}

}  // namespace rondo
