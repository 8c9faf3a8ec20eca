// Collectives that the layer hands on to MPI, as Fortran calls them: MPI's own Fortran routines
// call PMPI functions, which know nothing of device buffers.

#include <vector>

#include "drop_in/mpi/fortran.h"
#include "drop_in/mpi/neighbours.h"

#if defined(OPEN_MPI)

using namespace rondo::drop_in;

namespace {

/// Types of blocks as C has them; of a buffer in place MPI looks at none.
class Types {
 public:
  Types(const void* of, const MPI_Fint* given, int number) {
    for (int i = 0; i < number && buffer(const_cast<void*>(of)) != MPI_IN_PLACE; ++i) {
      c_.push_back(type(&given[i]));
    }
  }
  operator const MPI_Datatype*() const { return c_.data(); }

 private:
  std::vector<MPI_Datatype> c_;
};

}  // namespace

// mpi.h declares none of them: they would be hidden.
#pragma GCC visibility push(default)
extern "C" {

void mpi_alltoallw_(void* send, MPI_Fint* sendCounts, MPI_Fint* sendPlaces, MPI_Fint* sendTypes,
                    void* recv, MPI_Fint* recvCounts, MPI_Fint* recvPlaces, MPI_Fint* recvTypes,
                    MPI_Fint* c, MPI_Fint* ierror) {
  const int number = sidesOf(comm(c)).others;
  give(ierror, MPI_Alltoallw(buffer(send), sendCounts, sendPlaces, Types(send, sendTypes, number),
                             buffer(recv), recvCounts, recvPlaces, Types(recv, recvTypes, number),
                             comm(c)));
}

void mpi_ialltoallw_(void* send, MPI_Fint* sendCounts, MPI_Fint* sendPlaces, MPI_Fint* sendTypes,
                     void* recv, MPI_Fint* recvCounts, MPI_Fint* recvPlaces, MPI_Fint* recvTypes,
                     MPI_Fint* c, MPI_Fint* request, MPI_Fint* ierror) {
  const int number = sidesOf(comm(c)).others;
  MadeRequest made(request, ierror);
  made.give(MPI_Ialltoallw(buffer(send), sendCounts, sendPlaces, Types(send, sendTypes, number),
                           buffer(recv), recvCounts, recvPlaces, Types(recv, recvTypes, number),
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
                                      Types(send, sendTypes, degrees.to), buffer(recv), recvCounts,
                                      recvPlaces, Types(recv, recvTypes, degrees.from), comm(c)));
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
      buffer(send), sendCounts, sendPlaces, Types(send, sendTypes, degrees.to), buffer(recv),
      recvCounts, recvPlaces, Types(recv, recvTypes, degrees.from), comm(c), made));
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
