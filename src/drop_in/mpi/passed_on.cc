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

int MPI_Iallgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                   int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  Attempt call(Call::Iallgather, comm);
  call.need(false, Why::NonBlocking);
  return call.passed(
      PMPI_Iallgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request));
}

int MPI_Iallgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                    const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                    MPI_Comm comm, MPI_Request* request) {
  Attempt call(Call::Iallgatherv, comm);
  call.need(false, Why::NonBlocking);
  return call.passed(PMPI_Iallgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                      recvtype, comm, request));
}

int MPI_Iallreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  Attempt call(Call::Iallreduce, comm);
  call.need(false, Why::NonBlocking);
  return call.passed(PMPI_Iallreduce(sendbuf, recvbuf, count, type, op, comm, request));
}

int MPI_Ialltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  Attempt call(Call::Ialltoall, comm);
  call.need(false, Why::NonBlocking);
  return call.passed(
      PMPI_Ialltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, request));
}

int MPI_Ialltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                   MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                   const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                   MPI_Request* request) {
  Attempt call(Call::Ialltoallv, comm);
  call.need(false, Why::NonBlocking);
  return call.passed(PMPI_Ialltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                     rdispls, recvtype, comm, request));
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  Attempt call(Call::Ibarrier, comm);
  call.need(false, Why::NonBlocking);
  return call.passed(PMPI_Ibarrier(comm, request));
}

int MPI_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request* request) {
  Attempt call(Call::Ibcast, comm);
  call.need(false, Why::NonBlocking);
  return call.passed(PMPI_Ibcast(buffer, count, type, root, comm, request));
}

int MPI_Iexscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
                MPI_Comm comm, MPI_Request* request) {
  Attempt call(Call::Iexscan, comm);
  call.need(false, Why::NonBlocking);
  return call.passed(PMPI_Iexscan(sendbuf, recvbuf, count, type, op, comm, request));
}

int MPI_Igather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                MPI_Request* request) {
  Attempt call(Call::Igather, comm);
  call.need(false, Why::NonBlocking);
  return call.passed(PMPI_Igather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root,
                                  comm, request));
}

int MPI_Igatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                 const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                 MPI_Comm comm, MPI_Request* request) {
  Attempt call(Call::Igatherv, comm);
  call.need(false, Why::NonBlocking);
  return call.passed(PMPI_Igatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                   recvtype, root, comm, request));
}

int MPI_Ireduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
                int root, MPI_Comm comm, MPI_Request* request) {
  Attempt call(Call::Ireduce, comm);
  call.need(false, Why::NonBlocking);
  return call.passed(PMPI_Ireduce(sendbuf, recvbuf, count, type, op, root, comm, request));
}

int MPI_Ireduce_scatter(const void* sendbuf, void* recvbuf, const int recvcounts[],
                        MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  Attempt call(Call::IreduceScatter, comm);
  call.need(false, Why::NonBlocking);
  return call.passed(PMPI_Ireduce_scatter(sendbuf, recvbuf, recvcounts, type, op, comm, request));
}

int MPI_Ireduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype type,
                              MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  Attempt call(Call::IreduceScatterBlock, comm);
  call.need(false, Why::NonBlocking);
  return call.passed(
      PMPI_Ireduce_scatter_block(sendbuf, recvbuf, recvcount, type, op, comm, request));
}

int MPI_Iscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
              MPI_Comm comm, MPI_Request* request) {
  Attempt call(Call::Iscan, comm);
  call.need(false, Why::NonBlocking);
  return call.passed(PMPI_Iscan(sendbuf, recvbuf, count, type, op, comm, request));
}

int MPI_Iscatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                 int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                 MPI_Request* request) {
  Attempt call(Call::Iscatter, comm);
  call.need(false, Why::NonBlocking);
  return call.passed(PMPI_Iscatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root,
                                   comm, request));
}

int MPI_Iscatterv(const void* sendbuf, const int sendcounts[], const int displs[],
                  MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                  int root, MPI_Comm comm, MPI_Request* request) {
  Attempt call(Call::Iscatterv, comm);
  call.need(false, Why::NonBlocking);
  return call.passed(PMPI_Iscatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount,
                                    recvtype, root, comm, request));
}
