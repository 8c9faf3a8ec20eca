// Collectives that are not answered at all: counted, so that the statistics show what a program
// makes of them.

#include <mpi.h>

#include "drop_in/mpi/attempt.h"

using namespace rondo::drop_in;

int MPI_Alltoallw(const void* sendbuf, const int sendcounts[], const int sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                  const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {
  Attempt call(Call::Alltoallw, comm);
  call.need(false, Why::BlockTypes);
  return call.passed(PMPI_Alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                                    rdispls, recvtypes, comm));
}

int MPI_Ialltoallw(const void* sendbuf, const int sendcounts[], const int sdispls[],
                   const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                   const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                   MPI_Request* request) {
  Attempt call(Call::Ialltoallw, comm);
  call.need(false, Why::BlockTypes);
  return call.passed(PMPI_Ialltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                                     rdispls, recvtypes, comm, request));
}
