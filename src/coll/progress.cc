#include "coll/progress.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/of_thread.h"
#include "base/own_thread.h"
#include "base/unique_fd.h"
#include "coll/patrol.h"
#include "p2p/peer_watch.h"

namespace rondo {
namespace {

using Clock = std::chrono::steady_clock;

/// Idle looks before the thread gives its core away, and before it sleeps between looks. A caller
/// that waits polls by itself, so the thread may be slow then.
constexpr int kLooksBeforeYield = 64;
constexpr int kLooksBeforeNap = 512;
constexpr std::chrono::microseconds kNap{50};
/// Where ranks have all cores it sleeps soon, for ever longer: who yields to a rank that computes
/// is back after the rank's time slice, milliseconds later, while who wakes up comes first, if it
/// does not so too often (naps of 5 us only: as slow as yields).
constexpr int kLooksBeforeShortNap = 4;
constexpr std::chrono::microseconds kShortNap{5};
constexpr unsigned long kTimerSlackNs = 1000;  // the system's is as long as a nap
/// With groups outstanding, between looks at the peers. By the clock: on a crowded host a hundred
/// naps, or yields, are seconds.
constexpr std::chrono::milliseconds kWatchEvery{10};
/// Looks that found something to do, between those at the clock.
constexpr uint32_t kMovesBetweenLooks = 64;
constexpr int kGraceNapMs = 25;

/// A group of operations up to so many bytes is left to its caller for a while: waking the thread
/// costs more than such a group takes (all-reduce of 8 B with computation, two ranks, each bound to
/// a core: 5.9 us against 1.2). So is every group where the thread has no core but its caller's,
/// where it can only take turns with it (128 KiB, the same: 101 us against 59; EPYC, 2026-11-21),
/// or where ranks have them all (all-to-all of 64 KiB, two ranks bound to nothing on two cores: 10
/// to 33 us, in bad stretches 500, against 7; 2026-11-28). There each time that it wakes in vain,
/// because callers poll, it stays away for twice as long.
constexpr uint64_t kShortBytes = 16384;
constexpr std::chrono::microseconds kPatience{100}, kMostPatience{1600};
/// A caller that waits polls far more often than so; one that computes and tests now and then does
/// not, and needs the thread.
constexpr std::chrono::microseconds kAttentive{20};

/// Groups that run by themselves in this process.
std::atomic<size_t> outstanding{0};
std::atomic<bool> allCoresTaken{false};

}  // namespace

struct ProgressThread::State {
  struct Entry {
    GroupRun* run;
    Clock::time_point due;  ///< From when on the thread polls it.
  };
  std::mutex mutex;
  std::vector<Entry> entries;
  std::vector<GroupRun*> due;  ///< The thread's own.
  UniqueFd timer;
  bool sharesCore = false;  ///< The thread has one core, most likely its caller's.
  bool hasOwnCore() const { return !sharesCore && !allCoresTaken.load(std::memory_order_relaxed); }
  std::chrono::microseconds patience = kPatience;
  bool asleep = false;
  Clock::time_point wakeAt = Clock::time_point::max();  ///< When the timer ends the sleep.

