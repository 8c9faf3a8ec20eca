// Collectives that are not answered at all: counted, so that the statistics show what a program
// makes of them. Device memory goes by way of the host.

#include <mpi.h>

#include "drop_in/mpi/attempt.h"
#include "drop_in/mpi/host_twin.h"

using namespace rondo::drop_in;

namespace {

/// One block a rank, each of its own type; what is wrong is left to MPI.
Argument blocksOf(const Attempt& call, const void* buffer, const int counts[], const int displs[],
                  const MPI_Datatype types[]) {
  const bool good = displs != nullptr && types != nullptr;
  return {buffer, MPI_DATATYPE_NULL, good ? counts : nullptr, displs, call.size(), types};
}

}  // namespace

int MPI_Alltoallw(const void* sendbuf, const int sendcounts[], const int sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                  const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {
  Attempt call(Call::Alltoallw, comm);
  call.need(false, Why::BlockTypes);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Alltoallw(from, sendcounts, sdispls, sendtypes, to, recvcounts, rdispls, recvtypes,
                          comm);
  };
  return call.passed(handOn(comm, blocksOf(call, sendbuf, sendcounts, sdispls, sendtypes),
                            blocksOf(call, recvbuf, recvcounts, rdispls, recvtypes), mpi));
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
  return call.passed(handOnLater(comm, blocksOf(call, sendbuf, sendcounts, sdispls, sendtypes),
                                 blocksOf(call, recvbuf, recvcounts, rdispls, recvtypes), request,
                                 mpi));
}
