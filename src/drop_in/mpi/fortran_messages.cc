// Messages as Fortran calls them. MPI's own Fortran routines call PMPI functions, which know
// nothing of device buffers.

#include "drop_in/mpi/fortran.h"

#if defined(OPEN_MPI)

#include <vector>

using namespace rondo::drop_in;

// mpi.h declares none of them: they would be hidden.
#pragma GCC visibility push(default)
extern "C" {

void mpi_send_(void* from, MPI_Fint* count, MPI_Fint* t, MPI_Fint* to, MPI_Fint* tag, MPI_Fint* c,
               MPI_Fint* ierror) {
  give(ierror, MPI_Send(buffer(from), *count, type(t), *to, *tag, comm(c)));
}

void mpi_bsend_(void* from, MPI_Fint* count, MPI_Fint* t, MPI_Fint* to, MPI_Fint* tag, MPI_Fint* c,
                MPI_Fint* ierror) {
  give(ierror, MPI_Bsend(buffer(from), *count, type(t), *to, *tag, comm(c)));
}

void mpi_ssend_(void* from, MPI_Fint* count, MPI_Fint* t, MPI_Fint* to, MPI_Fint* tag, MPI_Fint* c,
                MPI_Fint* ierror) {
  give(ierror, MPI_Ssend(buffer(from), *count, type(t), *to, *tag, comm(c)));
}

void mpi_rsend_(void* from, MPI_Fint* count, MPI_Fint* t, MPI_Fint* to, MPI_Fint* tag, MPI_Fint* c,
                MPI_Fint* ierror) {
  give(ierror, MPI_Rsend(buffer(from), *count, type(t), *to, *tag, comm(c)));
}

void mpi_isend_(void* from, MPI_Fint* count, MPI_Fint* t, MPI_Fint* to, MPI_Fint* tag, MPI_Fint* c,
                MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Isend(buffer(from), *count, type(t), *to, *tag, comm(c), made));
}

void mpi_ibsend_(void* from, MPI_Fint* count, MPI_Fint* t, MPI_Fint* to, MPI_Fint* tag, MPI_Fint* c,
                 MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Ibsend(buffer(from), *count, type(t), *to, *tag, comm(c), made));
}

void mpi_issend_(void* from, MPI_Fint* count, MPI_Fint* t, MPI_Fint* to, MPI_Fint* tag, MPI_Fint* c,
                 MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Issend(buffer(from), *count, type(t), *to, *tag, comm(c), made));
}

void mpi_irsend_(void* from, MPI_Fint* count, MPI_Fint* t, MPI_Fint* to, MPI_Fint* tag, MPI_Fint* c,
                 MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Irsend(buffer(from), *count, type(t), *to, *tag, comm(c), made));
}

void mpi_send_init_(void* from, MPI_Fint* count, MPI_Fint* t, MPI_Fint* to, MPI_Fint* tag,
                    MPI_Fint* c, MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Send_init(buffer(from), *count, type(t), *to, *tag, comm(c), made));
}

void mpi_bsend_init_(void* from, MPI_Fint* count, MPI_Fint* t, MPI_Fint* to, MPI_Fint* tag,
                     MPI_Fint* c, MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Bsend_init(buffer(from), *count, type(t), *to, *tag, comm(c), made));
}

void mpi_ssend_init_(void* from, MPI_Fint* count, MPI_Fint* t, MPI_Fint* to, MPI_Fint* tag,
                     MPI_Fint* c, MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Ssend_init(buffer(from), *count, type(t), *to, *tag, comm(c), made));
}

void mpi_rsend_init_(void* from, MPI_Fint* count, MPI_Fint* t, MPI_Fint* to, MPI_Fint* tag,
                     MPI_Fint* c, MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Rsend_init(buffer(from), *count, type(t), *to, *tag, comm(c), made));
}

void mpi_recv_(void* to, MPI_Fint* count, MPI_Fint* t, MPI_Fint* from, MPI_Fint* tag, MPI_Fint* c,
               MPI_Fint* status, MPI_Fint* ierror) {
  MadeStatus made(status);
  const int code = MPI_Recv(buffer(to), *count, type(t), *from, *tag, comm(c), made);
  made.give();
  give(ierror, code);
}

void mpi_irecv_(void* to, MPI_Fint* count, MPI_Fint* t, MPI_Fint* from, MPI_Fint* tag, MPI_Fint* c,
                MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Irecv(buffer(to), *count, type(t), *from, *tag, comm(c), made));
}

