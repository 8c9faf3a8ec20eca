// The calls that end requests as Fortran makes them. MPI's own Fortran routines turn requests,
// statuses, indices and logicals into Fortran's and back, but call PMPI functions, which know
// nothing of Rondo: here Rondo's requests are completed first, and what it failed at is told after.

#include <algorithm>
#include <cstddef>

#include "drop_in/mpi/fortran.h"
#include "drop_in/mpi/fortran_next.h"
#include "drop_in/mpi/persistent.h"
#include "drop_in/mpi/request_calls.h"

#if defined(OPEN_MPI)

using namespace rondo::drop_in;

namespace {

/// A routine of MPI's each.
namespace routines {
struct Wait;
struct Test;
struct Waitall;
struct Testall;
struct Waitany;
struct Testany;
struct Waitsome;
struct Testsome;
struct RequestGetStatus;
}  // namespace routines

/// Fortran's array of requests as C's. In the end Fortran's is as C's again.
class Requests {
 public:
  Requests(MPI_Fint* given, int count) : given_(given) {
    for (int i = 0; i < count; ++i) c_.push_back(MPI_Request_f2c(given[i]));
  }
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  ~Requests() { give(); }
  void give() {
    for (size_t i = 0; i < c_.size(); ++i) {
      if (MPI_Request_f2c(given_[i]) != c_[i]) given_[i] = MPI_Request_c2f(c_[i]);
    }
  }
  /// MPI's routine may have made some null.
  void look() {
    for (size_t i = 0; i < c_.size(); ++i) c_[i] = MPI_Request_f2c(given_[i]);
  }
  int count() const { return static_cast<int>(c_.size()); }
  MPI_Request* data() { return c_.data(); }

 private:
  MPI_Fint* given_;
  std::vector<MPI_Request> c_;
};

/// One call while some requests are Rondo's.
class FortranCall {
 public:
  FortranCall(Call call, MPI_Fint* given, int count)
      : requests_(given, count),
        started_(count, requests_.data()),
        all_(call, requests_.count(), requests_.data()) {
    requests_.give();
  }
  RequestArray& all() { return all_; }
  /// After MPI's routine.
  RequestArray& after() {
    requests_.look();
    return all_;
  }

 private:
  Requests requests_;
  StartedOnes started_;
  RequestArray all_;
};

/// What MPI's routine said, and what is said in the end to a caller who may not want to know.
struct Error {
  MPI_Fint own = MPI_SUCCESS;
  MPI_Fint* given;
  explicit Error(MPI_Fint* ierror) : given(ierror) {}
  void end(int code) const { give(given, code); }
};

/// Fortran's indices count from 1, and it has its own word for none of them.
int indexOf(const MPI_Fint* index) { return *index == MPI_UNDEFINED ? MPI_UNDEFINED : *index - 1; }

std::vector<int> indicesOf(const MPI_Fint* indices, int number) {
  std::vector<int> out;
  for (int k = 0; k < number; ++k) out.push_back(indices[k] - 1);
  return out;
}

/// A Fortran status is an array of integers, in which MPI_ERROR is the third.
constexpr size_t kStatusSize = sizeof(MPI_Status) / sizeof(MPI_Fint), kErrorAt = 2;
static_assert(offsetof(MPI_Status, MPI_ERROR) == kErrorAt * sizeof(MPI_Fint));

/// After MPI ended `number` of the requests, those at `which`, nullptr: all.
void endSeveral(RequestArray& all, const Error& error, int number, const int* which,
                MPI_Fint* statuses) {
  std::vector<MPI_Status> own(static_cast<size_t>(std::max(0, number)));
  for (MPI_Status& status : own) status.MPI_ERROR = MPI_SUCCESS;
  const int code = all.ended(error.own, number, which, own.data());
  for (size_t k = 0; statuses != &mpi_fortran_statuses_ignore_ && k < own.size(); ++k) {
    const bool told = code == error.own && own[k].MPI_ERROR == MPI_SUCCESS;  // by MPI
    if (!told) statuses[k * kStatusSize + kErrorAt] = own[k].MPI_ERROR;
  }
  error.end(code);
}

void endSome(RequestArray& all, const Error& error, const MPI_Fint* number, const MPI_Fint* indices,
             MPI_Fint* statuses) {
  const bool any = RequestArray::hasEndedSome(error.own) && *number != MPI_UNDEFINED;
  const int some = any ? *number : 0;
  endSeveral(all, error, some, indicesOf(indices, some).data(), statuses);
}

}  // namespace

