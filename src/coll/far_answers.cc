#include "coll/far_answers.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/own_thread.h"
#include "base/ticks.h"
#include "coll/flight_view.h"
#include "coll/place_text.h"

namespace rondo {
namespace {

/// What is asked meanwhile is answered together: reading what all ranks are at takes a millisecond.
constexpr std::chrono::milliseconds kBetweenAnswers{20};

/// Of one rank, as the status areas of this host have it. False: it is not seen there.
bool placeOf(const std::vector<FlightProcess>& near, uint64_t id, const PlaceQuestion& question,
             std::string* text) {
  const auto now = static_cast<int64_t>(monotonicNs());
  for (const FlightProcess& process : near) {
    for (const FlightComm& comm : process.comms) {
      if (comm.id != id || comm.rank != question.rank || !comm.alive) continue;
      *text =
          question.inside != 0 ? placeText(process, comm, now) : placeForFar(process, comm, now);
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

void FarAnswers::add(uint64_t id, Fabric* fabric) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    posts_.push_back({id, fabric});
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

void FarAnswers::wake() {
  {
    const std::lock_guard<std::mutex> lock(wakeMutex_);
    asked_ = true;
  }
  woken_.notify_one();
}

void FarAnswers::loop() {
  pthread_setname_np(pthread_self(), "rondo-answers");
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(wakeMutex_);
      woken_.wait(lock, [this] { return asked_; });
      asked_ = false;
    }
    std::vector<Letter> letters = collect();
    if (letters.empty()) continue;
    const std::vector<FlightProcess> near = readNearFlights();
    std::erase_if(letters, [&near](Letter& each) {
      return !placeOf(near, each.post.id, each.asked.question, &each.text);
    });
    send(letters);
    std::this_thread::sleep_for(kBetweenAnswers);
  }
}

std::vector<FarAnswers::Letter> FarAnswers::collect() {
  std::vector<Letter> letters;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Post& post : posts_) {
    for (const FarPlaces::Asked& asked : post.fabric->takeQuestions()) {
      letters.push_back({post, asked, ""});
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
    if (there) each.post.fabric->answer(each.asked, each.text);
  }
}

}  // namespace rondo
