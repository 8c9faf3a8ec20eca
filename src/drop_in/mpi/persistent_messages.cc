#include "drop_in/mpi/persistent_messages.h"

#include <memory>

#include "drop_in/mpi/by_image.h"
#include "drop_in/mpi/lasting.h"
#include "drop_in/mpi/persistent.h"
#include "drop_in/mpi/rehearsal.h"
#include "drop_in/mpi/rehearsed_calls.h"
#include "drop_in/mpi/request_table.h"

using namespace rondo;
using namespace rondo::drop_in;

namespace {

/// Never destroyed: MPI_Finalize may run in an atexit handler.
RequestTable<Staged>& table() {
  static auto* const instance = new RequestTable<Staged>(persistentMessages);
  return *instance;
}

/// What begins a rehearsed one.
Start rehearsedStart(const char* call, const Buffer& of, bool receives, int peer, int tag) {
  const LastingType type(of.type, of.type != MPI_DATATYPE_NULL);
  return [=, count = of.count, buffer = of.begin](MPI_Comm comm, MPI_Request* begun) {
    const Message message{count, type, peer, tag, buffer};
    const KnownComm& known = *rehearsed(comm);
    return receives ? rehearseRecvLater(known, comm, call, message, begun)
                    : rehearseSendLater(known, comm, call, message, begun);
  };
}

/// MPI_Send_init and others: `mpis` makes the request of the buffer that it is given.
template <class Mpis>
int init(MPI_Comm comm, const char* call, const Buffer& buffer, bool receives, int peer, int tag,
         MPI_Request* request, const Mpis& mpis) {
  if (rehearsed(comm) != nullptr) [[unlikely]] {
    return rehearsePersistent(
        comm, [&] { return rehearsedStart(call, buffer, receives, peer, tag); }, request);
  }
  if (!buffer.staged()) [[likely]]
    return mpis(const_cast<void*>(buffer.begin));
  return guarded(comm, call, [&] {  // MPI_Start copies
    const auto message =
        std::make_shared<StagedMessage>(buffer.elements(), receives, Starts::Often);
    const int code = mpis(message->begin());
    if (code == MPI_SUCCESS) keepMessage(*request, message);
    return code;
  });
}

using InitCall = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

template <InitCall pmpi>
int initBy(const char* call, const Buffer& of, int to, int tag, MPI_Comm comm,
           MPI_Request* request) {
  return init(comm, call, of, false, to, tag, request, [&](const void* from) {
    return pmpi(from, of.count, of.type, to, tag, comm, request);
  });
}

}  // namespace

namespace rondo::drop_in {

void keepMessage(MPI_Request request, const HeldMessage& message) { table().add(request, message); }

bool startMessage(MPI_Request* request, int* code) {
  const HeldMessage message = table().find(*request);
  if (message == nullptr) return false;
  const MPI_Request before = *request;
  // That it is active is for MPI to say, which still has the image.
  const bool active = findStaged(before) == message;
  *code = copied(MPI_COMM_WORLD, "MPI_Start", [&] {
    if (!active) message->start();
    return PMPI_Start(request);
  });
  if (active || *code != MPI_SUCCESS) return true;
  if (*request != before) {  // Open MPI's, if it is not quite done with the one before
    forgetMessage(before);
    keepMessage(*request, message);
  }
  addStaged(*request, message);
  return true;
}

void forgetMessage(MPI_Request request) { table().remove(request); }

}  // namespace rondo::drop_in

int MPI_Send_init(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  return initBy<PMPI_Send_init>("MPI_Send_init", {buffer, count, type}, to, tag, comm, request);
}

int MPI_Bsend_init(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                   MPI_Request* request) {
  return initBy<PMPI_Bsend_init>("MPI_Bsend_init", {buffer, count, type}, to, tag, comm, request);
}

int MPI_Ssend_init(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                   MPI_Request* request) {
  return initBy<PMPI_Ssend_init>("MPI_Ssend_init", {buffer, count, type}, to, tag, comm, request);
}

int MPI_Rsend_init(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                   MPI_Request* request) {
  return initBy<PMPI_Rsend_init>("MPI_Rsend_init", {buffer, count, type}, to, tag, comm, request);
}

int MPI_Recv_init(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  return init(comm, "MPI_Recv_init", {buffer, count, type}, true, from, tag, request,
              [&](void* to) { return PMPI_Recv_init(to, count, type, from, tag, comm, request); });
}
