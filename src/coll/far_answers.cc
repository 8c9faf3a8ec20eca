#include "coll/far_answers.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/own_thread.h"
#include "base/ticks.h"
#include "coll/flight_view.h"
#include "coll/place_text.h"
#include "p2p/process_state.h"
#include "p2p/segment.h"

namespace rondo {
namespace {

/// What is asked meanwhile is answered together: reading what all ranks are at takes a millisecond.
constexpr std::chrono::milliseconds kBetweenAnswers{20};

/// What a reader elsewhere compares ranks by.
void writeFacts(const FlightProcess& process, const FlightComm& comm, int64_t now,
                PlaceAnswer* said) {
  if (isProcess(process.pid, process.token) && readProcessState(process.pid).stopped()) {
    said->flags |= PlaceAnswer::kStopped;
  }
  const FlightOp* const op = comm.lastCollective();
  said->sequence = comm.collectives();
  if (said->sequence != 0) said->flags |= PlaceAnswer::kCalled;
  if (op == nullptr) return;
  const int64_t age = std::max<int64_t>(0, now - (op->running() ? op->started : op->ended));
  if (op->running()) said->flags |= PlaceAnswer::kRunning;
  said->ageMs = static_cast<uint32_t>(std::min<int64_t>(age / 1'000'000, UINT32_MAX));
}

/// Of one rank, as the status areas of this host have it. False: it is not seen there.
bool placeOf(const std::vector<FlightProcess>& near, uint64_t id, const PlaceQuestion& question,
             PlaceAnswer* said) {
  const auto now = static_cast<int64_t>(monotonicNs());
  for (const FlightProcess& process : near) {
    for (const FlightComm& comm : process.comms) {
      if (comm.id != id || comm.rank != question.rank || !comm.alive) continue;
      said->text.write(question.inside != 0 ? placeText(process, comm, now)
                                            : placeForFar(process, comm, now));
      writeFacts(process, comm, now, said);
      return true;
    }
  }
  return false;
}

}  // namespace

FarAnswers& FarAnswers::one() {
  static FarAnswers* const answers = new FarAnswers;  // its thread may outlive every static
  return *answers;
}

void FarAnswers::add(uint64_t id, Fabric* fabric, bool carries) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (board_ == nullptr) board_ = &StatusArea::places(Segment::own().base());
    const auto place = carries ? posts_.end()
                               : std::find_if(posts_.begin(), posts_.end(),
                                              [](const Post& each) { return each.carries; });
    posts_.insert(place, {id, fabric, carries});
    if (!started_) start();
  }
  fabric->onQuestions([] { one().wake(); });
  wake();  // somebody may have asked before
}

void FarAnswers::remove(const Fabric* fabric) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(posts_, [fabric](const Post& each) { return each.fabric == fabric; });
}

void FarAnswers::start() noexcept {
  try {
    ownThread("the thread that tells other hosts where ranks are", [this] { loop(); }).detach();
    started_ = true;
  } catch (...) {  // the next communicator tries again
  }
}

void FarAnswers::wake() { ringBell(&board_->bell); }

void FarAnswers::loop() {
  pthread_setname_np(pthread_self(), "rondo-answers");
  for (uint32_t heard = 0;;) {
    const uint32_t rung = std::atomic_ref(board_->bell).load(std::memory_order_acquire);
    if (rung == heard) {
      awaitBell(&board_->bell, heard);
      continue;
    }
    heard = rung;
    serveRequest();
    publish();
    const bool passed = passOn();
    std::vector<Letter> letters = collect();
    if (letters.empty()) {
      if (passed) std::this_thread::sleep_for(kBetweenAnswers);
      continue;
    }
    const std::vector<FlightProcess> near = readNearFlights();
    std::erase_if(letters, [&near](Letter& each) {
      return !placeOf(near, each.post.id, each.asked.question, &each.said);
    });
    send(letters);
    std::this_thread::sleep_for(kBetweenAnswers);
  }
}

/// Somebody outside wants to know what all ranks of other hosts are at.
void FarAnswers::serveRequest() {
  const uint32_t wanted = std::atomic_ref(board_->wanted).load(std::memory_order_acquire);
  std::atomic_ref<uint32_t> served(board_->served);
  if (served.load(std::memory_order_relaxed) == wanted) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  std::atomic_ref(board_->count).store(0, std::memory_order_release);
  std::vector<uint64_t> done;  // ranks that are threads have one communicator several times
  for (const Post& post : posts_) {
    if (std::find(done.begin(), done.end(), post.id) != done.end()) continue;
    done.push_back(post.id);
    ask(post);
  }
  served.store(wanted, std::memory_order_release);
}

void FarAnswers::ask(const Post& post) {
  uint32_t count = std::atomic_ref(board_->count).load(std::memory_order_relaxed);
  std::vector<int> ranks;
  for (const int rank : post.fabric->farRanks()) {
    if (count >= PlaceBoard::kMost) break;  // others may write there
    PlaceBoard::Entry& entry = board_->entries[count++];
    std::atomic_ref(entry.answered).store(0, std::memory_order_release);
    entry.rank = rank;
    entry.comm = post.id;
    ranks.push_back(rank);
  }
  std::atomic_ref(board_->count).store(count, std::memory_order_release);
  post.fabric->survey(ranks);
}

/// Of a rank that has let go nobody answers any more: that is known here.
bool FarAnswers::answerOf(const Fabric& fabric, int rank, PlaceAnswer* said) {
  if (fabric.surveyed(rank, said)) return true;
  const bool known = rank >= 0 && rank < fabric.ranks();  // others may write it
  if (!known || !fabric.gone(rank)) return false;
  said->flags = PlaceAnswer::kGone;
  said->text.write("has let go of it, or has ended");
  return true;
}

/// Puts the answers that have come where the asker reads them.
void FarAnswers::publish() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint32_t count = std::atomic_ref(board_->count).load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < std::min(count, PlaceBoard::kMost); ++i) {
    PlaceBoard::Entry& entry = board_->entries[i];
    std::atomic_ref<uint32_t> answered(entry.answered);
    if (answered.load(std::memory_order_relaxed) != 0) continue;
    const auto post = std::find_if(posts_.begin(), posts_.end(),
                                   [&](const Post& each) { return each.id == entry.comm; });
    PlaceAnswer said{};
    std::string text;
    if (post == posts_.end() || !answerOf(*post->fabric, entry.rank, &said)) continue;
    if (!said.text.read(&text)) continue;
    entry.flags = said.flags;
    entry.sequence = said.sequence;
    entry.ageMs = said.ageMs;
    entry.text.write(text);
    answered.store(1, std::memory_order_release);
  }
}

/// What came for others: their ranks may be elsewhere, and so may this process's.
bool FarAnswers::passOn() {
  bool any = false;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Post& post : posts_) any |= post.fabric->passOn();
  return any;
}

std::vector<FarAnswers::Letter> FarAnswers::collect() {
  std::vector<Letter> letters;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Post& post : posts_) {
    for (const FarPlaces::Asked& asked : post.fabric->takeQuestions()) {
      letters.push_back({post, asked, {}});
    }
  }
  return letters;
}

/// Communicators may have ended since.
void FarAnswers::send(const std::vector<Letter>& letters) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Letter& each : letters) {
    const bool there = std::any_of(posts_.begin(), posts_.end(), [&](const Post& post) {
      return post.fabric == each.post.fabric && post.id == each.post.id;
    });
    if (there) each.post.fabric->answer(each.asked, each.said);
  }
}

}  // namespace rondo
