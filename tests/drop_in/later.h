#pragma once
// Turns a program's blocking collectives into non-blocking ones that are ended by one of MPI's ways
// after the other. Included before everything else by later_test, which is collectives_test again.

#include <mpi.h>

namespace drop_in_test {

/// Ends one request in the way whose turn it is; every way must give the same.
inline int endRequest(MPI_Request* request) {
  static unsigned turn = 0;
  MPI_Request array[3] = {MPI_REQUEST_NULL, *request, MPI_REQUEST_NULL};
  MPI_Status statuses[3];
  int flag = 0, index = -1, number = 0, indices[3], code = MPI_SUCCESS;
  switch (turn++ % 9) {
    case 0:
      return MPI_Wait(request, MPI_STATUS_IGNORE);
    case 1:
      while (code == MPI_SUCCESS && !flag) code = MPI_Test(request, &flag, statuses);
      return code;
    case 2:
      code = MPI_Waitall(3, array, statuses);
      break;
    case 3:
      while (code == MPI_SUCCESS && !flag) code = MPI_Testall(3, array, &flag, MPI_STATUSES_IGNORE);
      break;
    case 4:
      code = MPI_Waitany(3, array, &index, statuses);
      if (code == MPI_SUCCESS && index != 1) code = MPI_ERR_OTHER;
      break;
    case 5:
      while (code == MPI_SUCCESS && !flag) {
        code = MPI_Testany(3, array, &index, &flag, MPI_STATUS_IGNORE);
      }
      if (code == MPI_SUCCESS && index != 1) code = MPI_ERR_OTHER;
      break;
    case 6:
      code = MPI_Waitsome(3, array, &number, indices, statuses);
      if (code == MPI_SUCCESS && (number != 1 || indices[0] != 1)) code = MPI_ERR_OTHER;
      break;
    case 7:
      while (code == MPI_SUCCESS && number == 0) {
        code = MPI_Testsome(3, array, &number, indices, MPI_STATUSES_IGNORE);
      }
      if (code == MPI_SUCCESS && (number != 1 || indices[0] != 1)) code = MPI_ERR_OTHER;
      break;
    default:
      while (code == MPI_SUCCESS && !flag) {
        code = MPI_Request_get_status(*request, &flag, MPI_STATUS_IGNORE);
      }
      return code == MPI_SUCCESS ? MPI_Wait(request, statuses) : code;
  }
  if (code == MPI_SUCCESS && array[1] != MPI_REQUEST_NULL) code = MPI_ERR_REQUEST;
  return code;
}

template <auto call, class... Args>
int later(Args... args) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = call(args..., &request);
  return code == MPI_SUCCESS ? endRequest(&request) : code;
}

// Functions of the blocking ones' types, so that they can stand for them everywhere.
template <auto call, class Blocking>
struct Ended;
template <auto call, class... Args>
struct Ended<call, int(Args...)> {
  static int run(Args... args) { return later<call>(args...); }
};

}  // namespace drop_in_test

#define MPI_Allgather (drop_in_test::Ended<MPI_Iallgather, decltype(PMPI_Allgather)>::run)
#define MPI_Allgatherv (drop_in_test::Ended<MPI_Iallgatherv, decltype(PMPI_Allgatherv)>::run)
#define MPI_Allreduce (drop_in_test::Ended<MPI_Iallreduce, decltype(PMPI_Allreduce)>::run)
#define MPI_Alltoall (drop_in_test::Ended<MPI_Ialltoall, decltype(PMPI_Alltoall)>::run)
#define MPI_Alltoallv (drop_in_test::Ended<MPI_Ialltoallv, decltype(PMPI_Alltoallv)>::run)
#define MPI_Barrier (drop_in_test::Ended<MPI_Ibarrier, decltype(PMPI_Barrier)>::run)
#define MPI_Bcast (drop_in_test::Ended<MPI_Ibcast, decltype(PMPI_Bcast)>::run)
#define MPI_Exscan (drop_in_test::Ended<MPI_Iexscan, decltype(PMPI_Exscan)>::run)
#define MPI_Gather (drop_in_test::Ended<MPI_Igather, decltype(PMPI_Gather)>::run)
#define MPI_Gatherv (drop_in_test::Ended<MPI_Igatherv, decltype(PMPI_Gatherv)>::run)
#define MPI_Reduce (drop_in_test::Ended<MPI_Ireduce, decltype(PMPI_Reduce)>::run)
#define MPI_Reduce_scatter \
  (drop_in_test::Ended<MPI_Ireduce_scatter, decltype(PMPI_Reduce_scatter)>::run)
#define MPI_Reduce_scatter_block \
  (drop_in_test::Ended<MPI_Ireduce_scatter_block, decltype(PMPI_Reduce_scatter_block)>::run)
#define MPI_Scan (drop_in_test::Ended<MPI_Iscan, decltype(PMPI_Scan)>::run)
#define MPI_Scatter (drop_in_test::Ended<MPI_Iscatter, decltype(PMPI_Scatter)>::run)
#define MPI_Scatterv (drop_in_test::Ended<MPI_Iscatterv, decltype(PMPI_Scatterv)>::run)
