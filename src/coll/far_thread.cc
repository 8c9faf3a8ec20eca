#include "coll/far_thread.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/own_thread.h"

namespace rondo {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;

/// Without anything to do the thread looks for a while, because the next kernel mostly follows the
/// last one soon, then lets others run between looks, then naps. While something is under way a nap
/// is short: it adds to the time of the call.
constexpr uint32_t kLooksByClock = 64;
/// Meanwhile the first lane's receives what comes: a message that is there before its kernel rings
/// needs less then. Reduces of 32 KiB in a row take 0.92 of the time, broadcasts 0.96 (2 x H100).
constexpr uint32_t kLooksBeforeProgress = 4;
constexpr microseconds kSpin{200};
constexpr milliseconds kYield{2};
constexpr milliseconds kNapShort{50};
constexpr microseconds kShortNap{20};
/// Where a kernel may ring after a pause (its stream had other work, or a graph is launched, which
/// runs no host code): so late it may be noticed.
constexpr microseconds kLongNap{250};

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// When any thread did something last, in ns: the lanes take turns with short calls.
std::atomic<int64_t> lastMove{0};

std::atomic<FarThread*> threads[kFarSlots];

/// How long the library's end waits for them.
constexpr std::chrono::seconds kLastLook{2};

__attribute__((destructor)) void endThreads() { FarThread::endAll(); }

}  // namespace

struct FarThread::State {
  int lane = 0;
  pid_t process = getpid();
  std::mutex mutex;
  std::condition_variable awake;
  std::vector<std::shared_ptr<FarDesk>> desks;
  std::atomic<uint32_t> changes{0};  ///< Of `desks`.
  std::atomic<uint32_t> seenChanges{0};
  std::atomic<uint32_t> calls{0};  ///< wake() so far.
  std::atomic<bool> sleeps{false};
  std::atomic<bool> ends{false}, ended{false};
  // The thread's own.
  std::vector<std::shared_ptr<FarDesk>> served;
  uint32_t seenCalls = 0, looks = 0;
  bool shares = false;
  bool spins = false;  ///< It looks as often as it can.
};

FarThread& FarThread::of(int lane) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  FarThread* thread = threads[lane].load(std::memory_order_acquire);
  if (thread == nullptr) {
    thread = new FarThread(lane);
    threads[lane].store(thread, std::memory_order_release);
  }
  // Behind UCX's, so that it runs before that: which waits for what has been sent.
  static const int atExit = std::atexit(&FarThread::settleAtExit);
  static_cast<void>(atExit);
  return *thread;
}

void FarThread::settleAtExit() {
  FarThread& first = of(0);                       // has all desks
  if (getpid() != first.state_->process) return;  // a fork's end, without threads
  const Clock::time_point end = Clock::now() + kLastWords;
  while (!first.settled() && Clock::now() < end) std::this_thread::sleep_for(kShortNap);
}

void FarThread::endAll() {
  const Clock::time_point end = Clock::now() + kLastLook;
  for (const auto& each : threads) {
    FarThread* const thread = each.load(std::memory_order_acquire);
    if (thread == nullptr || getpid() != thread->state_->process) continue;
    thread->state_->ends = true;
    thread->wake();
  }
  for (const auto& each : threads) {
    FarThread* const thread = each.load(std::memory_order_acquire);
    if (thread == nullptr || getpid() != thread->state_->process) continue;
    while (!thread->state_->ended && Clock::now() < end) std::this_thread::sleep_for(kShortNap);
  }
}

/// Wakes whoever has something to do yet.
bool FarThread::settled() const {
  std::vector<std::shared_ptr<FarDesk>> desks;
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    desks = state_->desks;
  }
  bool all = true;
  for (const auto& desk : desks) {
    if (desk->settled()) continue;
    all = false;
    for (int lane = 0; lane < desk->lanes(); ++lane) of(lane).wake();
  }
  return all;
}

