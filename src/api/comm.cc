// Life and questions of a communicator.

#include <span>
#include <utility>

#include "api/comm_create.h"
#include "api/drain.h"
#include "api/forming.h"
#include "api/handle.h"
#include "api/profile_range.h"
#include "api/virtual_comm.h"
#include "base/error.h"
#include "coll/progress.h"
#include "p2p/peer_watch.h"

namespace {

/// Answers a question about a communicator by copying a number.
rondoResult_t answer(rondoComm_t comm, const char* call, const char* argument, int* out,
                     int (*read)(const rondo::Communicator&)) {
  const rondo::Keep keep(comm, call);
  if (!keep) return keep.result();
  if (out == nullptr) {
    return rondo::fail(nullptr, rondoInvalidArgument,
                       rondo::format("%s: argument %s is NULL; allowed: where to write the answer",
                                     call, argument));
  }
  *out = read(*comm->impl);
  return rondoSuccess;
}

rondoResult_t refuseOwned(rondoComm_t comm, const char* call) {
  return rondo::fail(
      comm, rondoInvalidUsage,
      rondo::format(
          "%s: communicator \"%s\" (%p) belongs to an MPI communicator (rondoCommFromMPI) and "
          "ends with it, by MPI_Comm_free or MPI_Finalize",
          call, comm->impl->name().c_str(), static_cast<void*>(comm)));
}

rondoResult_t refuseBusy(rondoComm_t comm, const char* call) {
  return rondo::fail(
      nullptr, rondoInvalidUsage,
      rondo::format("%s: communicator %p is in use by another thread; allowed: once its calls have "
                    "returned (rondoCommAbort ends them)",
                    call, static_cast<void*>(comm)));
}

/// Whether `comm` works no more, for who asks without making a call. First what its kernels found,
/// as an abort is seen by all before they end.
void findEnd(rondoComm* comm, rondo::Communicator& impl) {
  rondo::Communicator::End own = impl.foundByKernels();
  if (impl.aborted()) return rondo::breakComm(comm, impl);
  if (own.why.empty()) return;
  comm->brokenCode = own.code;
  comm->broken = std::move(own.why);
  impl.noteBroken(comm->broken);
}

bool isUnmade(const rondoComm* comm) {
  return comm != nullptr && comm->state.load(std::memory_order_acquire) == rondoComm::kUnmade;
}

/// Of rondoCommLeave(), for all communicators before any is freed. What cannot be used is refused
/// then.
void endOwnPart(rondoComm_t comm, const char* call) {
  if (comm == nullptr || rondo::isUnready(comm) || isUnmade(comm)) return;
  const rondo::Keep keep(comm, call);
  if (!keep || comm->ownedByMpi) return;
  const bool claimed = rondo::claimComm(comm, rondoComm::kBusy);
  const bool alone = claimed && comm->impl->idle();
  if (!alone || !comm->impl->endOwnPart()) comm->impl->abort();
  if (claimed) rondo::releaseComm(comm);
}

rondoResult_t freeLeft(rondoComm_t comm, const char* call) {
  if (rondo::isUnready(comm) || isUnmade(comm)) return rondoCommAbort(comm);
  const rondo::Keep keep(comm, call);
  if (!keep) return keep.result();
  if (comm->ownedByMpi) return refuseOwned(comm, call);
  comm->impl->tellIfGivenUp();
  // Another thread may have begun a call meanwhile.
  const bool claimed = rondo::claimComm(comm, rondoComm::kBusy);
  if (!claimed || !comm->impl->idle()) comm->impl->abort();
  if (claimed) rondo::releaseComm(comm);
  while (!comm->impl->idle()) rondo::ProgressThread::pollAll();
  rondo::freeComm(comm);
  return rondoSuccess;
}

}  // namespace

rondoResult_t rondoCommCount(rondoComm_t comm, int* count) {
  return answer(comm, "rondoCommCount", "count", count,
                [](const rondo::Communicator& c) { return c.place().size; });
}

rondoResult_t rondoCommUserRank(rondoComm_t comm, int* rank) {
  return answer(comm, "rondoCommUserRank", "rank", rank,
                [](const rondo::Communicator& c) { return c.place().rank; });
}

rondoResult_t rondoCommLocalRank(rondoComm_t comm, int* localRank) {
  return answer(comm, "rondoCommLocalRank", "localRank", localRank,
                [](const rondo::Communicator& c) { return c.place().localRank; });
}

rondoResult_t rondoCommLocalSize(rondoComm_t comm, int* localSize) {
  return answer(comm, "rondoCommLocalSize", "localSize", localSize,
                [](const rondo::Communicator& c) { return c.place().localSize; });
}

rondoResult_t rondoCommCuDevice(rondoComm_t comm, int* device) {
  return answer(comm, "rondoCommCuDevice", "device", device,
                [](const rondo::Communicator& c) { return c.device(); });
}

