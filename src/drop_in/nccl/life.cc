// What becomes of a communicator after it was made, and questions about it.

#include <utility>

#include "drop_in/nccl/failure.h"
#include "drop_in/nccl/group.h"
#include "drop_in/nccl/jobs.h"
#include "drop_in/nccl/rehearsal.h"
#include "drop_in/nccl/settings.h"

namespace rondo::nccl {
namespace {

ncclResult_t refuseOutput(ncclComm_t comm, const char* name, const char* argument) {
  return fail(
      comm, ncclInvalidArgument,
      format("%s: argument %s is NULL; allowed: where to write the answer", name, argument));
}

ncclResult_t answer(ncclComm_t comm, const char* name, const char* argument, int* out,
                    rondoResult_t (*ask)(rondoComm_t, int*)) {
  if (const ncclResult_t bad = usable(comm, name)) return bad;
  if (out == nullptr) return refuseOutput(comm, name, argument);
  const rondoResult_t result = ask(comm->inner, out);
  return result == rondoSuccess ? ncclSuccess : failAs(comm, name, result);
}

/// Takes a handle that is made or has failed out of use; what it held goes to *inner, and the
/// handle is the caller's to retire or to put back as it was (*before). One that is busy is freed
/// later, by the thread that has it: then *before is 0.
ncclResult_t take(ncclComm_t comm, const char* name, bool evenBusy, rondoComm_t* inner,
                  uint32_t* before) {
  *inner = nullptr;
  *before = 0;
  bool taken = false;
  {
    const std::lock_guard<std::mutex> lock(comm->mutex);
    const uint32_t word = comm->word.load(std::memory_order_relaxed);
    if (word == ncclComm::kReady || word == ncclComm::kFailed) {
      *inner = comm->inner;
      *before = word;
      taken = true;
      comm->word.store(ncclComm::kDead, std::memory_order_release);
    } else if (word == ncclComm::kBusy && evenBusy) {
      comm->unwanted = true;
      // What runs on it in the background ends; this never waits.
      if (comm->inner != nullptr) rondoCommRevoke(comm->inner);
      comm->word.store(ncclComm::kDead, std::memory_order_release);
      return ncclSuccess;
    }
  }
  return taken ? ncclSuccess : refuse(comm, name);
}

/// Why it has ended is for ncclGetLastError(NULL), too, and once for the log. With the handle's
/// lock held.
ncclResult_t tellOf(ncclComm_t comm, ncclResult_t end) {
  if (end == ncclSuccess || comm->cause.empty()) return end;
  note(comm->cause);
  if (!std::exchange(comm->told, true)) logLine(Loud::Warn, comm->cause);
  return end;
}

/// Rondo refuses to end a communicator that is in use, and does nothing then.
bool isStillThere(rondoResult_t result) { return result == rondoInvalidUsage; }

}  // namespace
}  // namespace rondo::nccl

using rondo::nccl::fail;
using rondo::nccl::failAs;
using rondo::nccl::usable;

// NULL is nothing to free, as in NCCL.
RONDO_NCCL_CALL(ncclResult_t, ncclCommFinalize, (ncclComm_t comm)) {
  const char* name = "ncclCommFinalize";
  if (comm == nullptr) return ncclSuccess;
  return rondo::nccl::guarded(name, [&]() -> ncclResult_t {
    if (const ncclResult_t bad = usable(comm, name)) return bad;
    rondo::nccl::Job job;
    job.name = name;
    job.place = comm->place;
    job.blocking = comm->blocking;
    job.on = comm;
    job.run = [comm](rondoComm_t*) {
      comm->order.drain(comm->place);
      const rondoResult_t result = rondoCommFinalize(comm->inner);
      if (result == rondoSuccess) comm->finalized = true;
      return result;
    };
    return rondo::nccl::submit(std::move(job));
  });
}

RONDO_NCCL_CALL(ncclResult_t, ncclCommDestroy, (ncclComm_t comm)) {
  const char* name = "ncclCommDestroy";
  if (comm == nullptr) return ncclSuccess;
  rondoComm_t inner = nullptr;
  uint32_t before = 0;
  if (const ncclResult_t bad = rondo::nccl::take(comm, name, false, &inner, &before)) return bad;
  rondoResult_t result = rondoSuccess;
  if (inner != nullptr) {
    const rondo::nccl::EndOfRehearsal end(inner);
    result = rondoCommDestroy(inner);
  }
  if (rondo::nccl::isStillThere(result)) {
    comm->word.store(before, std::memory_order_release);
    return failAs(comm, name, result);
  }
  rondo::nccl::retireHandle(comm);
  return result == rondoSuccess ? ncclSuccess : failAs(nullptr, name, result);
}

