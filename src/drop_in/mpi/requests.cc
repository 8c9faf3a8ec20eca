#include "drop_in/mpi/requests.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/claim.h"
#include "base/error.h"
#include "base/of_thread.h"
#include "drop_in/mpi/call_turn.h"
#include "drop_in/mpi/mpi_progress.h"
#include "drop_in/mpi/own_calls.h"
#include "drop_in/mpi/stats.h"

namespace rondo::drop_in {

/// A mutex where there is a second caller.
class CallersLock {
 public:
  void lock() {
    if (!oneCaller) mutex_.lock();
  }
  void unlock() {
    if (!oneCaller) mutex_.unlock();
  }

 private:
  std::mutex mutex_;
};

/// All of them. Never destroyed: MPI_Finalize may run in an atexit handler.
class Requests {
 public:
  static Requests& all() {
    static Requests* const instance = new Requests;
    return *instance;
  }

  /// One that is idle, for a call that begins.
  Pending& take();
  /// It has begun: it may be polled, and its request is the program's.
  static MPI_Request add(Pending& pending) {
    addTo<size_t>(pendingCount, 1);
    pending.done_.store(false, std::memory_order_release);
    pending.begins_.store(false, std::memory_order_release);
    return pending.request_;
  }
  /// It could not begin.
  void giveBack(Pending& pending) {
    pending.job_.reset();
    pending.asked_.reset();
    pending.turn_.release();
    pending.begins_.store(false, std::memory_order_relaxed);
    const std::lock_guard<CallersLock> lock(lock_);
    keepIdle(pending);
  }
  /// It is done, and its request the layer's again; false: the layer has enough of them.
  bool keep(Pending& pending) {
    {
      const std::lock_guard<CallersLock> lock(lock_);
      if (idle_.size() >= kMostIdle) return false;
      keepIdle(pending);
    }
    addTo<size_t>(pendingCount, -1);
    return true;
  }
  /// Ends the requests that the layer keeps.
  void dropIdle();

  Held find(MPI_Request request) {
    const std::lock_guard<CallersLock> lock(lock_);
    const Held* const held = holderOf(request);
    return held == nullptr ? nullptr : *held;
  }
  /// The same of one that nobody else ends.
  Pending* findOwn(MPI_Request request) {
    const std::lock_guard<CallersLock> lock(lock_);
    // Mostly the one that began last: idle ones have their requests, too.
    if (latest_ != nullptr && latest_->request_ == request && !latest_->idle_) [[likely]]
      return latest_;
    const Held* const held = holderOf(request);
    return held == nullptr ? nullptr : held->get();
  }

  /// MPI has freed the request: its handle may come again.
  void remove(Pending* pending) {
    Held last;  // freed without the lock
    const std::lock_guard<CallersLock> lock(lock_);
    const auto found = known_.find(pending->request_);
    if (found == known_.end() || found->second.get() != pending) return;
    last = std::move(found->second);
    if (latest_ == pending) latest_ = nullptr;
    known_.erase(found);
    if (!pending->idle_) pendingCount.fetch_sub(1);
    // The list is tidied when it is polled, which may be never.
    if (active_.size() > 2 * known_.size() + 16) dropDone();
  }

  /// Those that are not done, oldest first.
  void active(std::vector<Held>* out) {
    const std::lock_guard<CallersLock> lock(lock_);
    dropDone();
    out->clear();
    for (const Held& one : active_) {
      if (!one->done()) out->push_back(one);
    }
  }

  void forget(MPI_Comm comm) {
    const std::lock_guard<CallersLock> lock(lock_);
    for (const auto& [request, pending] : known_) {
      MPI_Comm was = comm;  // it may get its next call's meanwhile
      pending->comm_.compare_exchange_strong(was, MPI_COMM_WORLD);
    }
  }

  /// Makes the generalized request, not yet among all.
  static void start(Pending& pending);
  static rondoResult_t launch(Pending& pending);
  static void abort(const Pending& pending) { abort(*pending.known_); }
  static void abort(const KnownComm& known) {
    if (known.aborted.exchange(true)) return;
    known.devices.abort();
    rondoCommAbort(known.rondo);
  }

 private:
  /// MPI makes a request, completes, ends and frees it in 40 to 50 ns, and a program has few at a
  /// time.
  static constexpr size_t kMostIdle = 64;