rondoResult_t rondoCommFinalize(rondoComm_t comm) {
  const rondo::LifeRange range("rondoCommFinalize");
  const char* call = "rondoCommFinalize";
  const rondo::Keep keep(comm, call);
  if (!keep) return keep.result();
  if (!rondo::claimComm(comm, rondoComm::kBusy)) return refuseBusy(comm, call);
  rondoResult_t drained = rondoSuccess;
  const rondoResult_t bad =
      rondo::guarded(nullptr, call, [&] { drained = rondo::drain(comm, call); });
  const rondoResult_t result = bad != rondoSuccess ? bad : drained;
  if (result == rondoSuccess) comm->state.store(rondoComm::kFinalized, std::memory_order_release);
  rondo::releaseComm(comm);
  return result;
}

rondoResult_t rondoCommDestroy(rondoComm_t comm) {
  const rondo::LifeRange range("rondoCommDestroy");
  const char* call = "rondoCommDestroy";
  if (isUnmade(comm)) {
    rondo::destroyHandle(comm);
    return rondoSuccess;
  }
  const rondo::Keep keep(comm, call);
  if (!keep) return keep.result();
  if (comm->ownedByMpi) return refuseOwned(comm, call);
  if (!rondo::claimComm(comm, rondoComm::kBusy)) return refuseBusy(comm, call);
  if (!comm->impl->idle()) {
    rondo::releaseComm(comm);
    return rondo::refuseOutstanding(comm, call);
  }
  rondoResult_t result = rondoSuccess;
  if (comm->rehearsal != nullptr) result = rondo::finishVirtual(comm, call);
  rondo::destroyHandle(comm);
  return result;
}

rondoResult_t rondoCommAbort(rondoComm_t comm) {
  const rondo::LifeRange range("rondoCommAbort");
  const char* call = "rondoCommAbort";
  if (rondo::isUnready(comm)) rondo::stopForming(comm);
  if (isUnmade(comm)) {
    rondo::destroyHandle(comm);
    return rondoSuccess;
  }
  const rondo::Keep keep(comm, call);
  if (!keep) return keep.result();
  comm->impl->abort();
  // What runs on by itself sees the abort word at its next poll.
  while (!comm->impl->idle()) rondo::ProgressThread::pollAll();
  // One that MPI owns keeps its handle until MPI lets go of it; every call on it says that it was
  // aborted.
  if (!comm->ownedByMpi) rondo::freeComm(comm);
  return rondoSuccess;
}

rondoResult_t rondoCommLeave(const rondoComm_t* comms, int count) {
  const rondo::LifeRange range("rondoCommLeave");
  const char* call = "rondoCommLeave";
  if (count < 0 || (comms == nullptr && count > 0)) {
    return rondo::fail(nullptr, rondoInvalidArgument,
                       rondo::format("%s: argument comms is %p and count is %d; allowed: so many "
                                     "communicators, from 0",
                                     call, static_cast<const void*>(comms), count));
  }
  const std::span<const rondoComm_t> all(comms, static_cast<size_t>(count));
  for (const rondoComm_t comm : all) endOwnPart(comm, call);
  rondoResult_t result = rondoSuccess;
  for (const rondoComm_t comm : all) {
    const rondoResult_t bad = comm == nullptr ? rondoSuccess : freeLeft(comm, call);
    if (result == rondoSuccess) result = bad;
  }
  return result;
}

rondoResult_t rondoCommRevoke(rondoComm_t comm) {
  const rondo::Keep keep(comm, "rondoCommRevoke");
  if (!keep) return keep.result();
  comm->impl->abort();
  return rondoSuccess;
}

rondoResult_t rondoCommGetAsyncError(rondoComm_t comm, rondoResult_t* result) {
  const char* call = "rondoCommGetAsyncError";
  if (!rondo::isUnready(comm)) {
    if (const rondoResult_t bad = rondo::checkHandle(comm, call)) return bad;
  }
  if (result == nullptr) {
    return rondo::fail(nullptr, rondoInvalidArgument,
                       rondo::format("%s: argument result is NULL; allowed: where to write the "
                                     "communicator's state",
                                     call));
  }
  if (rondo::isUnready(comm)) {
    *result = isUnmade(comm) ? comm->brokenCode : rondoInProgress;
    if (isUnmade(comm)) rondo::endForming(comm);
    return rondoSuccess;
  }
  const rondo::Keep keep(comm, call);
  if (!keep) return keep.result();
  rondo::endForming(comm);
  rondo::PeerWatch::one().look();
  if (!rondo::claimComm(comm, rondoComm::kAsked)) {  // a thread is inside a call, and will know
    *result = !comm->impl->aborted()  ? rondoSuccess
              : comm->impl->differs() ? rondoMismatch
                                      : rondoRemoteError;
    return rondoSuccess;
  }
  if (comm->broken.empty()) findEnd(comm, *comm->impl);
  *result = comm->broken.empty() ? rondoSuccess : comm->brokenCode;
  if (!comm->broken.empty()) comm->noteError(comm->broken);
  rondo::releaseComm(comm);
  return rondoSuccess;
}
