// MPI's calls that wait for requests, test them or let go of them. They cost a look at a number as
// long as no request is Rondo's; else what Rondo is done with is completed before MPI does the
// call.

#include <mpi.h>

#include "base/error.h"
#include "drop_in/mpi/failure.h"
#include "drop_in/mpi/own_calls.h"
#include "drop_in/mpi/persistent.h"
#include "drop_in/mpi/persistent_messages.h"
#include "drop_in/mpi/request_calls.h"
#include "drop_in/mpi/timed_requests.h"

using namespace rondo;
using namespace rondo::drop_in;

namespace {

// Apart from their callers, which are to stay small.

/// As MPI_Wait of a collective's request that has ended: the empty status, but for the error, which
/// the call does not touch.
int giveEmpty(MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return MPI_SUCCESS;
  MPI_Request none = MPI_REQUEST_NULL;
  const int error = status->MPI_ERROR;
  const int code = PMPI_Wait(&none, status);
  status->MPI_ERROR = error;
  return code;
}

/// The usual case at once: the request is Rondo's, and nothing fails.
bool endedAlone(MPI_Request* request) {
  if (statsOn) return false;
  const OwnCalls own;
  if (!endAlone(request)) return false;
  endFreed();
  return true;
}

[[gnu::noinline]] int wait(MPI_Request* request, MPI_Status* status) {
  const MPI_Request given = *request;
  const bool times = timesAny();
  if (times && isTimedAlone(given)) {
    const int code = PMPI_Wait(request, status);
    endTimed(given);
    return code;
  }
  const StartedOnes started(1, request);
  // Without persistent ones its caller has tried.
  if (!times && anyPersistent() && endedAlone(request)) return giveEmpty(status);
  RequestArray all(Call::Wait, 1, request);
  all.waitForAll();
  return all.endedOne(PMPI_Wait(request, status), true, 0);
}

[[gnu::noinline]] int test(MPI_Request* request, int* flag, MPI_Status* status) {
  const StartedOnes started(1, request);
  RequestArray all(Call::Test, 1, request);
  all.poll();
  const int code = PMPI_Test(request, flag, status);
  return all.endedOne(code, code == MPI_SUCCESS && *flag, 0);
}

[[gnu::noinline]] int waitAll(int count, MPI_Request requests[], MPI_Status statuses[]) {
  const StartedOnes started(count, requests);
  RequestArray all(Call::Waitall, count, requests);
  all.waitForAll();
  return all.ended(PMPI_Waitall(count, requests, statuses), count, nullptr, statuses);
}

[[gnu::noinline]] int testAll(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  const StartedOnes started(count, requests);
  RequestArray all(Call::Testall, count, requests);
  all.poll();
  const int code = PMPI_Testall(count, requests, flag, statuses);
  const bool ended = code == MPI_SUCCESS ? *flag != 0 : RequestArray::hasEndedSome(code);
  return all.ended(code, ended ? count : 0, nullptr, statuses);
}

[[gnu::noinline]] int testAny(int count, MPI_Request requests[], int* index, int* flag,
                              MPI_Status* status) {
  const StartedOnes started(count, requests);
  RequestArray all(Call::Testany, count, requests);
  all.poll();
  const int code = PMPI_Testany(count, requests, index, flag, status);
  return all.endedOne(code, code == MPI_SUCCESS && *flag, code == MPI_SUCCESS ? *index : 0);
}

[[gnu::noinline]] int waitAny(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  const StartedOnes started(count, requests);
  RequestArray all(Call::Waitany, count, requests);
  int flag = 0, code = MPI_SUCCESS;
  do {
    all.poll();
    code = PMPI_Testany(count, requests, index, &flag, status);
  } while (code == MPI_SUCCESS && !flag);
  return all.endedOne(code, flag, *index);
}

[[gnu::noinline]] int testSome(int count, MPI_Request requests[], int* number, int indices[],
                               MPI_Status statuses[]) {
  const StartedOnes started(count, requests);
  RequestArray all(Call::Testsome, count, requests);
  all.poll();
  const int code = PMPI_Testsome(count, requests, number, indices, statuses);
  const bool some = RequestArray::hasEndedSome(code) && *number != MPI_UNDEFINED;
  return all.ended(code, some ? *number : 0, indices, statuses);
}

[[gnu::noinline]] int waitSome(int count, MPI_Request requests[], int* number, int indices[],
                               MPI_Status statuses[]) {
  const StartedOnes started(count, requests);
  RequestArray all(Call::Waitsome, count, requests);
  int code = MPI_SUCCESS;
  do {
    all.poll();
    code = PMPI_Testsome(count, requests, number, indices, statuses);
  } while (code == MPI_SUCCESS && *number == 0);
  const bool some = RequestArray::hasEndedSome(code) && *number != MPI_UNDEFINED;
  return all.ended(code, some ? *number : 0, indices, statuses);
}

/// Arguments that MPI refuses before it looks at a request.
bool wrong(int count, const void* requests, const void* out) {
  return count < 0 || (count > 0 && requests == nullptr) || out == nullptr;
}

int refuse(const char* call, const Pending& pending) {
  return raiseMistake(pending.comm(), MPI_ERR_REQUEST,
                      format("%s: the request is that of %s; allowed: requests of point-to-point "
                             "calls and files (MPI-3.1, 5.12)",
                             call, name(pending.call())));
}

}  // namespace

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  if (!anyWaitedFor() || request == nullptr) [[likely]]
    return PMPI_Wait(request, status);
  if (!timesAny() && !anyPersistent() && endedAlone(request)) return giveEmpty(status);
  return wait(request, status);
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (!anyWaitedFor() || wrong(1, request, flag)) [[likely]]
    return PMPI_Test(request, flag, status);
  return test(request, flag, status);
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  if (!anyWaitedFor() || wrong(count, requests, requests)) [[likely]]
    return PMPI_Waitall(count, requests, statuses);
  return waitAll(count, requests, statuses);
}