  const Held* holderOf(MPI_Request request) const {
    const auto found = known_.find(request);
    return found == known_.end() || found->second->idle_ ? nullptr : &found->second;
  }
  void keepIdle(Pending& pending) {
    pending.idle_ = true;
    idle_.push_back(&pending);
  }
  /// It is to be polled, but not before it has begun.
  void list(Pending& pending) {
    if (!pending.listed_) active_.push_back(pending.shared_from_this());
    pending.listed_ = true;
    pending.idle_ = false;
    latest_ = &pending;
    pending.begins_.store(true, std::memory_order_relaxed);
  }
  void dropDone() {
    std::erase_if(active_, [](const Held& one) {
      const bool over = !one->begins_.load(std::memory_order_acquire) && one->done();
      if (over) one->listed_ = false;
      return over;
    });
  }

  CallersLock lock_;
  std::unordered_map<MPI_Request, Held> known_;
  std::vector<Held> active_;
  std::vector<Pending*> idle_;  ///< Of those known.
  Pending* latest_ = nullptr;   ///< Of those known.
};

namespace {

/// As MPI's empty status: MPI leaves a non-blocking collective's to the implementation. Open MPI's
/// requests begin with it.
int query(void*, [[maybe_unused]] MPI_Status* status) {
#if !defined(OPEN_MPI)
  PMPI_Status_set_elements(status, MPI_BYTE, 0);
  PMPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
#endif
  return MPI_SUCCESS;
}

int freed(void* pending) {
  Requests::all().remove(static_cast<Pending*>(pending));
  return MPI_SUCCESS;
}

int cancel(void*, int) { return MPI_SUCCESS; }

}  // namespace

void Requests::start(Pending& pending) {
  if (PMPI_Grequest_start(query, freed, cancel, &pending, &pending.request_) != MPI_SUCCESS) {
    throw Error(rondoMpiError, "MPI_Grequest_start failed, which makes the request");
  }
}

Pending& Requests::take() {
  {
    const std::lock_guard<CallersLock> lock(lock_);
    if (!idle_.empty()) [[likely]] {
      Pending& pending = *idle_.back();
      list(pending);
      idle_.pop_back();
      return pending;
    }
  }
  const Held fresh = std::make_shared<Pending>();
  start(*fresh);
  const std::lock_guard<CallersLock> lock(lock_);
  idle_.reserve(kMostIdle);
  known_.emplace(fresh->request_, fresh);
  list(*fresh);
  return *fresh;
}

void Requests::dropIdle() {
  std::vector<Pending*> idle;
  {
    const std::lock_guard<CallersLock> lock(lock_);
    idle.swap(idle_);
  }
  for (const Pending* const one : idle) {
    MPI_Request request = one->request_;
    PMPI_Grequest_complete(request);
    PMPI_Request_free(&request);
  }
}

rondoResult_t Requests::launch(Pending& pending) {
  rondoGroupStart();
  pending.job_->run(pending.known_->rondo);  // what is wrong is said by the group's end
  return rondoGroupEndAsync(&pending.rondo_);
}

/// A look at a device takes a microsecond.
constexpr int kPollsOfOneCall = 4;

/// Whether MPI was asked to poll, at the first request: programs without one pay nothing.
static std::atomic<bool> mpiPolls{false};

rondoResult_t beginPending(const KnownComm& known, MPI_Comm comm, Call call,
                           std::unique_ptr<Job> job, MPI_Request* request,
                           std::unique_ptr<Asked> asked) {
  LaterQueue& queue = known.devices.later();
  if (asked == nullptr || !asked->fits) job->load();
  Requests& all = Requests::all();
  Pending& pending = all.take();
  pending.renew(known, comm, call, std::move(job), std::move(asked));
  addTo(known.pending, 1);
  const rondoResult_t result =
      queue.isOpen() ? queue.add(known, pending.shared_from_this()) : Requests::launch(pending);
  if (result != rondoSuccess) {
    addTo(known.pending, -1);
    all.giveBack(pending);
    return result;
  }
  *request = Requests::add(pending);
  if (!mpiPolls.load(std::memory_order_relaxed) && !mpiPolls.exchange(true)) askMpiToPoll();
  return rondoSuccess;
}

namespace {

/// Of jobs that have ended, if there is one caller.
struct SpareMemory {
  static constexpr size_t kBytes = 256, kMost = 16;
  std::array<void*, kMost> blocks{};
  size_t number = 0;
};
constinit SpareMemory spare;

}  // namespace

void* Job::operator new(size_t bytes) {
  if (oneCaller && bytes <= SpareMemory::kBytes && spare.number > 0) [[likely]]
    return spare.blocks[--spare.number];
  return ::operator new(std::max(bytes, SpareMemory::kBytes));
}

void Job::operator delete(void* block, size_t bytes) noexcept {
  if (oneCaller && bytes <= SpareMemory::kBytes && spare.number < SpareMemory::kMost) [[likely]] {
    spare.blocks[spare.number++] = block;
  } else {
    ::operator delete(block);
  }
}

std::string Pending::sentence() const { return std::string(name(call_)) + ": " + sentence_; }

void Pending::renew(const KnownComm& known, MPI_Comm comm, Call call, std::unique_ptr<Job> job,
                    std::unique_ptr<Asked> asked) {
  known_ = &known;
  comm_.store(comm, std::memory_order_relaxed);
  call_ = call;
  job_ = std::move(job);
  asked_ = std::move(asked);
  phase_.store(Phase::OnHost, std::memory_order_relaxed);
  result_ = rondoSuccess;
  kept_ = false;
}

/// Only the thread that has busy_. `keeps`: if nothing failed, the request stays active.
void Pending::settle(rondoResult_t result, bool keeps) {
  result_ = result;
  turn_.release();
  try {
    if (result == rondoSuccess && job_ != nullptr) job_->store();
  } catch (const std::exception& error) {
    result_ = rondoInternalError;
    sentence_ = error.what();
  }
  job_.reset();
  if (phase_.load(std::memory_order_relaxed) != Phase::OnHost) [[unlikely]]
    event_ = {};
  const KnownComm* known = known_;
  known_ = nullptr;
  const MPI_Request request = request_;
  const bool keep = keeps && result_ == rondoSuccess;
  kept_ = keep;
  done_.store(true, std::memory_order_release);
  addTo(known->pending, -1);
  destroyIdle();
  if (!keep) PMPI_Grequest_complete(request);
}

rondoResult_t Pending::ask(rondoComm_t asking) {
  phase_.store(Phase::Asking, std::memory_order_release);
  if (!asks()) return rondoSuccess;
  if (asked_->fits && !turn_.take(*known_)) {
    pollPending();  // the other call may have ended
    if (!turn_.take(*known_)) asked_->word = DevicePath::byHost(asked_->word);
  }
  rondoGroupStart();
  rondoAllReduce(&asked_->word, &answer_, 1, rondoUint32, rondoBitOr, asking, nullptr);
  return rondoGroupEndAsync(&rondo_);
}

bool Pending::beginAsked(const KnownComm& known) {
  try {
    if (asks()) {
      int answered = 0;
      const rondoResult_t result = rondoTest(&rondo_, &answered);
      if (result == rondoSuccess && !answered) return false;
      if (result != rondoSuccess) {
        fail(result, rondoGetLastError(nullptr));
        return true;
      }
    }
    const ContextScope scope(known.devices.context());  // the launcher's thread has none
    if (!asks() || !known.devices.beginLater(answer_, *asked_, &event_)) {
      beginOnHost(known);
    } else {
      if (statsOn) count(call_, Why::OnDevice, 0);
      phase_.store(Phase::OnDevice, std::memory_order_release);
    }
  } catch (const std::exception& error) {
    // It has befallen this rank only, so that the others must be let go.
    const auto* const ours = dynamic_cast<const Error*>(&error);
    Requests::abort(known);
    fail(ours != nullptr ? ours->code() : rondoOutOfMemory,
         ours != nullptr ? ours->sentence() : "no memory for a packed copy of a buffer");
  }
  return true;
}

void Pending::beginOnHost(const KnownComm& known) {
  turn_.release();
  if (asks()) {
    if (asked_->fits) job_->load();
    if (statsOn) count(call_, asked_->device ? Why::ByHost : Why::Taken, 0);
  }
  if (known.aborted.load(std::memory_order_relaxed)) {
    return fail(rondoRemoteError, "an earlier error has ended the communicator");
  }
  const rondoResult_t result = Requests::launch(*this);
  if (result != rondoSuccess) return fail(result, rondoGetLastError(nullptr));
  phase_.store(Phase::OnHost, std::memory_order_release);
}

void Pending::fail(rondoResult_t result, const std::string& sentence) {
  result_ = result;
  sentence_ = sentence;
  turn_.release();
  phase_.store(Phase::Failed, std::memory_order_release);
}

/// Only the thread that has busy_.
void Pending::step() {
  if (!begun()) known_->devices.later().advance(*known_);
  switch (phase_.load(std::memory_order_acquire)) {
    case Phase::Asking:
      return;
    case Phase::Failed:
      return settle(result_);
    case Phase::OnDevice:
      try {
        if (!known_->devices.ended(event_)) return;
        job_.reset();  // nothing of it has run
        return settle(rondoSuccess);
      } catch (const Error& error) {
        sentence_ = error.sentence();
        event_.leave();  // its context may be gone
        Requests::abort(*known_);
        return settle(error.code());
      }
    case Phase::OnHost: {
      int over = 0;
      const rondoResult_t result = rondoTest(&rondo_, &over);
      if (result != rondoSuccess) sentence_ = rondoGetLastError(nullptr);
      if (over || result != rondoSuccess) settle(result);
    }
  }
}

void Pending::poll() {
  if (done()) return;
  const Claim mine(busy_, oneCaller);
  if (mine && !done()) step();
}

/// Other calls, and messages, may have to move before it can begin on all ranks.
void Pending::waitForBegin() {
  for (uint64_t polls = 0; !done() && phase_.load(std::memory_order_acquire) != Phase::OnHost;
       ++polls) {
    poll();
    if (polls % kPollsOfOneCall != 0) continue;
    pollPending();
    progressMpi();
  }
}

void Pending::wait(bool keeps) {
  waitForBegin();
  waitForEnd(keeps);
  moveMpiOn();
}

void Pending::waitForEnd(bool keeps) {
  const NoPollsOfMpi whileWaiting;  // Rondo's wait moves all that is under way
  while (!done()) {
    const Claim mine(busy_, oneCaller);
    if (!mine) {
      sched_yield();
      continue;
    }
    if (done()) return;
    const rondoResult_t result = rondoWait(&rondo_);
    if (result != rondoSuccess) sentence_ = rondoGetLastError(nullptr);
    settle(result, keeps);
  }
}

bool Pending::waitAlone() {
  wait(true);
  return kept_;
}

Held findPending(MPI_Request request) { return Requests::all().find(request); }

bool endAlone(MPI_Request* request) {
  Requests& all = Requests::all();
  Pending* const pending = all.findOwn(*request);
  if (pending == nullptr || !pending->waitAlone()) return false;
  if (!all.keep(*pending)) [[unlikely]] {
    PMPI_Grequest_complete(*request);
    return false;
  }
  *request = MPI_REQUEST_NULL;
  return true;
}

void pollPending() {
  const OwnCalls own;
  // Polls call MPI, which may call back: the list is out of its holder's hands meanwhile.
  auto& kept = ofThread<std::vector<Held>, struct OfPending>();
  std::vector<Held> active;
  active.swap(kept);
  Requests::all().active(&active);
  for (const Held& one : active) one->poll();
  active.clear();
  active.swap(kept);
}

void forgetComm(MPI_Comm comm) {
  if (anyPending()) Requests::all().forget(comm);
}

namespace {

/// Long enough for gigabytes between ranks that are all here.
constexpr std::chrono::seconds kPatience{2};

size_t activeNow(std::vector<Held>* left) {
  pollPending();
  Requests::all().active(left);
  return left->size();
}

}  // namespace

void drainPending() {
  Requests::all().dropIdle();
  std::vector<Held> begun, left;
  int mine = static_cast<int>(activeNow(&begun)), most = 0;
  // Afterwards every rank has begun all that it ever will: what does not end now has no partner.
  PMPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (most == 0) return askMpiNoMore();
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (activeNow(&left) > 0 && std::chrono::steady_clock::now() < until) sched_yield();
  // A call that failed, because a rank that never made it has left, does not end either.
  std::erase_if(begun, [](const Held& one) { return one->done() && !one->failed(); });
  left = begun;
  if (left.empty()) {
    askMpiNoMore();
    return;
  }
  std::fprintf(
      stderr,
      "rondo_mpi: MPI_Finalize: %zu non-blocking collectives, the first one %s, were never "
      "waited for and do not end; allowed: a call of all ranks, completed by MPI_Wait or "
      "its like\n",
      left.size(), name(left.front()->call()));
  for (const Held& one : left) {
    if (one->done()) continue;
    Requests::abort(*one);
    one->poll();
  }
  askMpiNoMore();
}

}  // namespace rondo::drop_in