void mpi_mrecv_(void* to, MPI_Fint* count, MPI_Fint* t, MPI_Fint* message, MPI_Fint* status,
                MPI_Fint* ierror) {
  MadeStatus made(status);
  MPI_Message c = MPI_Message_f2c(*message);
  const int code = MPI_Mrecv(buffer(to), *count, type(t), &c, made);
  made.give();
  if (code == MPI_SUCCESS) *message = MPI_Message_c2f(c);
  give(ierror, code);
}

void mpi_imrecv_(void* to, MPI_Fint* count, MPI_Fint* t, MPI_Fint* message, MPI_Fint* request,
                 MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  MPI_Message c = MPI_Message_f2c(*message);
  const int code = MPI_Imrecv(buffer(to), *count, type(t), &c, made);
  if (code == MPI_SUCCESS) *message = MPI_Message_c2f(c);
  made.give(code);
}

void mpi_recv_init_(void* to, MPI_Fint* count, MPI_Fint* t, MPI_Fint* from, MPI_Fint* tag,
                    MPI_Fint* c, MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Recv_init(buffer(to), *count, type(t), *from, *tag, comm(c), made));
}

void mpi_sendrecv_(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, MPI_Fint* to,
                   MPI_Fint* sendTag, void* recv, MPI_Fint* recvCount, MPI_Fint* recvType,
                   MPI_Fint* from, MPI_Fint* recvTag, MPI_Fint* c, MPI_Fint* status,
                   MPI_Fint* ierror) {
  MadeStatus made(status);
  const int code =
      MPI_Sendrecv(buffer(send), *sendCount, type(sendType), *to, *sendTag, buffer(recv),
                   *recvCount, type(recvType), *from, *recvTag, comm(c), made);
  made.give();
  give(ierror, code);
}

void mpi_sendrecv_replace_(void* both, MPI_Fint* count, MPI_Fint* t, MPI_Fint* to,
                           MPI_Fint* sendTag, MPI_Fint* from, MPI_Fint* recvTag, MPI_Fint* c,
                           MPI_Fint* status, MPI_Fint* ierror) {
  MadeStatus made(status);
  const int code = MPI_Sendrecv_replace(buffer(both), *count, type(t), *to, *sendTag, *from,
                                        *recvTag, comm(c), made);
  made.give();
  give(ierror, code);
}

/// MPI may put another request in a persistent one's place when it starts.
void mpi_start_(MPI_Fint* request, MPI_Fint* ierror) {
  MPI_Request c = MPI_Request_f2c(*request);
  const int code = MPI_Start(&c);
  *request = MPI_Request_c2f(c);
  give(ierror, code);
}

void mpi_startall_(MPI_Fint* count, MPI_Fint* requests, MPI_Fint* ierror) {
  std::vector<MPI_Request> c;
  for (int i = 0; i < *count; ++i) c.push_back(MPI_Request_f2c(requests[i]));
  const int code = MPI_Startall(*count, c.data());
  for (int i = 0; i < *count; ++i) requests[i] = MPI_Request_c2f(c[static_cast<size_t>(i)]);
  give(ierror, code);
}

RONDO_FORTRAN_NAMES(send, SEND)
RONDO_FORTRAN_NAMES(bsend, BSEND)
RONDO_FORTRAN_NAMES(ssend, SSEND)
RONDO_FORTRAN_NAMES(rsend, RSEND)
RONDO_FORTRAN_NAMES(isend, ISEND)
RONDO_FORTRAN_NAMES(ibsend, IBSEND)
RONDO_FORTRAN_NAMES(issend, ISSEND)
RONDO_FORTRAN_NAMES(irsend, IRSEND)
RONDO_FORTRAN_NAMES(send_init, SEND_INIT)
RONDO_FORTRAN_NAMES(bsend_init, BSEND_INIT)
RONDO_FORTRAN_NAMES(ssend_init, SSEND_INIT)
RONDO_FORTRAN_NAMES(rsend_init, RSEND_INIT)
RONDO_FORTRAN_NAMES(recv, RECV)
RONDO_FORTRAN_NAMES(irecv, IRECV)
RONDO_FORTRAN_NAMES(mrecv, MRECV)
RONDO_FORTRAN_NAMES(imrecv, IMRECV)
RONDO_FORTRAN_NAMES(recv_init, RECV_INIT)
RONDO_FORTRAN_NAMES(sendrecv, SENDRECV)
RONDO_FORTRAN_NAMES(sendrecv_replace, SENDRECV_REPLACE)
RONDO_FORTRAN_NAMES(start, START)
RONDO_FORTRAN_NAMES(startall, STARTALL)

}  // extern "C"
#pragma GCC visibility pop

#endif
