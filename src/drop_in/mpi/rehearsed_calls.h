#pragma once
// Messages of a rehearsal: to and from ranks that are not there. They are checked as MPI would and
// timed; buffers are left as they are, but of messages to oneself. The results are MPI's codes,
// errors raised on `comm`.

#include <mpi.h>

#include "drop_in/mpi/comms.h"
#include "drop_in/mpi/passing.h"

namespace rondo::drop_in {

/// What a message's call says of it. `peer` may be MPI_PROC_NULL, of receives MPI_ANY_SOURCE.
struct Message {
  int count;
  MPI_Datatype type;
  int peer;
  int tag;
  const void* buffer = nullptr;  ///< Calls that consist of several messages give none.
};

int rehearseSend(const KnownComm& known, MPI_Comm comm, const char* call, const Message& message);
int rehearseRecv(const KnownComm& known, MPI_Comm comm, const char* call, const Message& message,
                 MPI_Status* status);
int rehearseSendrecv(const KnownComm& known, MPI_Comm comm, const char* call, const Message& out,
                     const Message& in, MPI_Status* status);
/// The request is complete at once.
int rehearseSendLater(const KnownComm& known, MPI_Comm comm, const char* call,
                      const Message& message, MPI_Request* request);
int rehearseRecvLater(const KnownComm& known, MPI_Comm comm, const char* call,
                      const Message& message, MPI_Request* request);

/// Checks one message as MPI would and notes its transfer, for calls that consist of several.
int noteTransfer(const KnownComm& known, MPI_Comm comm, const char* call, const Message& message,
                 bool sends);
/// MPI_Alltoallw and its like: notes the transfers with all other ranks, block by block, and puts
/// this rank's own block in its place.
int noteAlltoallw(const KnownComm& known, MPI_Comm comm, const char* call, const PassedBuffer& send,
                  const PassedBuffer& recv);
/// A request that is complete, with MPI's empty status.
int completeRequest(MPI_Request* request);

}  // namespace rondo::drop_in