// mpi.h declares none of them: they would be hidden.
#pragma GCC visibility push(default)
extern "C" {

void mpi_wait_(MPI_Fint* request, MPI_Fint* status, MPI_Fint* ierror) {
  if (!anyWaitedFor()) return callNext<routines::Wait>("pmpi_wait_", request, status, ierror);
  FortranCall call(Call::Wait, request, 1);
  Error error(ierror);
  call.all().waitForAll();
  callNext<routines::Wait>("pmpi_wait_", request, status, &error.own);
  error.end(call.after().endedOne(error.own, true, 0));
}

void mpi_test_(MPI_Fint* request, MPI_Fint* flag, MPI_Fint* status, MPI_Fint* ierror) {
  if (!anyWaitedFor()) return callNext<routines::Test>("pmpi_test_", request, flag, status, ierror);
  FortranCall call(Call::Test, request, 1);
  Error error(ierror);
  call.all().poll();
  callNext<routines::Test>("pmpi_test_", request, flag, status, &error.own);
  error.end(call.after().endedOne(error.own, *flag != 0, 0));
}

void mpi_waitall_(MPI_Fint* count, MPI_Fint* requests, MPI_Fint* statuses, MPI_Fint* ierror) {
  if (!anyWaitedFor())
    return callNext<routines::Waitall>("pmpi_waitall_", count, requests, statuses, ierror);
  FortranCall call(Call::Waitall, requests, *count);
  Error error(ierror);
  call.all().waitForAll();
  callNext<routines::Waitall>("pmpi_waitall_", count, requests, statuses, &error.own);
  endSeveral(call.after(), error, *count, nullptr, statuses);
}

void mpi_testall_(MPI_Fint* count, MPI_Fint* requests, MPI_Fint* flag, MPI_Fint* statuses,
                  MPI_Fint* ierror) {
  if (!anyWaitedFor())
    return callNext<routines::Testall>("pmpi_testall_", count, requests, flag, statuses, ierror);
  FortranCall call(Call::Testall, requests, *count);
  Error error(ierror);
  call.all().poll();
  callNext<routines::Testall>("pmpi_testall_", count, requests, flag, statuses, &error.own);
  const bool ended = error.own == MPI_SUCCESS ? *flag != 0 : RequestArray::hasEndedSome(error.own);
  endSeveral(call.after(), error, ended ? *count : 0, nullptr, statuses);
}

void mpi_waitany_(MPI_Fint* count, MPI_Fint* requests, MPI_Fint* index, MPI_Fint* status,
                  MPI_Fint* ierror) {
  if (!anyWaitedFor())
    return callNext<routines::Waitany>("pmpi_waitany_", count, requests, index, status, ierror);
  FortranCall call(Call::Waitany, requests, *count);
  Error error(ierror);
  MPI_Fint flag = 0;
  do {
    call.all().poll();
    callNext<routines::Testany>("pmpi_testany_", count, requests, index, &flag, status, &error.own);
  } while (error.own == MPI_SUCCESS && !flag);
  error.end(call.after().endedOne(error.own, flag != 0, indexOf(index)));
}

void mpi_testany_(MPI_Fint* count, MPI_Fint* requests, MPI_Fint* index, MPI_Fint* flag,
                  MPI_Fint* status, MPI_Fint* ierror) {
  if (!anyWaitedFor())
    return callNext<routines::Testany>("pmpi_testany_", count, requests, index, flag, status,
                                       ierror);
  FortranCall call(Call::Testany, requests, *count);
  Error error(ierror);
  call.all().poll();
  callNext<routines::Testany>("pmpi_testany_", count, requests, index, flag, status, &error.own);
  error.end(call.after().endedOne(error.own, *flag != 0, indexOf(index)));
}

void mpi_waitsome_(MPI_Fint* count, MPI_Fint* requests, MPI_Fint* number, MPI_Fint* indices,
                   MPI_Fint* statuses, MPI_Fint* ierror) {
  if (!anyWaitedFor())
    return callNext<routines::Waitsome>("pmpi_waitsome_", count, requests, number, indices,
                                        statuses, ierror);
  FortranCall call(Call::Waitsome, requests, *count);
  Error error(ierror);
  do {
    call.all().poll();
    callNext<routines::Testsome>("pmpi_testsome_", count, requests, number, indices, statuses,
                                 &error.own);
  } while (error.own == MPI_SUCCESS && *number == 0);
  endSome(call.after(), error, number, indices, statuses);
}

void mpi_testsome_(MPI_Fint* count, MPI_Fint* requests, MPI_Fint* number, MPI_Fint* indices,
                   MPI_Fint* statuses, MPI_Fint* ierror) {
  if (!anyWaitedFor())
    return callNext<routines::Testsome>("pmpi_testsome_", count, requests, number, indices,
                                        statuses, ierror);
  FortranCall call(Call::Testsome, requests, *count);
  Error error(ierror);
  call.all().poll();
  callNext<routines::Testsome>("pmpi_testsome_", count, requests, number, indices, statuses,
                               &error.own);
  endSome(call.after(), error, number, indices, statuses);
}

void mpi_request_get_status_(MPI_Fint* request, MPI_Fint* flag, MPI_Fint* status,
                             MPI_Fint* ierror) {
  MPI_Request c = MPI_Request_f2c(*request);
  const bool any = anyWaitedFor();
  const HeldMessage message = any ? findStaged(c) : HeldMessage();
  if (any) pollPending();
  endFreed();
  const StartedOnes started(1, &c);
  MPI_Fint asked = anyPersistent() ? MPI_Request_c2f(c) : *request;
  Error error(ierror);
  callNext<routines::RequestGetStatus>("pmpi_request_get_status_", &asked, flag, status,
                                       &error.own);
  const bool complete = message != nullptr && error.own == MPI_SUCCESS && *flag != 0;
  error.end(complete ? message->end() : error.own);
}

void mpi_request_free_(MPI_Fint* request, MPI_Fint* ierror) {
  MPI_Request c = MPI_Request_f2c(*request);
  const int code = MPI_Request_free(&c);
  giveHandle(request, c, ierror, code);
}

void mpi_cancel_(MPI_Fint* request, MPI_Fint* ierror) {
  MPI_Request c = MPI_Request_f2c(*request);
  give(ierror, MPI_Cancel(&c));
}

RONDO_FORTRAN_NAMES(wait, WAIT)
RONDO_FORTRAN_NAMES(test, TEST)
RONDO_FORTRAN_NAMES(waitall, WAITALL)
RONDO_FORTRAN_NAMES(testall, TESTALL)
RONDO_FORTRAN_NAMES(waitany, WAITANY)
RONDO_FORTRAN_NAMES(testany, TESTANY)
RONDO_FORTRAN_NAMES(waitsome, WAITSOME)
RONDO_FORTRAN_NAMES(testsome, TESTSOME)
RONDO_FORTRAN_NAMES(request_get_status, REQUEST_GET_STATUS)
RONDO_FORTRAN_NAMES(request_free, REQUEST_FREE)
RONDO_FORTRAN_NAMES(cancel, CANCEL)
RONDO_FORTRAN_F08(test)
RONDO_FORTRAN_F08(testall)
RONDO_FORTRAN_F08(testany)
RONDO_FORTRAN_F08(testsome)
RONDO_FORTRAN_F08(request_get_status)

}  // extern "C"
#pragma GCC visibility pop

#endif
