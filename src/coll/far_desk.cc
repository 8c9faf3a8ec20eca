#include "coll/far_desk.h"

#include <sched.h>

#include <utility>

#include "base/error.h"
#include "coll/far_lines.h"
#include "coll/far_words.h"

namespace rondo {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kWatchEvery{10};
/// Polls that moved something, between looks at the clock.
constexpr uint32_t kMovesBetweenLooks = 64;

/// What another rank's desk has said begins with a call already.
std::string named(const char* call, const std::string& what) {
  return what.rfind("rondo", 0) == 0 ? what : std::string(call) + ": " + what;
}

}  // namespace

/// Whether all blocks of a kernel have put in their part of the next chunk.
bool FarChunks::rang() {
  const uint32_t slot = next_ % kFarSlots;
  if (lineBegun(*inLines(), farTag(next_ + 1))) return rangInLines();
  uint32_t* const words = view_.rung + slot * kFarLineWords;
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

bool FarChunks::getsNothing(int rank) const {
  const auto collective = static_cast<Collective>(letter_.collective);
  return slotUse(collective, rank, letter_.root).dst == Slots::None ||
         (collective == Collective::Broadcast && rank == letter_.root);
}

bool FarChunks::owes() {
  if (!running_ && !rang()) return false;
  const Communicator& carrier = carrierOf(letter_);
  const RankPlace& place = carrier.place();
  if (!getsNothing(place.rank)) return false;
  for (int r = 0; r < place.size; ++r) {
    if (r != place.rank && !carrier.fabric()->gone(r)) return true;
  }
  return false;
}

/// Before the chunk is answered: blocks that did not ring for it, as all if its letter came in
/// lines, leave no old number in their words.
void FarChunks::noteRings() {
  for (uint32_t b = 0; b < kFarBlocks; ++b) {
    noteRing(view_.rung[next_ % kFarSlots * kFarLineWords + b], next_ + 1);
  }
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
  if (letter.onRail != 0 && checkRail_) checkRail_();
  Communicator& carrier = carrierOf(letter);
  const PlanKey key{letter.count, static_cast<rondoDataType_t>(letter.type),
                    static_cast<rondoRedOp_t>(letter.op), letter.root,
                    static_cast<Collective>(letter.collective)};
  unsigned char* const in = view_.in + slot * view_.slotBytes;
  // A broadcast's root has what it gives, and nobody reads what it would get.
  const bool gives = getsNothing(carrier.place().rank);
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
      *failure = {fault.code, named(fault.call, fault.what)};
      return true;
    }
    run_.close();
    running_ = false;
    noteRings();
    answerInLines();
    answer(view_.answered[next_ % kFarSlots], next_ + 1);
    next_ += lanes_;
    ++done_;
  }
}

FarDesk::FarDesk(std::vector<FarCarriers> carriers, const FarView& view, const FarPairView& pairs,
                 FaultWords* faults, FarZeroCopy zeroCopy)
    : carriers_(std::move(carriers)), faults_(faults) {
  const auto lanes = static_cast<uint32_t>(carriers_.size());
  for (uint32_t k = 0; k < lanes; ++k) {
    lanes_.push_back(std::make_unique<Lane>(carriers_[k], view, k, lanes));
    if (k >= static_cast<uint32_t>(pairs.lanes)) continue;
    lanes_[k]->pieces =
        std::make_unique<FarPieces>(*carriers_[k].pieces, pairs, static_cast<int>(k), zeroCopy);
  }
  onNetworks([](FarTransport& network) { network.hurry(); });  // of the threads that poll
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
  const bool busy = lane.busy();
  if (moved || !busy) lane.idle = false;
  if (!busy || (moved && ++lane.moves % kMovesBetweenLooks != 0)) return moved;
  const auto now = Clock::now();
  if (!moved && !lane.idle) {
    lane.idle = true;
    lane.since = now;
  }
  if (now >= lane.watchAt) {
    lane.watchAt = now + kWatchEvery;
    watch(lane, now);
  }
  return moved;
}

/// Who waits looks for peers that ended, and reports a stall. How long a chunk waits its own polls
/// see, once they know that somebody waits.
void FarDesk::watch(Lane& lane, Clock::time_point now) {
  if (lane.idle && lane.chunks.busy() && now - lane.since >= kWatchEvery) {
    const WaitPolicy& policy = lane.chunks.carrier().pollersWait();
    if (policy.watch) policy.watch(now - lane.since);
  }
  if (lane.pieces == nullptr) return;
  const auto waited = lane.pieces->longestWait(now);
  const WaitPolicy& policy = lane.carriers.pieces->groupWait();
  if (waited >= kWatchEvery && policy.watch) policy.watch(waited);
}

void FarDesk::fail(FarFailure failure) {
  std::function<void(rondoResult_t)> tell;
  const rondoResult_t code = failure.code;
  const std::string differ = code == rondoMismatch ? failure.what : "";
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
  endWaits(differ);
}

template <class Act>
void FarDesk::onNetworks(const Act& act) const {
  for (const FarCarriers& lane : carriers_) {
    for (const auto* carrier : {&lane.all, &lane.pieces, &lane.rail}) {
      FarTransport* const network = *carrier != nullptr ? (*carrier)->fabric()->network() : nullptr;
      if (network != nullptr) act(*network);
    }
  }
}

void FarDesk::keep(const std::shared_ptr<void>& memory) const {
  onNetworks([&memory](FarTransport& network) { network.keep(memory); });
}

void FarDesk::abort() noexcept {
  // The progress thread calls it again and again; peers are told once.
  if (!ended_.exchange(true, std::memory_order_acq_rel)) endWaits();
}

/// Other ranks may see the ends of the carriers before that of the communicator: those say, too,
/// that calls `differ`.
void FarDesk::endWaits(const std::string& differ) noexcept {
  std::atomic_ref<uint32_t>(faults_->abort).store(1);
  for (const FarCarriers& lane : carriers_) {
    for (const auto* carrier : {&lane.all, &lane.pieces, &lane.rail}) {
      if (*carrier == nullptr) continue;
      differ.empty() ? (*carrier)->abort() : (*carrier)->abortDiffering(differ);
    }
  }
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
  for (const auto& lane : lanes_) {
    lane->chunks.startAt(number);
    if (lane->pieces != nullptr) lane->pieces->startAt(number);
  }
  for (const auto& lane : lanes_) lane->owner.store(0, std::memory_order_release);
}

bool FarDesk::settled() {
  for (const auto& lane : lanes_) {
    if (failed_.load(std::memory_order_acquire) || ended_.load(std::memory_order_acquire)) {
      return true;
    }
    if (lane->owner.exchange(1, std::memory_order_acquire) != 0) return false;
    const bool pieces = lane->pieces != nullptr && lane->pieces->owes();
    const bool owes = pieces || lane->chunks.owes();
    lane->owner.store(0, std::memory_order_release);
    if (owes) return false;
  }
  return true;
}

void FarDesk::close() {
  for (const auto& lane : lanes_) {
    while (lane->owner.exchange(1, std::memory_order_acquire) != 0) sched_yield();
  }
}

}  // namespace rondo
