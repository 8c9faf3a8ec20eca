// The non-blocking collectives as Fortran calls them.

#include "drop_in/mpi/fortran.h"

#if defined(OPEN_MPI)

using namespace rondo::drop_in;

// mpi.h declares none of them: they would be hidden.
#pragma GCC visibility push(default)
extern "C" {

void mpi_iallreduce_(void* send, void* recv, MPI_Fint* count, MPI_Fint* t, MPI_Fint* o, MPI_Fint* c,
                     MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Iallreduce(buffer(send), buffer(recv), *count, type(t), op(o), comm(c), made));
}

void mpi_ireduce_(void* send, void* recv, MPI_Fint* count, MPI_Fint* t, MPI_Fint* o, MPI_Fint* root,
                  MPI_Fint* c, MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Ireduce(buffer(send), buffer(recv), *count, type(t), op(o), *root, comm(c), made));
}

void mpi_iscan_(void* send, void* recv, MPI_Fint* count, MPI_Fint* t, MPI_Fint* o, MPI_Fint* c,
                MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Iscan(buffer(send), buffer(recv), *count, type(t), op(o), comm(c), made));
}

void mpi_iexscan_(void* send, void* recv, MPI_Fint* count, MPI_Fint* t, MPI_Fint* o, MPI_Fint* c,
                  MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Iexscan(buffer(send), buffer(recv), *count, type(t), op(o), comm(c), made));
}

void mpi_ireduce_scatter_block_(void* send, void* recv, MPI_Fint* count, MPI_Fint* t, MPI_Fint* o,
                                MPI_Fint* c, MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(
      MPI_Ireduce_scatter_block(buffer(send), buffer(recv), *count, type(t), op(o), comm(c), made));
}

void mpi_ireduce_scatter_(void* send, void* recv, MPI_Fint* counts, MPI_Fint* t, MPI_Fint* o,
                          MPI_Fint* c, MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Ireduce_scatter(buffer(send), buffer(recv), counts, type(t), op(o), comm(c), made));
}

void mpi_ibarrier_(MPI_Fint* c, MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Ibarrier(comm(c), made));
}

void mpi_ibcast_(void* data, MPI_Fint* count, MPI_Fint* t, MPI_Fint* root, MPI_Fint* c,
                 MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Ibcast(buffer(data), *count, type(t), *root, comm(c), made));
}

void mpi_iallgather_(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, void* recv,
                     MPI_Fint* recvCount, MPI_Fint* recvType, MPI_Fint* c, MPI_Fint* request,
                     MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Iallgather(buffer(send), *sendCount, type(sendType), buffer(recv), *recvCount,
                           type(recvType), comm(c), made));
}

void mpi_iallgatherv_(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, void* recv,
                      MPI_Fint* recvCounts, MPI_Fint* displs, MPI_Fint* recvType, MPI_Fint* c,
                      MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Iallgatherv(buffer(send), *sendCount, type(sendType), buffer(recv), recvCounts,
                            displs, type(recvType), comm(c), made));
}

void mpi_igather_(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, void* recv,
                  MPI_Fint* recvCount, MPI_Fint* recvType, MPI_Fint* root, MPI_Fint* c,
                  MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Igather(buffer(send), *sendCount, type(sendType), buffer(recv), *recvCount,
                        type(recvType), *root, comm(c), made));
}

void mpi_igatherv_(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, void* recv,
                   MPI_Fint* recvCounts, MPI_Fint* displs, MPI_Fint* recvType, MPI_Fint* root,
                   MPI_Fint* c, MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Igatherv(buffer(send), *sendCount, type(sendType), buffer(recv), recvCounts, displs,
                         type(recvType), *root, comm(c), made));
}

void mpi_iscatter_(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, void* recv,
                   MPI_Fint* recvCount, MPI_Fint* recvType, MPI_Fint* root, MPI_Fint* c,
                   MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Iscatter(buffer(send), *sendCount, type(sendType), buffer(recv), *recvCount,
                         type(recvType), *root, comm(c), made));
}

void mpi_iscatterv_(void* send, MPI_Fint* sendCounts, MPI_Fint* displs, MPI_Fint* sendType,
                    void* recv, MPI_Fint* recvCount, MPI_Fint* recvType, MPI_Fint* root,
                    MPI_Fint* c, MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Iscatterv(buffer(send), sendCounts, displs, type(sendType), buffer(recv),
                          *recvCount, type(recvType), *root, comm(c), made));
}

void mpi_ialltoall_(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, void* recv,
                    MPI_Fint* recvCount, MPI_Fint* recvType, MPI_Fint* c, MPI_Fint* request,
                    MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Ialltoall(buffer(send), *sendCount, type(sendType), buffer(recv), *recvCount,
                          type(recvType), comm(c), made));
}

void mpi_ialltoallv_(void* send, MPI_Fint* sendCounts, MPI_Fint* sendDispls, MPI_Fint* sendType,
                     void* recv, MPI_Fint* recvCounts, MPI_Fint* recvDispls, MPI_Fint* recvType,
                     MPI_Fint* c, MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Ialltoallv(buffer(send), sendCounts, sendDispls, type(sendType), buffer(recv),
                           recvCounts, recvDispls, type(recvType), comm(c), made));
}

RONDO_FORTRAN_NAMES(iallreduce, IALLREDUCE)
RONDO_FORTRAN_NAMES(ireduce, IREDUCE)
RONDO_FORTRAN_NAMES(iscan, ISCAN)
RONDO_FORTRAN_NAMES(iexscan, IEXSCAN)
RONDO_FORTRAN_NAMES(ireduce_scatter_block, IREDUCE_SCATTER_BLOCK)
RONDO_FORTRAN_NAMES(ireduce_scatter, IREDUCE_SCATTER)
RONDO_FORTRAN_NAMES(ibarrier, IBARRIER)
RONDO_FORTRAN_NAMES(ibcast, IBCAST)
RONDO_FORTRAN_NAMES(iallgather, IALLGATHER)
RONDO_FORTRAN_NAMES(iallgatherv, IALLGATHERV)
RONDO_FORTRAN_NAMES(igather, IGATHER)
RONDO_FORTRAN_NAMES(igatherv, IGATHERV)
RONDO_FORTRAN_NAMES(iscatter, ISCATTER)
RONDO_FORTRAN_NAMES(iscatterv, ISCATTERV)
RONDO_FORTRAN_NAMES(ialltoall, IALLTOALL)
RONDO_FORTRAN_NAMES(ialltoallv, IALLTOALLV)

}  // extern "C"
#pragma GCC visibility pop

#endif
