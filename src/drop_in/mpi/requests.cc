#include "drop_in/mpi/requests.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/claim.h"
#include "base/error.h"
#include "drop_in/mpi/mpi_progress.h"
#include "drop_in/mpi/own_calls.h"
#include "drop_in/mpi/stats.h"

namespace rondo::drop_in {

/// All of them. Never destroyed: MPI_Finalize may run in an atexit handler.
class Requests {
 public:
  static Requests& all() {
    static Requests* const instance = new Requests;
    return *instance;
  }

  MPI_Request add(Held pending) {
    const MPI_Request request = pending->request_;
    pendingCount.fetch_add(1);
    const std::lock_guard<std::mutex> lock(mutex_);
    known_.emplace(request, pending);
    active_.push_back(std::move(pending));
    return request;
  }

  Held find(MPI_Request request) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = known_.find(request);
    return found == known_.end() ? nullptr : found->second;
  }

  /// MPI has freed the request: its handle may come again.
  void remove(Pending* pending) {
    Held last;  // freed without the lock
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = known_.find(pending->request_);
    if (found == known_.end() || found->second.get() != pending) return;
    last = std::move(found->second);
    known_.erase(found);
    pendingCount.fetch_sub(1);
    // The list is tidied when it is polled, which may be never.
    if (active_.size() > 2 * known_.size() + 16) dropDone();
  }

  /// Those that are not done, oldest first.
  void active(std::vector<Held>* out) {
    const std::lock_guard<std::mutex> lock(mutex_);
    dropDone();
    out->assign(active_.begin(), active_.end());
  }

  void forget(MPI_Comm comm) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [request, pending] : known_) {
      if (pending->comm() == comm) pending->comm_ = MPI_COMM_WORLD;
    }
  }

  /// Makes the generalized request, not yet among all.
  static void start(Pending& pending);
  static void drop(Pending& pending);
  static rondoResult_t launch(Pending& pending);
  static void abort(const Pending& pending) { abort(*pending.known_); }
  static void abort(const KnownComm& known) {
    if (known.aborted.exchange(true)) return;
    known.devices.abort();
    rondoCommAbort(known.rondo);
  }

 private:
  void dropDone() {
    std::erase_if(active_, [](const Held& one) { return one->done(); });
  }

  std::mutex mutex_;
  std::unordered_map<MPI_Request, Held> known_;
  std::vector<Held> active_;
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

/// A request that nobody has seen.
void Requests::drop(Pending& pending) {
  PMPI_Grequest_complete(pending.request_);
  PMPI_Request_free(&pending.request_);
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
  Held pending = std::make_shared<Pending>(known, comm, call, std::move(job), std::move(asked));
  Requests::start(*pending);
  known.pending.fetch_add(1);
  const rondoResult_t result =
      queue.isOpen() ? queue.add(known, pending) : Requests::launch(*pending);
  if (result != rondoSuccess) {
    known.pending.fetch_sub(1);
    Requests::drop(*pending);
    return result;
  }
  *request = Requests::all().add(std::move(pending));
  if (!mpiPolls.load(std::memory_order_relaxed) && !mpiPolls.exchange(true)) askMpiToPoll();
  return rondoSuccess;
}

std::string Pending::sentence() const { return std::string(name(call_)) + ": " + sentence_; }

/// Only the thread that has busy_.
void Pending::settle(rondoResult_t result) {
  result_ = result;
  turn_.release();
  try {
    if (result == rondoSuccess && job_ != nullptr) job_->store();
  } catch (const std::exception& error) {
    result_ = rondoInternalError;
    sentence_ = error.what();
  }
  job_.reset();
  event_ = {};
  const KnownComm* known = known_;
  known_ = nullptr;
  const MPI_Request request = request_;
  done_.store(true, std::memory_order_release);
  known->pending.fetch_sub(1);
  destroyIdle();
  PMPI_Grequest_complete(request);
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
  const Claim mine(busy_);
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

void Pending::wait() {
  waitForBegin();
  const NoPollsOfMpi whileWaiting;  // Rondo's wait moves all that is under way
  while (!done()) {
    const Claim mine(busy_);
    if (!mine) {
      sched_yield();
      continue;
    }
    if (done()) return;
    const rondoResult_t result = rondoWait(&rondo_);
    if (result != rondoSuccess) sentence_ = rondoGetLastError(nullptr);
    settle(result);
  }
}

Held findPending(MPI_Request request) { return Requests::all().find(request); }

void pollPending() {
  const OwnCalls own;
  // Polls call MPI, which may call back: the list is out of its holder's hands meanwhile.
  static thread_local std::vector<Held> kept;
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
