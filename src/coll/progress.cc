#include "coll/progress.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace rondo {
namespace {

/// Idle looks before the thread gives its core away, and before it sleeps between looks. A caller
/// that waits polls by itself, so the thread may be slow then.
constexpr int kLooksBeforeYield = 64;
constexpr int kLooksBeforeNap = 512;
constexpr std::chrono::microseconds kNap{50};

}  // namespace

struct ProgressThread::State {
  std::mutex mutex;
  std::condition_variable work;
  std::vector<std::shared_ptr<GroupRun>> runs;
};

ProgressThread& ProgressThread::one() {
  static ProgressThread* thread = new ProgressThread;
  return *thread;
}

ProgressThread::ProgressThread() : state_(new State) {
  std::thread([this] { loop(); }).detach();
}

void ProgressThread::add(std::shared_ptr<GroupRun> run) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->runs.push_back(std::move(run));
  state_->work.notify_one();
}

bool ProgressThread::pollAll() {
  std::vector<std::shared_ptr<GroupRun>> runs;
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    std::erase_if(state_->runs, [](const auto& run) { return run->done(); });
    runs = state_->runs;
  }
  bool moved = false;
  for (const auto& run : runs) moved |= run->tryPoll();
  return moved;
}

void ProgressThread::loop() {
  pthread_setname_np(pthread_self(), "rondo-progress");
  int idle = 0;
  for (;;) {
    if (pollAll()) {
      idle = 0;
      continue;
    }
    {
      std::unique_lock<std::mutex> lock(state_->mutex);
      if (state_->runs.empty()) {
        state_->work.wait(lock, [this] { return !state_->runs.empty(); });
        idle = 0;
        continue;
      }
    }
    if (++idle < kLooksBeforeYield) continue;
    if (idle < kLooksBeforeNap) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(kNap);
    }
  }
}

}  // namespace rondo
