// MPI's point-to-point calls. Of host buffers they are MPI's at once; of device buffers MPI is
// given a host image, so that any receiver, MPI_ANY_SOURCE and probes see messages as ever. In a
// rehearsal they are timed instead.

#include <mpi.h>

#include "drop_in/mpi/by_image.h"
#include "drop_in/mpi/rehearsal.h"
#include "drop_in/mpi/rehearsed_calls.h"

using namespace rondo::drop_in;

namespace {

/// MPI_Send and its like by their PMPI_ functions.
using SendCall = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
using IsendCall = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

template <SendCall pmpi>
int sendBy(const char* call, const Buffer& of, int to, int tag, MPI_Comm comm) {
  if (const KnownComm* known = rehearsed(comm)) [[unlikely]]
    return rehearseSend(*known, comm, call, {of.count, of.type, to, tag, of.begin});
  return send(comm, call, of,
              [&](const void* from) { return pmpi(from, of.count, of.type, to, tag, comm); });
}

template <IsendCall pmpi>
int isendBy(const char* call, const Buffer& of, int to, int tag, MPI_Comm comm,
            MPI_Request* request) {
  if (const KnownComm* known = rehearsed(comm)) [[unlikely]]
    return rehearseSendLater(*known, comm, call, {of.count, of.type, to, tag, of.begin}, request);
  return begin(comm, call, of, false, request, [&](const void* from) {
    return pmpi(from, of.count, of.type, to, tag, comm, request);
  });
}

}  // namespace

int MPI_Send(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  return sendBy<PMPI_Send>("MPI_Send", {buffer, count, type}, to, tag, comm);
}

int MPI_Bsend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  return sendBy<PMPI_Bsend>("MPI_Bsend", {buffer, count, type}, to, tag, comm);
}

int MPI_Ssend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  return sendBy<PMPI_Ssend>("MPI_Ssend", {buffer, count, type}, to, tag, comm);
}

int MPI_Rsend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  return sendBy<PMPI_Rsend>("MPI_Rsend", {buffer, count, type}, to, tag, comm);
}

int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return isendBy<PMPI_Isend>("MPI_Isend", {buffer, count, type}, to, tag, comm, request);
}

int MPI_Ibsend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return isendBy<PMPI_Ibsend>("MPI_Ibsend", {buffer, count, type}, to, tag, comm, request);
}

int MPI_Issend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return isendBy<PMPI_Issend>("MPI_Issend", {buffer, count, type}, to, tag, comm, request);
}

int MPI_Irsend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return isendBy<PMPI_Irsend>("MPI_Irsend", {buffer, count, type}, to, tag, comm, request);
}

int MPI_Recv(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status* status) {
  if (const KnownComm* known = rehearsed(comm)) [[unlikely]]
    return rehearseRecv(*known, comm, "MPI_Recv", {count, type, from, tag, buffer}, status);
  return receive(comm, "MPI_Recv", {buffer, count, type},
                 [&](void* to) { return PMPI_Recv(to, count, type, from, tag, comm, status); });
}

int MPI_Irecv(void* buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  if (const KnownComm* known = rehearsed(comm)) [[unlikely]]
    return rehearseRecvLater(*known, comm, "MPI_Irecv", {count, type, from, tag, buffer}, request);
  return begin(comm, "MPI_Irecv", {buffer, count, type}, true, request,
               [&](void* to) { return PMPI_Irecv(to, count, type, from, tag, comm, request); });
}

int MPI_Mrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message,
              MPI_Status* status) {
  return receive(MPI_COMM_WORLD, "MPI_Mrecv", {buffer, count, type},
                 [&](void* to) { return PMPI_Mrecv(to, count, type, message, status); });
}

int MPI_Imrecv(void* buffer, int count, MPI_Datatype type, MPI_Message* message,
               MPI_Request* request) {
  return begin(MPI_COMM_WORLD, "MPI_Imrecv", {buffer, count, type}, true, request,
               [&](void* to) { return PMPI_Imrecv(to, count, type, message, request); });
}

int MPI_Sendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int to, int sendtag,
                 void* recvbuf, int recvcount, MPI_Datatype recvtype, int from, int recvtag,
                 MPI_Comm comm, MPI_Status* status) {
  if (const KnownComm* known = rehearsed(comm)) [[unlikely]] {
    return rehearseSendrecv(*known, comm, "MPI_Sendrecv",
                            {sendcount, sendtype, to, sendtag, sendbuf},
                            {recvcount, recvtype, from, recvtag, recvbuf}, status);
  }
  return send(comm, "MPI_Sendrecv", {sendbuf, sendcount, sendtype}, [&](const void* out) {
    return receive(comm, "MPI_Sendrecv", {recvbuf, recvcount, recvtype}, [&](void* in) {
      return PMPI_Sendrecv(out, sendcount, sendtype, to, sendtag, in, recvcount, recvtype, from,
                           recvtag, comm, status);
    });
  });
}

int MPI_Sendrecv_replace(void* buffer, int count, MPI_Datatype type, int to, int sendtag, int from,
                         int recvtag, MPI_Comm comm, MPI_Status* status) {
  if (const KnownComm* known = rehearsed(comm)) [[unlikely]] {
    return rehearseSendrecv(*known, comm, "MPI_Sendrecv_replace",
                            {count, type, to, sendtag, buffer},
                            {count, type, from, recvtag, buffer}, status);
  }
  return receive(comm, "MPI_Sendrecv_replace", {buffer, count, type}, [&](void* both) {
    return PMPI_Sendrecv_replace(both, count, type, to, sendtag, from, recvtag, comm, status);
  });
}