int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  if (!anyWaitedFor() || wrong(count, requests, flag)) [[likely]]
    return PMPI_Testall(count, requests, flag, statuses);
  return testAll(count, requests, flag, statuses);
}

int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  if (!anyWaitedFor() || wrong(count, requests, index)) [[likely]]
    return PMPI_Waitany(count, requests, index, status);
  return waitAny(count, requests, index, status);
}

int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  if (!anyWaitedFor() || wrong(count, requests, index) || flag == nullptr) [[likely]]
    return PMPI_Testany(count, requests, index, flag, status);
  return testAny(count, requests, index, flag, status);
}

int MPI_Waitsome(int count, MPI_Request requests[], int* number, int indices[],
                 MPI_Status statuses[]) {
  if (!anyWaitedFor() || wrong(count, requests, number)) [[likely]]
    return PMPI_Waitsome(count, requests, number, indices, statuses);
  return waitSome(count, requests, number, indices, statuses);
}

int MPI_Testsome(int count, MPI_Request requests[], int* number, int indices[],
                 MPI_Status statuses[]) {
  if (!anyWaitedFor() || wrong(count, requests, number)) [[likely]]
    return PMPI_Testsome(count, requests, number, indices, statuses);
  return testSome(count, requests, number, indices, statuses);
}

int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  if (!anyWaitedFor()) return PMPI_Request_get_status(request, flag, status);
  pollPending();
  endFreed();
  const StartedOnes started(1, &request);
  const int code = PMPI_Request_get_status(request, flag, status);
  if (code != MPI_SUCCESS || !*flag) return code;
  const HeldMessage message = findStaged(request);
  return message == nullptr ? code : message->end();
}

// MPI forbids the two for non-blocking collectives; one that is complete may go, as it would in
// MPI.
int MPI_Request_free(MPI_Request* request) {
  int code = MPI_SUCCESS;
  if (anyPersistent() && request != nullptr && freePersistent(request, &code)) return code;
  if (anyPersistentMessage() && request != nullptr) forgetMessage(*request);
  if (!anyWaitedFor() || request == nullptr) return PMPI_Request_free(request);
  if (const Held ours = findPending(*request)) {
    const OwnCalls own;
    ours->poll();
    if (!ours->done()) return refuse("MPI_Request_free", *ours);
  } else if (const HeldMessage message = findStaged(*request)) {
    freeStaged(request, message);
    return MPI_SUCCESS;
  }
  return PMPI_Request_free(request);
}

int MPI_Cancel(MPI_Request* request) {
  int code = MPI_SUCCESS;
  if (anyPersistent() && request != nullptr && cancelPersistent(*request, &code)) return code;
  if (!anyWaitedFor() || request == nullptr) return PMPI_Cancel(request);
  if (const Held ours = findPending(*request)) return refuse("MPI_Cancel", *ours);
  return PMPI_Cancel(request);
}
