// Collectives that are not answered at all: counted, so that the statistics show what a program
// makes of them. Device memory goes by way of the host.

#include <mpi.h>

#include "drop_in/mpi/attempt.h"
#include "drop_in/mpi/passing.h"

using namespace rondo::drop_in;

int MPI_Alltoallw(const void* sendbuf, const int sendcounts[], const int sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                  const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {
  Attempt call(Call::Alltoallw, comm);
  call.need(false, Why::BlockTypes);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Alltoallw(from, sendcounts, sdispls, sendtypes, to, recvcounts, rdispls, recvtypes,
                          comm);
  };
  const auto of = [&] {
    return AmongAll{blocksOf(sendbuf, sendcounts, sdispls, sendtypes),
                    blocksOf(recvbuf, recvcounts, rdispls, recvtypes)};
  };
  const Passing pass(comm, nullptr, of, mpi);
  return call.passed(pass());
}

int MPI_Ialltoallw(const void* sendbuf, const int sendcounts[], const int sdispls[],
                   const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                   const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                   MPI_Request* request) {
  Attempt call(Call::Ialltoallw, comm);
  call.need(false, Why::BlockTypes);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Ialltoallw(from, sendcounts, sdispls, sendtypes, to, recvcounts, rdispls, recvtypes,
                           comm, request);
  };
  const auto of = [&] {
    return AmongAll{blocksOf(sendbuf, sendcounts, sdispls, sendtypes),
                    blocksOf(recvbuf, recvcounts, rdispls, recvtypes)};
  };
  const Passing pass(comm, request, of, mpi);
  return call.passed(pass());
}
