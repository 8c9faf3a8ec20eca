// The persistent collectives as Fortran makes them.

#include "drop_in/mpi/fortran.h"
#include "drop_in/mpi/neighbours.h"
#include "drop_in/mpi/persistent_init.h"

#if defined(OPEN_MPI) && defined(RONDO_INIT)

using namespace rondo::drop_in;

#if MPI_VERSION >= 4
#define RONDO_FORTRAN_INIT(name) mpi_##name##_init_
#define RONDO_FORTRAN_INIT_NAMES RONDO_FORTRAN_NAMES
#else
#define RONDO_FORTRAN_INIT(name) mpix_##name##_init_
#define RONDO_FORTRAN_INIT_NAMES RONDO_FORTRAN_EXTENSION
#endif

// MPI's headers declare none of them: they would be hidden.
#pragma GCC visibility push(default)
extern "C" {

void RONDO_FORTRAN_INIT(allreduce)(void* send, void* recv, MPI_Fint* count, MPI_Fint* t,
                                   MPI_Fint* o, MPI_Fint* c, MPI_Fint* info, MPI_Fint* request,
                                   MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(RONDO_INIT(Allreduce)(buffer(send), buffer(recv), *count, type(t), op(o), comm(c),
                                  MPI_Info_f2c(*info), made));
}

void RONDO_FORTRAN_INIT(reduce)(void* send, void* recv, MPI_Fint* count, MPI_Fint* t, MPI_Fint* o,
                                MPI_Fint* root, MPI_Fint* c, MPI_Fint* info, MPI_Fint* request,
                                MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(RONDO_INIT(Reduce)(buffer(send), buffer(recv), *count, type(t), op(o), *root, comm(c),
                               MPI_Info_f2c(*info), made));
}

void RONDO_FORTRAN_INIT(scan)(void* send, void* recv, MPI_Fint* count, MPI_Fint* t, MPI_Fint* o,
                              MPI_Fint* c, MPI_Fint* info, MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(RONDO_INIT(Scan)(buffer(send), buffer(recv), *count, type(t), op(o), comm(c),
                             MPI_Info_f2c(*info), made));
}

void RONDO_FORTRAN_INIT(exscan)(void* send, void* recv, MPI_Fint* count, MPI_Fint* t, MPI_Fint* o,
                                MPI_Fint* c, MPI_Fint* info, MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(RONDO_INIT(Exscan)(buffer(send), buffer(recv), *count, type(t), op(o), comm(c),
                               MPI_Info_f2c(*info), made));
}

void RONDO_FORTRAN_INIT(reduce_scatter_block)(void* send, void* recv, MPI_Fint* count, MPI_Fint* t,
                                              MPI_Fint* o, MPI_Fint* c, MPI_Fint* info,
                                              MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(RONDO_INIT(Reduce_scatter_block)(buffer(send), buffer(recv), *count, type(t), op(o),
                                             comm(c), MPI_Info_f2c(*info), made));
}

void RONDO_FORTRAN_INIT(reduce_scatter)(void* send, void* recv, MPI_Fint* counts, MPI_Fint* t,
                                        MPI_Fint* o, MPI_Fint* c, MPI_Fint* info, MPI_Fint* request,
                                        MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(RONDO_INIT(Reduce_scatter)(buffer(send), buffer(recv), counts, type(t), op(o), comm(c),
                                       MPI_Info_f2c(*info), made));
}

void RONDO_FORTRAN_INIT(bcast)(void* data, MPI_Fint* count, MPI_Fint* t, MPI_Fint* root,
                               MPI_Fint* c, MPI_Fint* info, MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(
      RONDO_INIT(Bcast)(buffer(data), *count, type(t), *root, comm(c), MPI_Info_f2c(*info), made));
}

void RONDO_FORTRAN_INIT(allgather)(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, void* recv,
                                   MPI_Fint* recvCount, MPI_Fint* recvType, MPI_Fint* c,
                                   MPI_Fint* info, MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(RONDO_INIT(Allgather)(buffer(send), *sendCount, type(sendType), buffer(recv),
                                  *recvCount, type(recvType), comm(c), MPI_Info_f2c(*info), made));
}

void RONDO_FORTRAN_INIT(allgatherv)(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, void* recv,
                                    MPI_Fint* recvCounts, MPI_Fint* recvPlaces, MPI_Fint* recvType,
                                    MPI_Fint* c, MPI_Fint* info, MPI_Fint* request,
                                    MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(RONDO_INIT(Allgatherv)(buffer(send), *sendCount, type(sendType), buffer(recv),
                                   recvCounts, recvPlaces, type(recvType), comm(c),
                                   MPI_Info_f2c(*info), made));
}

void RONDO_FORTRAN_INIT(gather)(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, void* recv,
                                MPI_Fint* recvCount, MPI_Fint* recvType, MPI_Fint* root,
                                MPI_Fint* c, MPI_Fint* info, MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(RONDO_INIT(Gather)(buffer(send), *sendCount, type(sendType), buffer(recv), *recvCount,
                               type(recvType), *root, comm(c), MPI_Info_f2c(*info), made));
}

void RONDO_FORTRAN_INIT(gatherv)(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, void* recv,
                                 MPI_Fint* recvCounts, MPI_Fint* recvPlaces, MPI_Fint* recvType,
                                 MPI_Fint* root, MPI_Fint* c, MPI_Fint* info, MPI_Fint* request,
                                 MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(RONDO_INIT(Gatherv)(buffer(send), *sendCount, type(sendType), buffer(recv), recvCounts,
                                recvPlaces, type(recvType), *root, comm(c), MPI_Info_f2c(*info),
                                made));
}

void RONDO_FORTRAN_INIT(scatter)(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, void* recv,
                                 MPI_Fint* recvCount, MPI_Fint* recvType, MPI_Fint* root,
                                 MPI_Fint* c, MPI_Fint* info, MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(RONDO_INIT(Scatter)(buffer(send), *sendCount, type(sendType), buffer(recv), *recvCount,
                                type(recvType), *root, comm(c), MPI_Info_f2c(*info), made));
}

void RONDO_FORTRAN_INIT(scatterv)(void* send, MPI_Fint* sendCounts, MPI_Fint* sendPlaces,
                                  MPI_Fint* sendType, void* recv, MPI_Fint* recvCount,
                                  MPI_Fint* recvType, MPI_Fint* root, MPI_Fint* c, MPI_Fint* info,
                                  MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(RONDO_INIT(Scatterv)(buffer(send), sendCounts, sendPlaces, type(sendType), buffer(recv),
                                 *recvCount, type(recvType), *root, comm(c), MPI_Info_f2c(*info),
                                 made));
}

void RONDO_FORTRAN_INIT(alltoall)(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, void* recv,
                                  MPI_Fint* recvCount, MPI_Fint* recvType, MPI_Fint* c,
                                  MPI_Fint* info, MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(RONDO_INIT(Alltoall)(buffer(send), *sendCount, type(sendType), buffer(recv), *recvCount,
                                 type(recvType), comm(c), MPI_Info_f2c(*info), made));
}

void RONDO_FORTRAN_INIT(alltoallv)(void* send, MPI_Fint* sendCounts, MPI_Fint* sendPlaces,
                                   MPI_Fint* sendType, void* recv, MPI_Fint* recvCounts,
                                   MPI_Fint* recvPlaces, MPI_Fint* recvType, MPI_Fint* c,
                                   MPI_Fint* info, MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(RONDO_INIT(Alltoallv)(buffer(send), sendCounts, sendPlaces, type(sendType),
                                  buffer(recv), recvCounts, recvPlaces, type(recvType), comm(c),
                                  MPI_Info_f2c(*info), made));
}

void RONDO_FORTRAN_INIT(alltoallw)(void* send, MPI_Fint* sendCounts, MPI_Fint* sendPlaces,
                                   MPI_Fint* sendTypes, void* recv, MPI_Fint* recvCounts,
                                   MPI_Fint* recvPlaces, MPI_Fint* recvTypes, MPI_Fint* c,
                                   MPI_Fint* info, MPI_Fint* request, MPI_Fint* ierror) {
  const int number = sidesOf(comm(c)).others;
  MadeRequest made(request, ierror);
  made.give(RONDO_INIT(Alltoallw)(
      buffer(send), sendCounts, sendPlaces, types(send, sendTypes, number), buffer(recv),
      recvCounts, recvPlaces, types(recv, recvTypes, number), comm(c), MPI_Info_f2c(*info), made));
}

void RONDO_FORTRAN_INIT(neighbor_allgather)(void* send, MPI_Fint* sendCount, MPI_Fint* sendType,
                                            void* recv, MPI_Fint* recvCount, MPI_Fint* recvType,
                                            MPI_Fint* c, MPI_Fint* info, MPI_Fint* request,
                                            MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(RONDO_INIT(Neighbor_allgather)(buffer(send), *sendCount, type(sendType), buffer(recv),
                                           *recvCount, type(recvType), comm(c), MPI_Info_f2c(*info),
                                           made));
}

void RONDO_FORTRAN_INIT(neighbor_allgatherv)(void* send, MPI_Fint* sendCount, MPI_Fint* sendType,
                                             void* recv, MPI_Fint* recvCounts, MPI_Fint* recvPlaces,
                                             MPI_Fint* recvType, MPI_Fint* c, MPI_Fint* info,
                                             MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(RONDO_INIT(Neighbor_allgatherv)(buffer(send), *sendCount, type(sendType), buffer(recv),
                                            recvCounts, recvPlaces, type(recvType), comm(c),
                                            MPI_Info_f2c(*info), made));
}

void RONDO_FORTRAN_INIT(neighbor_alltoall)(void* send, MPI_Fint* sendCount, MPI_Fint* sendType,
                                           void* recv, MPI_Fint* recvCount, MPI_Fint* recvType,
                                           MPI_Fint* c, MPI_Fint* info, MPI_Fint* request,
                                           MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(RONDO_INIT(Neighbor_alltoall)(buffer(send), *sendCount, type(sendType), buffer(recv),
                                          *recvCount, type(recvType), comm(c), MPI_Info_f2c(*info),
                                          made));
}

void RONDO_FORTRAN_INIT(neighbor_alltoallv)(void* send, MPI_Fint* sendCounts, MPI_Fint* sendPlaces,
                                            MPI_Fint* sendType, void* recv, MPI_Fint* recvCounts,
                                            MPI_Fint* recvPlaces, MPI_Fint* recvType, MPI_Fint* c,
                                            MPI_Fint* info, MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(RONDO_INIT(Neighbor_alltoallv)(buffer(send), sendCounts, sendPlaces, type(sendType),
                                           buffer(recv), recvCounts, recvPlaces, type(recvType),
                                           comm(c), MPI_Info_f2c(*info), made));
}

void RONDO_FORTRAN_INIT(neighbor_alltoallw)(void* send, MPI_Fint* sendCounts, MPI_Aint* sendPlaces,
                                            MPI_Fint* sendTypes, void* recv, MPI_Fint* recvCounts,
                                            MPI_Aint* recvPlaces, MPI_Fint* recvTypes, MPI_Fint* c,
                                            MPI_Fint* info, MPI_Fint* request, MPI_Fint* ierror) {
  const Degrees degrees = degreesOf(comm(c));
  MadeRequest made(request, ierror);
  made.give(RONDO_INIT(Neighbor_alltoallw)(
      buffer(send), sendCounts, sendPlaces, types(send, sendTypes, degrees.to), buffer(recv),
      recvCounts, recvPlaces, types(recv, recvTypes, degrees.from), comm(c), MPI_Info_f2c(*info),
      made));
}

void RONDO_FORTRAN_INIT(barrier)(MPI_Fint* c, MPI_Fint* info, MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(RONDO_INIT(Barrier)(comm(c), MPI_Info_f2c(*info), made));
}

RONDO_FORTRAN_INIT_NAMES(barrier_init, BARRIER_INIT)
RONDO_FORTRAN_INIT_NAMES(allreduce_init, ALLREDUCE_INIT)
RONDO_FORTRAN_INIT_NAMES(reduce_init, REDUCE_INIT)
RONDO_FORTRAN_INIT_NAMES(scan_init, SCAN_INIT)
RONDO_FORTRAN_INIT_NAMES(exscan_init, EXSCAN_INIT)
RONDO_FORTRAN_INIT_NAMES(reduce_scatter_block_init, REDUCE_SCATTER_BLOCK_INIT)
RONDO_FORTRAN_INIT_NAMES(reduce_scatter_init, REDUCE_SCATTER_INIT)
RONDO_FORTRAN_INIT_NAMES(bcast_init, BCAST_INIT)
RONDO_FORTRAN_INIT_NAMES(allgather_init, ALLGATHER_INIT)
RONDO_FORTRAN_INIT_NAMES(allgatherv_init, ALLGATHERV_INIT)
RONDO_FORTRAN_INIT_NAMES(gather_init, GATHER_INIT)
RONDO_FORTRAN_INIT_NAMES(gatherv_init, GATHERV_INIT)
RONDO_FORTRAN_INIT_NAMES(scatter_init, SCATTER_INIT)
RONDO_FORTRAN_INIT_NAMES(scatterv_init, SCATTERV_INIT)
RONDO_FORTRAN_INIT_NAMES(alltoall_init, ALLTOALL_INIT)
RONDO_FORTRAN_INIT_NAMES(alltoallv_init, ALLTOALLV_INIT)
RONDO_FORTRAN_INIT_NAMES(alltoallw_init, ALLTOALLW_INIT)
RONDO_FORTRAN_INIT_NAMES(neighbor_allgather_init, NEIGHBOR_ALLGATHER_INIT)
RONDO_FORTRAN_INIT_NAMES(neighbor_allgatherv_init, NEIGHBOR_ALLGATHERV_INIT)
RONDO_FORTRAN_INIT_NAMES(neighbor_alltoall_init, NEIGHBOR_ALLTOALL_INIT)
RONDO_FORTRAN_INIT_NAMES(neighbor_alltoallv_init, NEIGHBOR_ALLTOALLV_INIT)
RONDO_FORTRAN_INIT_NAMES(neighbor_alltoallw_init, NEIGHBOR_ALLTOALLW_INIT)

}  // extern "C"
#pragma GCC visibility pop

#endif