RONDO_NCCL_CALL(ncclResult_t, ncclCommAbort, (ncclComm_t comm)) {
  const char* name = "ncclCommAbort";
  if (comm == nullptr) return ncclSuccess;
  rondoComm_t inner = nullptr;
  uint32_t before = 0;
  if (const ncclResult_t bad = rondo::nccl::take(comm, name, true, &inner, &before)) return bad;
  if (before != 0) rondo::nccl::retireHandle(comm, /*inCalls=*/true);
  if (inner == nullptr) return ncclSuccess;
  if (rondo::nccl::groupOpen() && !rondo::nccl::rehearsing()) {
    rondo::nccl::leaveInGroup(inner);
    return ncclSuccess;
  }
  const rondo::nccl::EndOfRehearsal end(inner);
  const rondoResult_t result = rondoCommLeave(&inner, 1);
  return result == rondoSuccess ? ncclSuccess : failAs(nullptr, name, result);
}

RONDO_NCCL_CALL(ncclResult_t, ncclCommRevoke, (ncclComm_t comm, int revokeFlags)) {
  const char* name = "ncclCommRevoke";
  if (const ncclResult_t bad = usable(comm, name)) return bad;
  if (revokeFlags != 0) {
    return fail(comm, ncclInvalidArgument,
                rondo::format("%s: argument revokeFlags is %d; allowed: NCCL_REVOKE_DEFAULT (0)",
                              name, revokeFlags));
  }
  const rondoResult_t result = rondoCommRevoke(comm->inner);
  return result == rondoSuccess ? ncclSuccess : failAs(comm, name, result);
}

RONDO_NCCL_CALL(ncclResult_t, ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t* asyncError)) {
  const char* name = "ncclCommGetAsyncError";
  if (comm == nullptr || !comm->known()) return rondo::nccl::refuse(comm, name);
  if (asyncError == nullptr) return rondo::nccl::refuseOutput(comm, name, "asyncError");
  const std::lock_guard<std::mutex> lock(comm->mutex);
  switch (comm->word.load(std::memory_order_acquire)) {
    case ncclComm::kBusy:
      *asyncError = ncclInProgress;
      return ncclSuccess;
    case ncclComm::kFailed:
      *asyncError = rondo::nccl::tellOf(comm, comm->failure);
      return ncclSuccess;
    default:
      break;
  }
  if (comm->failure != ncclSuccess) {
    *asyncError = rondo::nccl::tellOf(comm, comm->failure);
    return ncclSuccess;
  }
  rondoResult_t state = rondoSuccess;
  const rondoResult_t result = rondoCommGetAsyncError(comm->inner, &state);
  if (result != rondoSuccess) return failAs(nullptr, name, result);
  if (state != rondoSuccess) comm->text = comm->cause = rondoGetLastError(comm->inner);
  *asyncError = rondo::nccl::tellOf(comm, rondo::nccl::codeOf(state));
  return ncclSuccess;
}

RONDO_NCCL_CALL(ncclResult_t, ncclCommCount, (const ncclComm_t comm, int* count)) {
  return rondo::nccl::answer(comm, "ncclCommCount", "count", count, rondoCommCount);
}

RONDO_NCCL_CALL(ncclResult_t, ncclCommUserRank, (const ncclComm_t comm, int* rank)) {
  return rondo::nccl::answer(comm, "ncclCommUserRank", "rank", rank, rondoCommUserRank);
}

RONDO_NCCL_CALL(ncclResult_t, ncclCommCuDevice, (const ncclComm_t comm, int* device)) {
  const ncclResult_t result =
      rondo::nccl::answer(comm, "ncclCommCuDevice", "device", device, rondoCommCuDevice);
  // A rehearsal's ranks are on no device; the program may want to make it current again.
  if (result == ncclSuccess && rondo::nccl::rehearsing() && comm->place.device >= 0) {
    *device = comm->place.device;
  }
  return result;
}

RONDO_NCCL_CALL(ncclResult_t, ncclGetVersion, (int* version)) {
  if (version == nullptr) return rondo::nccl::refuseOutput(nullptr, "ncclGetVersion", "version");
  *version = rondo::nccl::kVersion;
  return ncclSuccess;
}

// NCCL's own is deprecated, and does nothing any more.
RONDO_NCCL_CALL(void, ncclResetDebugInit, ()) {}
