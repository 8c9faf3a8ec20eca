// MPI's probes: MPI's, so that all messages stay in its matching, but in a rehearsal, where no
// message ever comes that one could look at.

#include <mpi.h>

#include "drop_in/mpi/rehearsal.h"

using namespace rondo::drop_in;

namespace {

/// MPI's own answer is right where nobody is asked.
bool isRefused(int from, MPI_Comm comm) {
  return rehearsed(comm) != nullptr && from != MPI_PROC_NULL;
}

int refuse(const char* call, MPI_Comm comm) {
  return refuseCall(call, comm, "which message would come, or of what length",
                    "receives of a length that the program knows");
}

}  // namespace

int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status* status) {
  if (isRefused(from, comm)) [[unlikely]]
    return refuse("MPI_Probe", comm);
  return PMPI_Probe(from, tag, comm, status);
}

int MPI_Iprobe(int from, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  if (isRefused(from, comm)) [[unlikely]] {
    *flag = 0;
    return refuse("MPI_Iprobe", comm);
  }
  return PMPI_Iprobe(from, tag, comm, flag, status);
}

int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  if (isRefused(from, comm)) [[unlikely]] {
    *message = MPI_MESSAGE_NULL;
    return refuse("MPI_Mprobe", comm);
  }
  return PMPI_Mprobe(from, tag, comm, message, status);
}

int MPI_Improbe(int from, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                MPI_Status* status) {
  if (isRefused(from, comm)) [[unlikely]] {
    *flag = 0;
    *message = MPI_MESSAGE_NULL;
    return refuse("MPI_Improbe", comm);
  }
  return PMPI_Improbe(from, tag, comm, flag, message, status);
}
