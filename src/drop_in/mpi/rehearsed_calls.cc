// MPI's calls that a rehearsal answers otherwise than MPI, which knows one process only: who is
// there, what time it is, and messages to ranks that are not there.

#include "drop_in/mpi/rehearsed_calls.h"

#include "drop_in/mpi/failure.h"
#include "drop_in/mpi/rehearsal.h"
#include "drop_in/mpi/rehearsed_own.h"

using namespace rondo;
using namespace rondo::drop_in;

namespace {

/// As if what is asked for had come, all of it.
Envelope envelopeOf(const Message& asked) {
  MPI_Count size = 0;
  PMPI_Type_size_x(asked.type, &size);
  const bool nobody = asked.peer == MPI_PROC_NULL;
  return {asked.peer, asked.tag == MPI_ANY_TAG ? 0 : asked.tag, nobody ? 0 : asked.count * size};
}

/// From anybody: the next rank is as good as another.
int sourceOf(const KnownComm& known, const Message& asked) {
  return asked.peer == MPI_ANY_SOURCE ? (known.rank + 1) % known.size : asked.peer;
}
bool mayBeOwn(const KnownComm& known, const Message& asked) {
  return asked.peer == known.rank || asked.peer == MPI_ANY_SOURCE;
}

/// As bytes: MPI would take a number for basic elements of the type, not for the types received.
void fill(const Envelope& envelope, MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = envelope.source;
  status->MPI_TAG = envelope.source == MPI_PROC_NULL ? MPI_ANY_TAG : envelope.tag;
  status->MPI_ERROR = envelope.code;
  PMPI_Status_set_elements_x(status, MPI_BYTE, envelope.bytes);
  PMPI_Status_set_cancelled(status, 0);
}

/// Checks what MPI would, and notes the transfer.
int begin(const KnownComm& known, MPI_Comm comm, const char* call, const Message& message,
          bool sends) {
  const int count = message.count, peer = message.peer;
  const MPI_Datatype type = message.type;
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

/// Nothing comes any more: the program takes it for complete.
int query(void* state, MPI_Status* status) {
  const auto* const envelope = static_cast<const Envelope*>(state);
  withdraw(envelope);
  fill(*envelope, status);
  return envelope->code;
}
int release(void* state) {
  const auto* const envelope = static_cast<const Envelope*>(state);
  withdraw(envelope);
  delete envelope;
  return MPI_SUCCESS;
}
int cancel(void*, int) { return MPI_SUCCESS; }

/// A request that is complete; `state` is its own.
int complete(Envelope* state, MPI_Request* request) {
  const int code = PMPI_Grequest_start(query, release, cancel, state, request);
  if (code != MPI_SUCCESS) {
    release(state);
    return code;
  }
  return PMPI_Grequest_complete(*request);
}

/// Checks and notes it, and keeps or gives it to this rank itself.
int beginSend(const KnownComm& known, MPI_Comm comm, const char* call, const Message& message) {
  const int code = begin(known, comm, call, message, /*sends=*/true);
  if (code == MPI_SUCCESS && message.peer == known.rank) sendToSelf(known, message);
  return code;
}

}  // namespace

namespace rondo::drop_in {

int rehearseSend(const KnownComm& known, MPI_Comm comm, const char* call, const Message& message) {
  const int code = beginSend(known, comm, call, message);
  flushTransfers();
  return code;
}

int rehearseSendLater(const KnownComm& known, MPI_Comm comm, const char* call,
                      const Message& message, MPI_Request* request) {
  const int code = beginSend(known, comm, call, message);
  if (code != MPI_SUCCESS) return code;
  return completeRequest(request);
}

int rehearseRecv(const KnownComm& known, MPI_Comm comm, const char* call, const Message& message,
                 MPI_Status* status) {
  Message from = message;
  from.peer = sourceOf(known, message);
  if (const int code = begin(known, comm, call, from, /*sends=*/false)) return code;
  flushTransfers();
  Envelope envelope = envelopeOf(from);
  if (mayBeOwn(known, message)) receiveFromSelf(known, message, &envelope, /*awaited=*/false);
  fill(envelope, status);
  if (envelope.code == MPI_SUCCESS) return MPI_SUCCESS;
  return raiseMistake(comm, envelope.code,
                      std::string(call) + ": this rank's message to itself is longer");
}

int rehearseRecvLater(const KnownComm& known, MPI_Comm comm, const char* call,
                      const Message& message, MPI_Request* request) {
  Message from = message;
  from.peer = sourceOf(known, message);
  if (const int code = begin(known, comm, call, from, /*sends=*/false)) return code;
  auto* const envelope = new Envelope(envelopeOf(from));
  if (mayBeOwn(known, message)) receiveFromSelf(known, message, envelope, /*awaited=*/true);
  return complete(envelope, request);
}

int rehearseSendrecv(const KnownComm& known, MPI_Comm comm, const char* call, const Message& out,
                     const Message& in, MPI_Status* status) {
  if (const int code = beginSend(known, comm, call, out)) return code;
  return rehearseRecv(known, comm, call, in, status);
}

int noteTransfer(const KnownComm& known, MPI_Comm comm, const char* call, const Message& message,
                 bool sends) {
  return begin(known, comm, call, message, sends);
}

int completeRequest(MPI_Request* request) {
  return complete(new Envelope{MPI_ANY_SOURCE, MPI_ANY_TAG, 0}, request);
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
