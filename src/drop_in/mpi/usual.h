#pragma once
// Calls that are Rondo's before anything else is looked at: of a program of one thread,
// without statistics, devices or a rehearsal, on a communicator of Rondo's, while ranks need not
// meet in the call. An Attempt, which finds out everything, keeps it in memory and takes as long as
// a short call's half. What decides is what decides there, the same on all ranks; that a rank takes
// this way and another one an Attempt's makes no difference.

#include <mpi.h>

#include <exception>

#include "drop_in/mpi/attempt.h"

namespace rondo::drop_in {

/// What is known of a call's communicator, for isUsual() and then for an Attempt.
inline const KnownComm* lookAtOnce(MPI_Comm comm) { return usualProgram ? &find(comm) : nullptr; }
inline bool isUsual(const KnownComm* known) {
  return known != nullptr && known->why == Why::Taken &&
         !known->aborted.load(std::memory_order_relaxed) && !known->uneven.due() &&
         !known->laters.due();
}

/// As Attempt::staysRondos(), of a call of blocks of `bytes` bytes: true, and it has begun, or
/// false, and an Attempt is to ask.
inline bool staysAtOnce(const KnownComm& known, Call call, size_t bytes) {
  return !measuring || (known.hasMet && known.measured.of(call, bytes).staysRondos());
}

/// As Attempt::taken(), of one that is usual: run(comm) is Rondo's call, and throws nothing.
template <class Run>
int answerAtOnce(Call call, MPI_Comm comm, const KnownComm& known, const Run& run) {
  const OwnCalls own;
  const rondoResult_t result = run(known.rondo);
  if (result != rondoSuccess) [[unlikely]]
    return Attempt::failedAtOnce(call, comm, known, result);
  moveMpiOn();
  endFreed();
  return MPI_SUCCESS;
}

/// As Attempt::begun(), of a non-blocking one, for which ranks never meet.
template <class Make>
int beginAtOnce(Call call, MPI_Comm comm, const KnownComm& known, const Make& make,
                MPI_Request* request) {
  const OwnCalls own;
  rondoResult_t result;
  try {
    result = beginPending(known, comm, call, make(), request);
  } catch (...) {
    return Attempt::caughtAtOnce(call, comm, known, std::current_exception());
  }
  if (result != rondoSuccess) [[unlikely]]
    return Attempt::failedAtOnce(call, comm, known, result);
  endFreed();
  return MPI_SUCCESS;
}

}  // namespace rondo::drop_in
