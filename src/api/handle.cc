#include "api/handle.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <deque>
#include <mutex>
#include <utility>

#include "api/comm_create.h"
#include "api/forming.h"
#include "api/profile_range.h"
#include "base/before_threads.h"
#include "base/error.h"
#include "coll/progress.h"

void rondoComm::noteError(const std::string& sentence) {
  const std::lock_guard<std::mutex> lock(errorMutex_);
  lastError_ = sentence;
}

std::string rondoComm::notedError() {
  const std::lock_guard<std::mutex> lock(errorMutex_);
  return lastError_;
}

namespace rondo {
namespace {

/// Destroyed handles wait this long, counted in handles, before they are used again.
constexpr size_t kQuarantine = 1024;

struct Graveyard {
  std::mutex mutex;
  std::deque<rondoComm*> handles;
};
Graveyard& graveyard() {
  static Graveyard* one = new Graveyard;  // outlives every static: MPI_Finalize may come late
  return *one;
}

/// All handles that were ever made.
std::atomic<rondoComm*> newest{nullptr};

/// In a child that was forked: what its handles have, the parent goes on using.
void loseAll() {
  for (rondoComm* each = newest.load(); each != nullptr; each = each->before) {
    if (each->state.load() != rondoComm::kDead) each->state.store(rondoComm::kParents);
  }
}

rondoComm* anotherHandle() {
  static const int lost = pthread_atfork(nullptr, nullptr, loseAll);
  static_cast<void>(lost);
  auto* const comm = new rondoComm;
  comm->before = newest.load();
  while (!newest.compare_exchange_weak(comm->before, comm)) {
  }
  return comm;
}

rondoResult_t refuseUnready(rondoComm* comm, const char* call, uint32_t state) {
  if (state == rondoComm::kForming) {
    return fail(nullptr, rondoInvalidUsage,
                format("%s: communicator %p is still being made (config.blocking is 0); allowed: "
                       "rondoCommGetAsyncError until it gives something else than rondoInProgress, "
                       "or rondoCommAbort",
                       call, static_cast<void*>(comm)));
  }
  return fail(nullptr, comm->brokenCode,
              format("%s: communicator %p could not be made: %s; allowed: rondoCommDestroy", call,
                     static_cast<void*>(comm), comm->broken.c_str()));
}

rondoResult_t refuseUse(rondoComm* comm, const char* call) {
  const Keep keep(comm);
  if (keep && comm->state.load(std::memory_order_acquire) == rondoComm::kFinalized) {
    return fail(comm, rondoInvalidUsage,
                format("%s: communicator \"%s\" (%p) was finalized by rondoCommFinalize; no call "
                       "may follow but "
                       "rondoCommDestroy",
                       call, comm->impl->name().c_str(), static_cast<void*>(comm)));
  }
  return checkHandle(comm, call);
}

/// Destroys a handle that is unwanted, unless a call is running on it or somebody else does.
void destroyIfFree(rondoComm* comm) {
  uint32_t free = rondoComm::kFree;
  if (!comm->use.compare_exchange_strong(free, rondoComm::kBusy, std::memory_order_acq_rel)) return;
  // Requests that nobody waited for read it; they see the abort word at their next poll.
  if (comm->impl != nullptr && !comm->impl->idle()) {
    comm->impl->abort();
    while (!comm->impl->idle()) ProgressThread::pollAll();
  }
  destroyHandle(comm);
}

/// The end of what a handle held; from now on it waits to be used again.
void bury(rondoComm* comm) {
  comm->impl.reset();
  comm->rehearsal.reset();
  comm->config.reset();  // handles are kept for long
  Graveyard& yard = graveyard();
  const std::lock_guard<std::mutex> lock(yard.mutex);
  yard.handles.push_back(comm);
}

void letGo(rondoComm* comm) {
  if (comm->keepers.fetch_sub(1, std::memory_order_acq_rel) == 1) bury(comm);
}

}  // namespace

rondoComm* newHandle() {
  rondoComm* comm = nullptr;
  {
    Graveyard& yard = graveyard();
    const std::lock_guard<std::mutex> lock(yard.mutex);
    if (yard.handles.size() > kQuarantine) {
      comm = yard.handles.front();
      yard.handles.pop_front();
    }
  }
  if (comm == nullptr) comm = anotherHandle();
  comm->ownedByMpi = false;
  comm->onFree = nullptr;
  comm->onChild = nullptr;
  comm->config.reset();
  comm->rehearsal.reset();
  comm->shrinks = 0;
  comm->broken.clear();
  comm->brokenCode = rondoRemoteError;
  comm->noteError("");
  comm->use.store(rondoComm::kFree, std::memory_order_relaxed);
  comm->unwanted.store(false, std::memory_order_relaxed);
  comm->keepers.store(1, std::memory_order_relaxed);
  openProfiler();
  canFenceAllThreads();  // registers the process, which takes milliseconds, before any call
  return comm;
}

rondoComm* makeHandle(std::unique_ptr<Communicator> impl) {
  rondoComm* const comm = newHandle();
  comm->impl = std::move(impl);
  comm->state.store(rondoComm::kAlive, std::memory_order_release);
  return comm;
}

void destroyHandle(rondoComm* comm) {
  endForming(comm);
  if (comm->onFree) std::exchange(comm->onFree, nullptr)();
  comm->state.store(rondoComm::kDead, std::memory_order_release);
  letGo(comm);
}

Keep::Keep(rondoComm* comm, const char* call) {
  do {
    result_ = checkHandle(comm, call);
    if (result_ == rondoSuccess) take(comm);
  } while (result_ == rondoSuccess && comm_ == nullptr);  // destroyed in between: say so
}

void Keep::take(rondoComm* comm) {
  if (comm == nullptr) return;
  const uint32_t state = comm->state.load(std::memory_order_acquire);
  if (state != rondoComm::kAlive && state != rondoComm::kFinalized) return;
  uint32_t keepers = comm->keepers.load(std::memory_order_relaxed);
  while (keepers != 0 &&
         !comm->keepers.compare_exchange_weak(keepers, keepers + 1, std::memory_order_acquire)) {
  }
  if (keepers != 0) comm_ = comm;
}

Keep::~Keep() {
  if (comm_ != nullptr) letGo(comm_);
}

void breakComm(rondoComm* comm, Communicator& impl) {
  findBreak(comm, impl);
  impl.noteBroken(comm->broken);
}

void findBreak(rondoComm* comm, Communicator& impl) {
  Communicator::End end = impl.endOf();
  comm->brokenCode = end.code;
  comm->broken = std::move(end.why);
}

void freeComm(rondoComm* comm) noexcept {
  if (comm->state.load(std::memory_order_acquire) == rondoComm::kParents) return;
  if (isUnready(comm)) stopForming(comm);
  comm->unwanted.exchange(true, std::memory_order_seq_cst);
  if (canFenceAllThreads()) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  destroyIfFree(comm);  // else the running call does, on its way out
}

void setOwnedByMpi(rondoComm& comm) { comm.ownedByMpi = true; }

void onFree(rondoComm& comm, std::function<void()> hook) { comm.onFree = std::move(hook); }

void onChild(rondoComm& comm, std::function<void(rondoComm&)> hook) {
  comm.onChild = std::move(hook);
}

rondoResult_t refuseOutstanding(rondoComm* comm, const char* call) {
  return fail(comm, rondoInvalidUsage,
              format("%s: communicator \"%s\" (%p) has a group under way (rondoGroupEndAsync); "
                     "allowed: after rondoWait (rondoCommAbort ends it)",
                     call, comm->impl->name().c_str(), static_cast<void*>(comm)));
}

rondoResult_t checkHandle(rondoComm* comm, const char* call) {
  if (comm == nullptr) {
    return fail(nullptr, rondoInvalidArgument,
                format("%s: argument comm is NULL; allowed: a communicator that is alive", call));
  }
  const uint32_t state = comm->state.load(std::memory_order_acquire);
  if (state == rondoComm::kAlive || state == rondoComm::kFinalized) return rondoSuccess;
  if (isUnready(comm)) return refuseUnready(comm, call, state);
  if (state == rondoComm::kParents) {
    return fail(nullptr, rondoInvalidUsage,
                format("%s: argument comm (%p) was made by the process that this one was forked "
                       "from; allowed: a communicator that is alive in this process",
                       call, static_cast<void*>(comm)));
  }
  return fail(
      nullptr, rondoInvalidUsage,
      format("%s: argument comm (%p) is %s; allowed: a communicator that is alive", call,
             static_cast<void*>(comm),
             state == rondoComm::kDead ? "a destroyed communicator" : "not a communicator"));
}

bool claimComm(rondoComm* comm, rondoComm::Use as) {
  for (;;) {
    uint32_t found = rondoComm::kFree;
    if (comm->use.compare_exchange_strong(found, as, std::memory_order_acquire)) [[likely]]
      return true;
    if (found != rondoComm::kAsked) return false;
    sched_yield();  // a watchdog asks; the call must not fail for it
  }
}

rondoResult_t holdComm(rondoComm* comm, const char* call) {
  if (claimComm(comm, rondoComm::kBusy)) [[likely]]
    return rondoSuccess;
  // The other thread may be writing the communicator's own error text: only this thread's is set.
  return fail(
      nullptr, rondoInvalidUsage,
      format("%s: communicator %p is in use by another thread; allowed: one thread at a time", call,
             static_cast<void*>(comm)));
}

/// Writes `use`, then reads `unwanted`; freeComm() does the reverse, and at least one of the two
/// must see the other's write. A fence here would wait until every store of the call has left the
/// core, to lines of peers among them: 100 to 300 ns. So freeComm() has one made here when it needs
/// it.
void releaseComm(rondoComm* comm) {
  if (canFenceAllThreads()) [[likely]] {
    comm->use.store(rondoComm::kFree, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    comm->use.exchange(rondoComm::kFree, std::memory_order_seq_cst);
  }
  // rondoCommAbort came meanwhile and left the freeing to this call.
  if (comm->unwanted.load(std::memory_order_acquire)) [[unlikely]]
    destroyIfFree(comm);
}

Use::Use(rondoComm* comm, const char* call) : comm_(comm) {
  while (comm == nullptr || comm->state.load(std::memory_order_acquire) != rondoComm::kAlive)
    [[unlikely]] {
      result_ = comm == nullptr ? checkHandle(comm, call) : refuseUse(comm, call);
      if (result_ == rondoSuccess) continue;  // it was being made, and is there now
      comm_ = nullptr;
      return;
    }
  result_ = holdComm(comm, call);
  if (result_ != rondoSuccess) [[unlikely]] {
    comm_ = nullptr;
    return;
  }
  if (comm->impl->aborted() && comm->broken.empty()) [[unlikely]] {
    breakComm(comm, *comm->impl);
  }
  if (!comm->broken.empty()) [[unlikely]] {
    result_ = fail(comm, comm->brokenCode, std::string(call) + ": " + comm->broken);
  }
}

Use::~Use() {
  if (comm_ != nullptr) releaseComm(comm_);
}

}  // namespace rondo
