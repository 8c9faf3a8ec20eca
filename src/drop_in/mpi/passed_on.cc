// Collectives that are not answered at all: counted, so that the statistics show what a program
// makes of them. Device memory goes by way of the host. A rehearsal times them.

#include <mpi.h>

#include "drop_in/mpi/attempt.h"
#include "drop_in/mpi/passing.h"
#include "drop_in/mpi/rehearsal.h"
#include "drop_in/mpi/rehearsed_calls.h"

using namespace rondo::drop_in;

int MPI_Alltoallw(const void* sendbuf, const int sendcounts[], const int sdispls[],
                  const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                  const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm) {
  const auto of = [&] {
    return AmongAll{blocksOf(sendbuf, sendcounts, sdispls, sendtypes),
                    blocksOf(recvbuf, recvcounts, rdispls, recvtypes)};
  };
  if (const KnownComm* known = rehearsed(comm)) [[unlikely]] {
    const int code = noteAlltoallw(*known, comm, "MPI_Alltoallw", of().send, of().recv);
    flushTransfers();
    return code;
  }
  Attempt call(Call::Alltoallw, comm);
  call.need(false, Why::BlockTypes);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Alltoallw(from, sendcounts, sdispls, sendtypes, to, recvcounts, rdispls, recvtypes,
                          comm);
  };
  const Passing pass(comm, nullptr, of, mpi);
  return call.passed(pass());
}

int MPI_Ialltoallw(const void* sendbuf, const int sendcounts[], const int sdispls[],
                   const MPI_Datatype sendtypes[], void* recvbuf, const int recvcounts[],
                   const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                   MPI_Request* request) {
  const auto of = [&] {
    return AmongAll{blocksOf(sendbuf, sendcounts, sdispls, sendtypes),
                    blocksOf(recvbuf, recvcounts, rdispls, recvtypes)};
  };
  if (const KnownComm* known = rehearsed(comm)) [[unlikely]] {
    const int code = noteAlltoallw(*known, comm, "MPI_Ialltoallw", of().send, of().recv);
    return code == MPI_SUCCESS ? completeRequest(request) : code;
  }
  Attempt call(Call::Ialltoallw, comm);
  call.need(false, Why::BlockTypes);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Ialltoallw(from, sendcounts, sdispls, sendtypes, to, recvcounts, rdispls, recvtypes,
                           comm, request);
  };
  const Passing pass(comm, request, of, mpi);
  return call.passed(pass());
}
