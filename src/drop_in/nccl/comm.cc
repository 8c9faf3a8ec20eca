#include "drop_in/nccl/comm.h"

#include <deque>

#include "drop_in/nccl/failure.h"

void ncclComm::setSentence(const std::string& sentence) {
  const std::lock_guard<std::mutex> lock(mutex);
  text = sentence;
}

void ncclComm::setCause(const std::string& sentence) {
  const std::lock_guard<std::mutex> lock(mutex);
  text = cause = sentence;
}

const char* ncclComm::sentence() {
  thread_local std::string copy;
  const std::lock_guard<std::mutex> lock(mutex);
  copy = text;
  return copy.c_str();
}

namespace rondo::nccl {
namespace {

/// Destroyed handles wait this long, counted in handles, before they are used again.
constexpr size_t kQuarantine = 1024;

struct Graveyard {
  std::mutex mutex;
  std::deque<ncclComm*> handles;
};
Graveyard& graveyard() {
  static Graveyard* const one = new Graveyard;  // outlives every static
  return *one;
}

ncclComm* oldHandle() {
  Graveyard& yard = graveyard();
  const std::lock_guard<std::mutex> lock(yard.mutex);
  if (yard.handles.size() <= kQuarantine) return new ncclComm;
  ncclComm* comm = yard.handles.front();
  yard.handles.pop_front();
  return comm;
}

}  // namespace

ncclComm* makeHandle(bool blocking, const Place& place) {
  ncclComm* comm = oldHandle();
  const std::lock_guard<std::mutex> lock(comm->mutex);
  comm->order.abandon();  // an abort has left it two events, whose context may be gone since
  comm->inner = nullptr;
  comm->blocking = blocking;
  comm->place = place;
  comm->failure = ncclSuccess;
  comm->unwanted = comm->finalized = comm->told = false;
  comm->text.clear();
  comm->cause.clear();
  comm->word.store(ncclComm::kBusy, std::memory_order_release);
  return comm;
}

ncclResult_t holdHandle(ncclComm* comm, const char* name) {
  {
    const std::lock_guard<std::mutex> lock(comm->mutex);
    uint32_t ready = ncclComm::kReady;
    if (comm->word.compare_exchange_strong(ready, ncclComm::kBusy, std::memory_order_acq_rel)) {
      comm->failure = ncclSuccess;
      return ncclSuccess;
    }
  }
  return refuse(comm, name);
}

void noteFailure(ncclComm* comm, ncclResult_t result) {
  comm->setCause(lastSentence());
  const std::lock_guard<std::mutex> lock(comm->mutex);
  comm->failure = result;
}

bool finishHandle(ncclComm* comm, rondoComm_t inner, ncclResult_t result) {
  {
    const std::lock_guard<std::mutex> lock(comm->mutex);
    comm->inner = inner;
    if (result != ncclSuccess) comm->failure = result;
    if (!comm->unwanted) {
      comm->word.store(result == ncclSuccess ? ncclComm::kReady : ncclComm::kFailed,
                       std::memory_order_release);
      return true;
    }
  }
  if (inner != nullptr) rondoCommAbort(inner);
  retireHandle(comm, /*inCalls=*/true);
  return false;
}

void retireHandle(ncclComm* comm, bool inCalls) {
  {
    const std::lock_guard<std::mutex> lock(comm->mutex);
    comm->word.store(ncclComm::kDead, std::memory_order_release);
    comm->inner = nullptr;
    if (!inCalls) {  // else a call may yet use its events
      const InContext context(comm->place.context);
      comm->order.reset();
    }
  }
  Graveyard& yard = graveyard();
  const std::lock_guard<std::mutex> lock(yard.mutex);
  yard.handles.push_back(comm);
}

ncclResult_t refuse(ncclComm_t comm, const char* name) {
  if (comm == nullptr) {
    return fail(nullptr, ncclInvalidArgument,
                format("%s: argument comm is NULL; allowed: a communicator", name));
  }
  switch (comm->word.load(std::memory_order_acquire)) {
    case ncclComm::kReady:
      return ncclSuccess;
    case ncclComm::kBusy:
      return fail(nullptr, ncclInvalidArgument,
                  format("%s: an operation on communicator %p is in progress; allowed: once "
                         "ncclCommGetAsyncError no longer says ncclInProgress",
                         name, static_cast<void*>(comm)));
    case ncclComm::kFailed:
      return fail(nullptr, ncclInvalidUsage,
                  format("%s: communicator %p could not be made (%s); allowed: ncclCommAbort", name,
                         static_cast<void*>(comm), comm->sentence()));
    default:
      return fail(nullptr, ncclInvalidArgument,
                  format("%s: argument comm (%p) is %s; allowed: a communicator that is alive",
                         name, static_cast<void*>(comm),
                         comm->known() ? "no communicator" : "a destroyed communicator"));
  }
}

}  // namespace rondo::nccl
