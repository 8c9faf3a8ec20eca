#include "drop_in/mpi/later_queue.h"

#include <chrono>

#include "base/claim.h"
#include "drop_in/mpi/comms.h"
#include "drop_in/mpi/device_path.h"
#include "drop_in/mpi/launcher.h"
#include "drop_in/mpi/mpi_progress.h"
#include "drop_in/mpi/requests.h"

namespace rondo::drop_in {
namespace {

using Clock = std::chrono::steady_clock;

/// Ranks that make the call together agree so soon, and the kernel runs while the program computes.
constexpr std::chrono::microseconds kTogether{4};

/// Keeps a communicator: a call that has begun may end on another thread, and be the last of one
/// that is freed.
class Kept {
 public:
  explicit Kept(const KnownComm& known) : known_(known) { known_.pending.fetch_add(1); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() { known_.pending.fetch_sub(1); }

 private:
  const KnownComm& known_;
};

/// Whose calls are between devices.
struct Turn {
  std::mutex mutex;
  const KnownComm* holder = nullptr;
  int calls = 0;
};

/// Never destroyed: MPI_Finalize may never run.
Turn& turn() {
  static Turn* const instance = new Turn;
  return *instance;
}

}  // namespace

bool DeviceTurn::take(const KnownComm& known) {
  Turn& now = turn();
  const std::lock_guard<std::mutex> lock(now.mutex);
  if (now.calls != 0 && now.holder != &known) return false;
  now.holder = &known;
  ++now.calls;
  taken_ = true;
  return true;
}

void DeviceTurn::giveBack() {
  taken_ = false;
  Turn& now = turn();
  const std::lock_guard<std::mutex> lock(now.mutex);
  --now.calls;
}

rondoResult_t LaterQueue::add(const KnownComm& known, const std::shared_ptr<Pending>& pending) {
  if (const rondoResult_t result = pending->ask(asking_)) return result;
  const bool asks = pending->asks();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    list_.push_back(pending);
  }
  waiting_.fetch_add(1, std::memory_order_release);
  const Clock::time_point until = Clock::now() + kTogether;
  do {
    advance(known);
  } while (asks && !pending->begun() && Clock::now() < until);
  if (waits()) wakeLauncher();
  return rondoSuccess;
}

std::shared_ptr<Pending> LaterQueue::first() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return list_.empty() ? nullptr : list_.front();
}

void LaterQueue::advance(const KnownComm& known, bool byProgram) {
  if (!waits()) return;
  beginAnswered(known);
  if (byProgram) destroyIdle();
}

void LaterQueue::beginAnswered(const KnownComm& known) {
  const Kept kept(known);
  const Claim mine(busy_);
  if (!mine) return;
  while (const std::shared_ptr<Pending> pending = first()) {
    if (!pending->beginAsked(known)) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    list_.pop_front();
    waiting_.fetch_sub(1, std::memory_order_release);
  }
}

void LaterQueue::flushNow(const KnownComm& known) {
  Clock::time_point next = Clock::now();
  while (waits()) {
    advance(known);
    if (Clock::now() < next) continue;
    pollPending();
    progressMpi();
    next = Clock::now() + std::chrono::microseconds(5);
  }
}

void LaterQueue::destroy() {
  if (const rondoComm_t asking = asking_.exchange(nullptr)) rondoCommDestroy(asking);
}

void LaterQueue::abort() {
  if (const rondoComm_t asking = asking_.exchange(nullptr)) rondoCommAbort(asking);
}

}  // namespace rondo::drop_in
