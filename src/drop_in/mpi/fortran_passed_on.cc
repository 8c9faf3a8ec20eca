// Collectives that the layer hands on to MPI, as Fortran calls them: MPI's own Fortran routines
// call PMPI functions, which know nothing of device buffers.

#include "drop_in/mpi/fortran.h"
#include "drop_in/mpi/neighbours.h"

#if defined(OPEN_MPI)

#include <mutex>
#include <set>
#include <vector>

using namespace rondo::drop_in;

const MPI_Datatype* rondo::drop_in::types(void* of, const MPI_Fint* given, int number) {
  if (buffer(of) == MPI_IN_PLACE) return nullptr;
  std::vector<MPI_Datatype> all;
  for (int i = 0; i < number; ++i) all.push_back(type(&given[i]));
  // Never destroyed: MPI_Finalize may run in an atexit handler.
  static auto* const kept = new std::set<std::vector<MPI_Datatype>>;
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  return kept->insert(std::move(all)).first->data();
}

// mpi.h declares none of them: they would be hidden.
#pragma GCC visibility push(default)
extern "C" {

void mpi_alltoallw_(void* send, MPI_Fint* sendCounts, MPI_Fint* sendPlaces, MPI_Fint* sendTypes,
                    void* recv, MPI_Fint* recvCounts, MPI_Fint* recvPlaces, MPI_Fint* recvTypes,
                    MPI_Fint* c, MPI_Fint* ierror) {
  const int number = sidesOf(comm(c)).others;
  give(ierror, MPI_Alltoallw(buffer(send), sendCounts, sendPlaces, types(send, sendTypes, number),
                             buffer(recv), recvCounts, recvPlaces, types(recv, recvTypes, number),
                             comm(c)));
}

void mpi_ialltoallw_(void* send, MPI_Fint* sendCounts, MPI_Fint* sendPlaces, MPI_Fint* sendTypes,
                     void* recv, MPI_Fint* recvCounts, MPI_Fint* recvPlaces, MPI_Fint* recvTypes,
                     MPI_Fint* c, MPI_Fint* request, MPI_Fint* ierror) {
  const int number = sidesOf(comm(c)).others;
  MadeRequest made(request, ierror);
  made.give(MPI_Ialltoallw(buffer(send), sendCounts, sendPlaces, types(send, sendTypes, number),
                           buffer(recv), recvCounts, recvPlaces, types(recv, recvTypes, number),
                           comm(c), made));
}

void mpi_neighbor_allgather_(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, void* recv,
                             MPI_Fint* recvCount, MPI_Fint* recvType, MPI_Fint* c,
                             MPI_Fint* ierror) {
  give(ierror, MPI_Neighbor_allgather(buffer(send), *sendCount, type(sendType), buffer(recv),
                                      *recvCount, type(recvType), comm(c)));
}

void mpi_neighbor_allgatherv_(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, void* recv,
                              MPI_Fint* recvCounts, MPI_Fint* recvPlaces, MPI_Fint* recvType,
                              MPI_Fint* c, MPI_Fint* ierror) {
  give(ierror, MPI_Neighbor_allgatherv(buffer(send), *sendCount, type(sendType), buffer(recv),
                                       recvCounts, recvPlaces, type(recvType), comm(c)));
}

void mpi_neighbor_alltoall_(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, void* recv,
                            MPI_Fint* recvCount, MPI_Fint* recvType, MPI_Fint* c,
                            MPI_Fint* ierror) {
  give(ierror, MPI_Neighbor_alltoall(buffer(send), *sendCount, type(sendType), buffer(recv),
                                     *recvCount, type(recvType), comm(c)));
}

void mpi_neighbor_alltoallv_(void* send, MPI_Fint* sendCounts, MPI_Fint* sendPlaces,
                             MPI_Fint* sendType, void* recv, MPI_Fint* recvCounts,
                             MPI_Fint* recvPlaces, MPI_Fint* recvType, MPI_Fint* c,
                             MPI_Fint* ierror) {
  give(ierror,
       MPI_Neighbor_alltoallv(buffer(send), sendCounts, sendPlaces, type(sendType), buffer(recv),
                              recvCounts, recvPlaces, type(recvType), comm(c)));
}

void mpi_neighbor_alltoallw_(void* send, MPI_Fint* sendCounts, MPI_Aint* sendPlaces,
                             MPI_Fint* sendTypes, void* recv, MPI_Fint* recvCounts,
                             MPI_Aint* recvPlaces, MPI_Fint* recvTypes, MPI_Fint* c,
                             MPI_Fint* ierror) {
  const Degrees degrees = degreesOf(comm(c));
  give(ierror, MPI_Neighbor_alltoallw(buffer(send), sendCounts, sendPlaces,
                                      types(send, sendTypes, degrees.to), buffer(recv), recvCounts,
                                      recvPlaces, types(recv, recvTypes, degrees.from), comm(c)));
}

void mpi_ineighbor_allgather_(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, void* recv,
                              MPI_Fint* recvCount, MPI_Fint* recvType, MPI_Fint* c,
                              MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Ineighbor_allgather(buffer(send), *sendCount, type(sendType), buffer(recv),
                                    *recvCount, type(recvType), comm(c), made));
}