  /// A thread that is asleep wakes at `when`. Costs no switch to it now, unlike a condition
  /// variable.
  void arm(Clock::time_point when) {
    wakeAt = when;
    const auto ns = std::chrono::nanoseconds(when.time_since_epoch()).count();
    itimerspec spec{};
    spec.it_value = {ns / 1'000'000'000, ns % 1'000'000'000};
    timerfd_settime(timer.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
  }
  void count() { outstanding.store(entries.size(), std::memory_order_release); }
};

ProgressThread& ProgressThread::one() {
  static ProgressThread* thread = new ProgressThread;
  return *thread;
}

ProgressThread::ProgressThread() : state_(std::make_unique<State>()) {
  state_->timer = UniqueFd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  if (state_->timer.get() < 0) {
    throw systemError("the progress thread needs a timer, and timerfd_create failed", errno);
  }
  state_->sharesCore = boundToOneCore();
  ownThread("the progress thread", [this] { loop(); }).detach();
}

void ProgressThread::coresAreTaken() { allCoresTaken.store(true, std::memory_order_relaxed); }

void ProgressThread::tryStart() noexcept {
  try {
    one();
  } catch (...) {  // then peers are looked at while somebody waits
  }
}

void ProgressThread::add(GroupRun& run) {
  const bool patient = !state_->hasOwnCore() || run.longest() <= kShortBytes;
  const auto now = Clock::now();
  const std::lock_guard<std::mutex> lock(state_->mutex);
  const auto due = patient ? now + state_->patience : now;
  state_->entries.push_back({&run, due});
  state_->count();
  if (state_->asleep && due < state_->wakeAt) state_->arm(due);
}

void ProgressThread::remove(GroupRun& run) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  std::erase_if(state_->entries, [&run](const auto& entry) { return entry.run == &run; });
  state_->count();
}

void ProgressThread::patrol(const void* owner, std::function<void()> look) {
  Patrol::one().add(owner, std::move(look));
  try {  // it may be asleep for good
    State& state = *one().state_;
    const std::lock_guard<std::mutex> lock(state.mutex);
    if (state.asleep) state.arm(Clock::now());
  } catch (...) {  // then nobody looks
  }
}

bool ProgressThread::pollAll() {
  if (outstanding.load(std::memory_order_acquire) == 0) return false;
  // Runs are never freed, and one that was closed meanwhile refuses the poll.
  auto& runs = ofThread<std::vector<GroupRun*>, struct OfPolls>();
  runs.clear();
  {
    State& state = *one().state_;
    const std::lock_guard<std::mutex> lock(state.mutex);
    for (const auto& entry : state.entries) runs.push_back(entry.run);
  }
  bool moved = false;
  for (GroupRun* run : runs) {
    run->attend();
    moved |= run->tryPoll();
  }
  return moved;
}

/// Until a group is there that is due.
void ProgressThread::awaitEvent() {
  PeerWatch& peers = PeerWatch::one();
  bool looking = false;
  for (;;) {
    // While an end that was seen is given time, its descriptor stays readable: only the timer then.
    pollfd events[2] = {{state_->timer.get(), POLLIN, 0}, {peers.fd(), POLLIN, 0}};
    poll(events, looking || peers.fd() < 0 ? 1 : 2,
         looking ? kGraceNapMs : Patrol::one().pauseMs());
    Patrol::one().walk();
    if (events[0].revents != 0) break;
    looking = (looking || events[1].revents != 0) && peers.look();
  }
  uint64_t expirations = 0;
  while (read(state_->timer.get(), &expirations, sizeof expirations) < 0 && errno == EINTR) {
  }
}

void ProgressThread::sleepUntilDue() {
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    auto first = Clock::time_point::max();
    for (const auto& entry : state_->entries) first = std::min(first, entry.due);
    state_->asleep = true;
    state_->wakeAt = Clock::time_point::max();
    if (first != Clock::time_point::max()) state_->arm(first);
  }
  awaitEvent();
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->asleep = false;
}

/// Polls what is due; false if there is nothing.
bool ProgressThread::pollDue(bool* moved) {
  std::vector<GroupRun*>& due = state_->due;
  due.clear();
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    std::erase_if(state_->entries, [](const auto& entry) { return entry.run->done(); });
    state_->count();
    const auto now = Clock::now();
    const bool yields = !state_->hasOwnCore();
    const auto attentive = static_cast<uint32_t>(state_->patience / kAttentive);
    for (State::Entry& entry : state_->entries) {
      if (entry.due > now) continue;
      if (yields && entry.run->takeAttended() >= attentive) {
        entry.due = now + state_->patience;
      } else {
        due.push_back(entry.run);
      }
    }
  }
  for (GroupRun* run : due) *moved |= run->tryPoll();
  return !due.empty();
}

/// After so many looks in a row that found nothing; says whether others had the core meanwhile.
bool ProgressThread::rest(int idle) {
  if (state_->hasOwnCore()) {
    if (idle < kLooksBeforeYield) return false;
    if (idle < kLooksBeforeNap) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(kNap);
    }
    return true;
  }
  if (idle < kLooksBeforeShortNap) return false;
  const int longer = std::min(idle - kLooksBeforeShortNap, 4);
  std::this_thread::sleep_for(std::min(kShortNap * (1 << longer), kNap));
  return true;
}

/// Until nothing is due any more.
void ProgressThread::work() {
  int idle = 0;
  uint32_t looks = 0;
  bool moved = false;
  bool worked = false;
  auto watchAt = Clock::now() + kWatchEvery;
  while (pollDue(&moved)) {
    worked = true;
    idle = moved ? 0 : std::min(idle + 1, kLooksBeforeNap);
    moved = false;
    if (!rest(idle) && ++looks % kMovesBetweenLooks != 0) continue;
    const auto now = Clock::now();
    if (now >= watchAt) {
      PeerWatch::one().look();
      Patrol::one().walk();
      watchAt = now + kWatchEvery;
    }
  }
  const std::lock_guard<std::mutex> lock(state_->mutex);
  const bool inVain = !worked && !state_->hasOwnCore();
  state_->patience = inVain ? std::min(2 * state_->patience, kMostPatience) : kPatience;
}

void ProgressThread::loop() {
  pthread_setname_np(pthread_self(), "rondo-progress");
  prctl(PR_SET_TIMERSLACK, kTimerSlackNs);
  for (;;) {
    sleepUntilDue();
    work();
  }
}

}  // namespace rondo
