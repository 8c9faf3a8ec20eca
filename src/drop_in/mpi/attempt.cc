#include "drop_in/mpi/attempt.h"

#include <new>
#include <string>

#include "base/error.h"
#include "drop_in/mpi/failure.h"
#include "drop_in/mpi/timed_requests.h"

namespace rondo::drop_in {

void Attempt::agree() {
  if (why_ != Why::Taken) return;
  if (known_.uneven.due() && leastUneven != 0) {
    known_.uneven.agree(known_.aborted ? nullptr : known_.rondo, [](size_t before, size_t now) {
      const auto alike = [&](size_t least) { return (before < least) == (now < least); };
      return alike(leastUneven) && alike(leastUnevenLater);
    });
  }
  known_.laters.decide([this](MeasuredChoice& choice) { meet(choice); });
}

bool Attempt::chooseLater(size_t bytes, const MPI_Request* request) {
  const LaterChoices::Turn next =
      known_.laters.next(call_, bytes, known_.measured.of(call_, bytes));
  choice_ = next.choice;
  request_ = request;
  return begins(next.turn);
}

rondoResult_t Attempt::addUp(const MeasuredChoice::Trial& mine, MeasuredChoice::Trial* all) const {
  static_assert(sizeof mine % sizeof(uint64_t) == 0);
  if (known_.aborted) return rondoRemoteError;  // as the other ranks' calls say
  return rondoAllReduce(&mine, all, sizeof mine / sizeof(uint64_t), rondoUint64, rondoSum,
                        known_.rondo, nullptr);
}

/// A failure is the communicator's, and told by the call that this is a part of.
void Attempt::meet(MeasuredChoice& choice) const {
  const MeasuredChoice::Trial mine = choice.seen();
  MeasuredChoice::Trial all;
  choice.decide(addUp(mine, &all) == rondoSuccess ? &all : nullptr);
}

/// In the communicator's first call that may be measured, which is a slow one anyway: an
/// all-reduce that nobody has made yet takes 80 us, at the first decision in the midst of quick
/// calls.
void Attempt::meetFirst() const {
  known_.hasMet = true;
  MeasuredChoice::Trial all;
  addUp({}, &all);
}

void Attempt::timed() {
  if (request_ == nullptr) {
    choice_->ended(turn_, rondo::ticks() - began_);
  } else {
    timeRequest(known_.laters.share(choice_), turn_, *request_, began_);
  }
}

void Attempt::abort() {
  if (rehearsing) flushTransfers();
  if (known_.aborted.exchange(true)) return;
  known_.devices.abort();
  rondoCommAbort(known_.rondo);
}

int Attempt::unknown(const char* what, const char* allowed) {
  done();
  among_.leave();
  return refuseCall(name(call_), comm_, what, allowed);
}

/// The call has come to an error of Rondo's.
int Attempt::raised(rondoResult_t result, const std::string& what) {
  turn_ = {};
  done();
  among_.leave();
  return raise(comm_, result, std::string(name(call_)) + ": " + what);
}

int Attempt::refused() {
  return raised(rondoRemoteError, "an earlier error has ended the communicator");
}

int Attempt::failed(rondoResult_t result) {
  const std::string sentence = rondoGetLastError(nullptr);
  // An argument that Rondo refuses, such as buffers that overlap, or no memory: the others have
  // called already. What they are told of has ended the communicator for all.
  if (result != rondoRemoteError && result != rondoMismatch) abort();
  return raised(result, sentence);
}

int Attempt::failedAtOnce(Call call, MPI_Comm comm, const KnownComm& known, rondoResult_t result) {
  return Attempt(Made{}, call, comm, known).failed(result);
}

/// Kernels of other ranks may wait for this one's.
int Attempt::failedOnDevices(rondoResult_t result) {
  const std::string sentence = rondoGetLastError(nullptr);
  abort();
  return raised(result, "on device memory: " + sentence);
}

int Attempt::caughtAtOnce(Call call, MPI_Comm comm, const KnownComm& known,
                          const std::exception_ptr& thrown) {
  return Attempt(Made{}, call, comm, known).caught(thrown);
}

int Attempt::caught(const std::exception_ptr& thrown) {
  rondoResult_t result = rondoInternalError;
  std::string sentence = "unknown exception";
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    result = error.code();
    sentence = error.sentence();
  } catch (const std::bad_alloc&) {
    result = rondoOutOfMemory;
    sentence = "no memory for a packed copy of a buffer";
  } catch (const std::exception& error) {
    sentence = error.what();
  }
  abort();
  return raised(result, sentence);
}

}  // namespace rondo::drop_in