void mpi_ineighbor_allgatherv_(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, void* recv,
                               MPI_Fint* recvCounts, MPI_Fint* recvPlaces, MPI_Fint* recvType,
                               MPI_Fint* c, MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Ineighbor_allgatherv(buffer(send), *sendCount, type(sendType), buffer(recv),
                                     recvCounts, recvPlaces, type(recvType), comm(c), made));
}

void mpi_ineighbor_alltoall_(void* send, MPI_Fint* sendCount, MPI_Fint* sendType, void* recv,
                             MPI_Fint* recvCount, MPI_Fint* recvType, MPI_Fint* c,
                             MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Ineighbor_alltoall(buffer(send), *sendCount, type(sendType), buffer(recv),
                                   *recvCount, type(recvType), comm(c), made));
}

void mpi_ineighbor_alltoallv_(void* send, MPI_Fint* sendCounts, MPI_Fint* sendPlaces,
                              MPI_Fint* sendType, void* recv, MPI_Fint* recvCounts,
                              MPI_Fint* recvPlaces, MPI_Fint* recvType, MPI_Fint* c,
                              MPI_Fint* request, MPI_Fint* ierror) {
  MadeRequest made(request, ierror);
  made.give(MPI_Ineighbor_alltoallv(buffer(send), sendCounts, sendPlaces, type(sendType),
                                    buffer(recv), recvCounts, recvPlaces, type(recvType), comm(c),
                                    made));
}

void mpi_ineighbor_alltoallw_(void* send, MPI_Fint* sendCounts, MPI_Aint* sendPlaces,
                              MPI_Fint* sendTypes, void* recv, MPI_Fint* recvCounts,
                              MPI_Aint* recvPlaces, MPI_Fint* recvTypes, MPI_Fint* c,
                              MPI_Fint* request, MPI_Fint* ierror) {
  const Degrees degrees = degreesOf(comm(c));
  MadeRequest made(request, ierror);
  made.give(MPI_Ineighbor_alltoallw(
      buffer(send), sendCounts, sendPlaces, types(send, sendTypes, degrees.to), buffer(recv),
      recvCounts, recvPlaces, types(recv, recvTypes, degrees.from), comm(c), made));
}

RONDO_FORTRAN_NAMES(alltoallw, ALLTOALLW)
RONDO_FORTRAN_NAMES(ialltoallw, IALLTOALLW)
RONDO_FORTRAN_NAMES(neighbor_allgather, NEIGHBOR_ALLGATHER)
RONDO_FORTRAN_NAMES(neighbor_allgatherv, NEIGHBOR_ALLGATHERV)
RONDO_FORTRAN_NAMES(neighbor_alltoall, NEIGHBOR_ALLTOALL)
RONDO_FORTRAN_NAMES(neighbor_alltoallv, NEIGHBOR_ALLTOALLV)
RONDO_FORTRAN_NAMES(neighbor_alltoallw, NEIGHBOR_ALLTOALLW)
RONDO_FORTRAN_NAMES(ineighbor_allgather, INEIGHBOR_ALLGATHER)
RONDO_FORTRAN_NAMES(ineighbor_allgatherv, INEIGHBOR_ALLGATHERV)
RONDO_FORTRAN_NAMES(ineighbor_alltoall, INEIGHBOR_ALLTOALL)
RONDO_FORTRAN_NAMES(ineighbor_alltoallv, INEIGHBOR_ALLTOALLV)
RONDO_FORTRAN_NAMES(ineighbor_alltoallw, INEIGHBOR_ALLTOALLW)

}  // extern "C"
#pragma GCC visibility pop

#endif