FarThread::FarThread(int lane) : state_(std::make_unique<State>()) {
  state_->lane = lane;
  state_->shares = boundToOneCore();
  if (state_->shares && lane == 0) {
    std::fprintf(stderr,
                 "rondo: warning: this process may run on one core only, which its program and the "
                 "thread that moves device memory between hosts then share; allowed, but slow: "
                 "bind ranks to several cores (mpirun --bind-to none, or --map-by slot:PE=2)\n");
  }
  ownThread("the thread that moves device memory between hosts", [this] { loop(); }).detach();
}

void FarThread::add(std::shared_ptr<FarDesk> desk) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->desks.push_back(std::move(desk));
  state_->changes.fetch_add(1, std::memory_order_release);
}

void FarThread::remove(const FarDesk& desk) {
  uint32_t change = 0;
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    std::erase_if(state_->desks, [&desk](const auto& each) { return each.get() == &desk; });
    change = state_->changes.fetch_add(1, std::memory_order_release) + 1;
    state_->awake.notify_one();
  }
  while (static_cast<int32_t>(state_->seenChanges.load(std::memory_order_acquire) - change) < 0 &&
         !state_->ended) {
    sched_yield();
  }
}

void FarThread::wake() {
  state_->calls.fetch_add(1, std::memory_order_seq_cst);
  if (!state_->sleeps.load(std::memory_order_seq_cst)) return;
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->awake.notify_one();
}

/// What there is to serve; whether wake() was called since.
bool FarThread::refresh() {
  State& s = *state_;
  const uint32_t calls = s.calls.load(std::memory_order_acquire);
  const bool called = calls != s.seenCalls;
  s.seenCalls = calls;
  if (s.changes.load(std::memory_order_acquire) != s.seenChanges.load(std::memory_order_relaxed)) {
    const std::lock_guard<std::mutex> lock(s.mutex);
    s.served = s.desks;
    s.spins = false;
    s.seenChanges.store(s.changes.load(std::memory_order_relaxed), std::memory_order_release);
  }
  return called;
}

/// After a look at which nothing could be done.
void FarThread::rest(bool busy) {
  State& s = *state_;
  if (s.spins && !busy && s.lane == 0 && s.looks % kLooksBeforeProgress == 0) {
    s.served.front()->progress();
  }
  if (!s.shares && ++s.looks % kLooksByClock != 0) return pause();
  const auto quiet = Clock::now().time_since_epoch() -
                     std::chrono::nanoseconds(lastMove.load(std::memory_order_relaxed));
  s.spins = quiet < kSpin && !s.shares && !s.served.empty();
  if (s.spins) return;
  if (quiet < kYield) {
    sched_yield();
    return;
  }
  if (busy || quiet < kNapShort) return std::this_thread::sleep_for(kShortNap);
  const bool expects = std::any_of(s.served.begin(), s.served.end(),
                                   [](const auto& desk) { return desk->expectsRings(); });
  std::unique_lock<std::mutex> lock(s.mutex);
  s.sleeps.store(true, std::memory_order_seq_cst);
  const auto needed = [&s] {
    return s.calls.load(std::memory_order_seq_cst) != s.seenCalls ||
           s.changes.load(std::memory_order_relaxed) !=
               s.seenChanges.load(std::memory_order_relaxed);
  };
  if (expects) {
    s.awake.wait_for(lock, kLongNap, needed);
  } else {
    s.awake.wait(lock, needed);
  }
  s.sleeps.store(false, std::memory_order_relaxed);
}

void FarThread::loop() {
  pthread_setname_np(pthread_self(), "rondo-far");
  State& s = *state_;
  while (!s.ends) {
    bool moved = refresh(), busy = false;
    for (const auto& desk : s.served) {
      moved |= desk->poll(s.lane);
      busy |= desk->busy(s.lane);
    }
    if (!moved) {
      rest(busy);
      continue;
    }
    const std::chrono::nanoseconds now = Clock::now().time_since_epoch();
    lastMove.store(now.count(), std::memory_order_relaxed);
    s.looks = 0;
  }
  s.served.clear();
  s.ended = true;
}

}  // namespace rondo
