#include "drop_in/mpi/calls.h"

namespace rondo::drop_in {

const char* name(Call call) {
  static constexpr const char* kNames[kCalls] = {"MPI_Allgather",
                                                 "MPI_Allgatherv",
                                                 "MPI_Allreduce",
                                                 "MPI_Alltoall",
                                                 "MPI_Alltoallv",
                                                 "MPI_Alltoallw",
                                                 "MPI_Barrier",
                                                 "MPI_Bcast",
                                                 "MPI_Exscan",
                                                 "MPI_Gather",
                                                 "MPI_Gatherv",
                                                 "MPI_Iallgather",
                                                 "MPI_Iallgatherv",
                                                 "MPI_Iallreduce",
                                                 "MPI_Ialltoall",
                                                 "MPI_Ialltoallv",
                                                 "MPI_Ialltoallw",
                                                 "MPI_Ibarrier",
                                                 "MPI_Ibcast",
                                                 "MPI_Iexscan",
                                                 "MPI_Igather",
                                                 "MPI_Igatherv",
                                                 "MPI_Ireduce",
                                                 "MPI_Ireduce_scatter",
                                                 "MPI_Ireduce_scatter_block",
                                                 "MPI_Iscan",
                                                 "MPI_Iscatter",
                                                 "MPI_Iscatterv",
                                                 "MPI_Reduce",
                                                 "MPI_Reduce_scatter",
                                                 "MPI_Reduce_scatter_block",
                                                 "MPI_Scan",
                                                 "MPI_Scatter",
                                                 "MPI_Scatterv",
                                                 "MPI_Test",
                                                 "MPI_Testall",
                                                 "MPI_Testany",
                                                 "MPI_Testsome",
                                                 "MPI_Wait",
                                                 "MPI_Waitall",
                                                 "MPI_Waitany",
                                                 "MPI_Waitsome"};
  return kNames[static_cast<size_t>(call)];
}

const char* text(Why why) {
  static constexpr const char* kTexts[kWhys + 1] = {"taken",
                                                    "RONDO_MPI",
                                                    "thread level",
                                                    "one rank",
                                                    "communicator not converted",
                                                    "no Rondo communicator",
                                                    "many communicators",
                                                    "type",
                                                    "operator",
                                                    "types of blocks",
                                                    "2 GiB or more",
                                                    "few bytes",
                                                    "MPI is quicker",
                                                    "arguments",
                                                    "host memory",
                                                    "on devices",
                                                    "by way of the host",
                                                    "inside Rondo"};
  return kTexts[static_cast<size_t>(why)];
}

}  // namespace rondo::drop_in
