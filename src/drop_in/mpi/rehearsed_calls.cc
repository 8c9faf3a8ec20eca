// MPI's calls that a rehearsal answers otherwise than MPI, which knows one process only: who is
// there, what time it is, and messages to ranks that are not there.

#include "drop_in/mpi/rehearsed_calls.h"

#include "drop_in/mpi/failure.h"
#include "drop_in/mpi/rehearsal.h"

using namespace rondo;
using namespace rondo::drop_in;

namespace {

/// What a receive says about the message that did not come.
struct Envelope {
  int source, tag;
  MPI_Datatype type;
  int count;
};

Envelope envelopeOf(const KnownComm& known, int count, MPI_Datatype type, int source, int tag) {
  // From anybody: the next rank is as good as another.
  if (source == MPI_ANY_SOURCE) source = (known.rank + 1) % known.size;
  return {source, tag == MPI_ANY_TAG ? 0 : tag, type, source == MPI_PROC_NULL ? 0 : count};
}

/// As bytes: MPI would take a number for basic elements of the type, not for the types received.
void fill(const Envelope& envelope, MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  MPI_Count size = 0;
  if (envelope.count > 0) PMPI_Type_size_x(envelope.type, &size);
  status->MPI_SOURCE = envelope.source;
  status->MPI_TAG = envelope.source == MPI_PROC_NULL ? MPI_ANY_TAG : envelope.tag;
  status->MPI_ERROR = MPI_SUCCESS;
  PMPI_Status_set_elements_x(status, MPI_BYTE, envelope.count * size);
  PMPI_Status_set_cancelled(status, 0);
}

/// Checks what MPI would, and notes the transfer.
int begin(const KnownComm& known, MPI_Comm comm, const char* call, int count, MPI_Datatype type,
          int peer, bool sends) {
  if (count < 0) {
    return raise(
        comm, rondoInvalidArgument,
        std::string(call) + ": argument count is " + std::to_string(count) + "; allowed: from 0");
  }
  MPI_Count size = 0;
  if (type == MPI_DATATYPE_NULL || PMPI_Type_size_x(type, &size) != MPI_SUCCESS) {
    return raise(comm, rondoInvalidArgument,
                 std::string(call) + ": argument datatype is MPI_DATATYPE_NULL; allowed: a type");
  }
  if (peer == MPI_PROC_NULL) return MPI_SUCCESS;
  if (peer < 0 || peer >= known.size) {
    return raise(comm, rondoInvalidArgument,
                 std::string(call) + ": the peer is rank " + std::to_string(peer) +
                     "; allowed: 0 to " + std::to_string(known.size - 1));
  }
  beginTransfer(known, peer, sends, static_cast<size_t>(count) * static_cast<size_t>(size));
  return MPI_SUCCESS;
}

int query(void* state, MPI_Status* status) {
  fill(*static_cast<const Envelope*>(state), status);
  return MPI_SUCCESS;
}
int release(void* state) {
  delete static_cast<Envelope*>(state);
  return MPI_SUCCESS;
}
int cancel(void*, int) { return MPI_SUCCESS; }

/// A request that is complete.
int complete(const Envelope& envelope, MPI_Request* request) {
  auto* const state = new Envelope(envelope);
  const int code = PMPI_Grequest_start(query, release, cancel, state, request);
  if (code != MPI_SUCCESS) {
    delete state;
    return code;
  }
  return PMPI_Grequest_complete(*request);
}

}  // namespace

namespace rondo::drop_in {

int rehearseSend(const KnownComm& known, MPI_Comm comm, const char* call, const Message& message) {
  const int code =
      begin(known, comm, call, message.count, message.type, message.peer, /*sends=*/true);
  flushTransfers();
  return code;
}

int rehearseSendLater(const KnownComm& known, MPI_Comm comm, const char* call,
                      const Message& message, MPI_Request* request) {
  const int code =
      begin(known, comm, call, message.count, message.type, message.peer, /*sends=*/true);
  if (code != MPI_SUCCESS) return code;
  return completeRequest(request);
}

int rehearseRecv(const KnownComm& known, MPI_Comm comm, const char* call, const Message& message,
                 MPI_Status* status) {
  const Envelope envelope =
      envelopeOf(known, message.count, message.type, message.peer, message.tag);
  if (const int code =
          begin(known, comm, call, message.count, message.type, envelope.source, false)) {
    return code;
  }
  flushTransfers();
  fill(envelope, status);
  return MPI_SUCCESS;
}

int rehearseRecvLater(const KnownComm& known, MPI_Comm comm, const char* call,
                      const Message& message, MPI_Request* request) {
  const Envelope envelope =
      envelopeOf(known, message.count, message.type, message.peer, message.tag);
  if (const int code =
          begin(known, comm, call, message.count, message.type, envelope.source, false)) {
    return code;
  }
  return complete(envelope, request);
}

int rehearseSendrecv(const KnownComm& known, MPI_Comm comm, const char* call, const Message& out,
                     const Message& in, MPI_Status* status) {
  if (const int code = begin(known, comm, call, out.count, out.type, out.peer, true)) return code;
  return rehearseRecv(known, comm, call, in, status);
}

int noteTransfer(const KnownComm& known, MPI_Comm comm, const char* call, const Message& message,
                 bool sends) {
  return begin(known, comm, call, message.count, message.type, message.peer, sends);
}

int completeRequest(MPI_Request* request) {
  return complete({MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_BYTE, 0}, request);
}

}  // namespace rondo::drop_in

int MPI_Comm_size(MPI_Comm comm, int* size) {
  const KnownComm* known = rehearsed(comm);
  if (known == nullptr) return PMPI_Comm_size(comm, size);
  *size = known->size;
  return MPI_SUCCESS;
}

int MPI_Comm_rank(MPI_Comm comm, int* rank) {
  const KnownComm* known = rehearsed(comm);
  if (known == nullptr) return PMPI_Comm_rank(comm, rank);
  *rank = known->rank;
  return MPI_SUCCESS;
}

int MPI_Comm_free(MPI_Comm* comm) {
  if (rehearsing && comm != nullptr) flushTransfersOf(*comm);
  return PMPI_Comm_free(comm);
}

int MPI_Comm_disconnect(MPI_Comm* comm) {
  if (rehearsing && comm != nullptr) flushTransfersOf(*comm);
  return PMPI_Comm_disconnect(comm);
}

double MPI_Wtime() { return rehearsing ? rehearsedTime() : PMPI_Wtime(); }
