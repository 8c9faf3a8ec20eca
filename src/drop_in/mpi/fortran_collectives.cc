// The collectives as Fortran calls them. MPI's own Fortran routines call PMPI functions, which
// would go past the layer.

#include "drop_in/mpi/fortran.h"

#if defined(OPEN_MPI)

using namespace rondo::drop_in;

// mpi.h declares none of them: they would be hidden.
#pragma GCC visibility push(default)
extern "C" {

void mpi_allreduce_(void* send, void* recv, MPI_Fint* count, MPI_Fint* t, MPI_Fint* o, MPI_Fint* c,
                    MPI_Fint* ierror) {
  give(ierror, MPI_Allreduce(buffer(send), buffer(recv), *count, type(t), op(o), comm(c)));
}

void mpi_reduce_(void* send, void* recv, MPI_Fint* count, MPI_Fint* t, MPI_Fint* o, MPI_Fint* root,
                 MPI_Fint* c, MPI_Fint* ierror) {
  give(ierror, MPI_Reduce(buffer(send), buffer(recv), *count, type(t), op(o), *root, comm(c)));
}

void mpi_scan_(void* send, void* recv, MPI_Fint* count, MPI_Fint* t, MPI_Fint* o, MPI_Fint* c,
               MPI_Fint* ierror) {
  give(ierror, MPI_Scan(buffer(send), buffer(recv), *count, type(t), op(o), comm(c)));
}

void mpi_exscan_(void* send, void* recv, MPI_Fint* count, MPI_Fint* t, MPI_Fint* o, MPI_Fint* c,
                 MPI_Fint* ierror) {
  give(ierror, MPI_Exscan(buffer(send), buffer(recv), *count, type(t), op(o), comm(c)));
}

void mpi_reduce_scatter_block_(void* send, void* recv, MPI_Fint* count, MPI_Fint* t, MPI_Fint* o,
                               MPI_Fint* c, MPI_Fint* ierror) {
  give(ierror,
       MPI_Reduce_scatter_block(buffer(send), buffer(recv), *count, type(t), op(o), comm(c)));
}

void mpi_reduce_scatter_(void* send, void* recv, MPI_Fint* counts, MPI_Fint* t, MPI_Fint* o,
                         MPI_Fint* c, MPI_Fint* ierror) {
  give(ierror, MPI_Reduce_scatter(buffer(send), buffer(recv), counts, type(t), op(o), comm(c)));
}

void mpi_barrier_(MPI_Fint* c, MPI_Fint* ierror) { give(ierror, MPI_Barrier(comm(c))); }

void mpi_bcast_(void* data, MPI_Fint* count, MPI_Fint* t, MPI_Fint* root, MPI_Fint* c,
                MPI_Fint* ierror) {
  give(ierror, MPI_Bcast(buffer(data), *count, type(t), *root, comm(c)));
}

void mpi_allgather_(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, void* recv,
                    MPI_Fint* recvCount, MPI_Fint* recvType, MPI_Fint* c, MPI_Fint* ierror) {
  give(ierror, MPI_Allgather(buffer(send), *sendCount, type(sendType), buffer(recv), *recvCount,
                             type(recvType), comm(c)));
}

void mpi_allgatherv_(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, void* recv,
                     MPI_Fint* recvCounts, MPI_Fint* displs, MPI_Fint* recvType, MPI_Fint* c,
                     MPI_Fint* ierror) {
  give(ierror, MPI_Allgatherv(buffer(send), *sendCount, type(sendType), buffer(recv), recvCounts,
                              displs, type(recvType), comm(c)));
}

void mpi_gather_(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, void* recv,
                 MPI_Fint* recvCount, MPI_Fint* recvType, MPI_Fint* root, MPI_Fint* c,
                 MPI_Fint* ierror) {
  give(ierror, MPI_Gather(buffer(send), *sendCount, type(sendType), buffer(recv), *recvCount,
                          type(recvType), *root, comm(c)));
}

void mpi_gatherv_(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, void* recv,
                  MPI_Fint* recvCounts, MPI_Fint* displs, MPI_Fint* recvType, MPI_Fint* root,
                  MPI_Fint* c, MPI_Fint* ierror) {
  give(ierror, MPI_Gatherv(buffer(send), *sendCount, type(sendType), buffer(recv), recvCounts,
                           displs, type(recvType), *root, comm(c)));
}

void mpi_scatter_(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, void* recv,
                  MPI_Fint* recvCount, MPI_Fint* recvType, MPI_Fint* root, MPI_Fint* c,
                  MPI_Fint* ierror) {
  give(ierror, MPI_Scatter(buffer(send), *sendCount, type(sendType), buffer(recv), *recvCount,
                           type(recvType), *root, comm(c)));
}

void mpi_scatterv_(void* send, MPI_Fint* sendCounts, MPI_Fint* displs, MPI_Fint* sendType,
                   void* recv, MPI_Fint* recvCount, MPI_Fint* recvType, MPI_Fint* root, MPI_Fint* c,
                   MPI_Fint* ierror) {
  give(ierror, MPI_Scatterv(buffer(send), sendCounts, displs, type(sendType), buffer(recv),
                            *recvCount, type(recvType), *root, comm(c)));
}

void mpi_alltoall_(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, void* recv,
                   MPI_Fint* recvCount, MPI_Fint* recvType, MPI_Fint* c, MPI_Fint* ierror) {
  give(ierror, MPI_Alltoall(buffer(send), *sendCount, type(sendType), buffer(recv), *recvCount,
                            type(recvType), comm(c)));
}

void mpi_alltoallv_(void* send, MPI_Fint* sendCounts, MPI_Fint* sendDispls, MPI_Fint* sendType,
                    void* recv, MPI_Fint* recvCounts, MPI_Fint* recvDispls, MPI_Fint* recvType,
                    MPI_Fint* c, MPI_Fint* ierror) {
  give(ierror, MPI_Alltoallv(buffer(send), sendCounts, sendDispls, type(sendType), buffer(recv),
                             recvCounts, recvDispls, type(recvType), comm(c)));
}

RONDO_FORTRAN_NAMES(allreduce, ALLREDUCE)
RONDO_FORTRAN_NAMES(reduce, REDUCE)
RONDO_FORTRAN_NAMES(scan, SCAN)
RONDO_FORTRAN_NAMES(exscan, EXSCAN)
RONDO_FORTRAN_NAMES(reduce_scatter_block, REDUCE_SCATTER_BLOCK)
RONDO_FORTRAN_NAMES(reduce_scatter, REDUCE_SCATTER)
RONDO_FORTRAN_NAMES(barrier, BARRIER)
RONDO_FORTRAN_NAMES(bcast, BCAST)
RONDO_FORTRAN_NAMES(allgather, ALLGATHER)
RONDO_FORTRAN_NAMES(allgatherv, ALLGATHERV)
RONDO_FORTRAN_NAMES(gather, GATHER)
RONDO_FORTRAN_NAMES(gatherv, GATHERV)
RONDO_FORTRAN_NAMES(scatter, SCATTER)
RONDO_FORTRAN_NAMES(scatterv, SCATTERV)
RONDO_FORTRAN_NAMES(alltoall, ALLTOALL)
RONDO_FORTRAN_NAMES(alltoallv, ALLTOALLV)

}  // extern "C"
#pragma GCC visibility pop

#endif
