// MPI's calls that copy or compare communicators, or join them with others, whose communicators
// are no business of the layer's but in a rehearsal: there MPI would see one process on each side.

#include <mpi.h>

#include "drop_in/mpi/rehearsal.h"
#include "drop_in/mpi/rehearsed_calls.h"
#include "drop_in/mpi/rehearsed_groups.h"

using namespace rondo::drop_in;

namespace {

int refuseOthers(const char* call, MPI_Comm comm) {
  return refuseCall(call, comm, "the processes on the other side",
                    "communicators of the ranks that are rehearsed");
}

}  // namespace

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* request) {
  if (rehearsed(comm) == nullptr) [[likely]]
    return PMPI_Comm_idup(comm, made, request);
  const int code = MPI_Comm_dup(comm, made);
  return code == MPI_SUCCESS ? completeRequest(request) : code;
}

int MPI_Comm_compare(MPI_Comm first, MPI_Comm second, int* result) {
  const bool virtually = rehearsed(first) != nullptr || rehearsed(second) != nullptr;
  if (!virtually || first == second || first == MPI_COMM_NULL || second == MPI_COMM_NULL)
    return PMPI_Comm_compare(first, second, result);
  return compareComms(first, second, result);
}

int MPI_Intercomm_create(MPI_Comm comm, int leader, MPI_Comm peers, int remote, int tag,
                         MPI_Comm* made) {
  for (const MPI_Comm side : {comm, peers}) {
    if (side == MPI_COMM_NULL || rehearsed(side) == nullptr) continue;
    *made = MPI_COMM_NULL;
    return refuseOthers("MPI_Intercomm_create", side);
  }
  return PMPI_Intercomm_create(comm, leader, peers, remote, tag, made);
}

int MPI_Comm_spawn(const char* command, char* arguments[], int number, MPI_Info info, int root,
                   MPI_Comm comm, MPI_Comm* made, int codes[]) {
  if (rehearsed(comm) != nullptr) {
    *made = MPI_COMM_NULL;
    return refuseOthers("MPI_Comm_spawn", comm);
  }
  return PMPI_Comm_spawn(command, arguments, number, info, root, comm, made, codes);
}

int MPI_Comm_spawn_multiple(int number, char* commands[], char** arguments[], const int numbers[],
                            const MPI_Info infos[], int root, MPI_Comm comm, MPI_Comm* made,
                            int codes[]) {
  if (rehearsed(comm) != nullptr) {
    *made = MPI_COMM_NULL;
    return refuseOthers("MPI_Comm_spawn_multiple", comm);
  }
  return PMPI_Comm_spawn_multiple(number, commands, arguments, numbers, infos, root, comm, made,
                                  codes);
}

int MPI_Comm_accept(const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made) {
  if (rehearsed(comm) != nullptr) {
    *made = MPI_COMM_NULL;
    return refuseOthers("MPI_Comm_accept", comm);
  }
  return PMPI_Comm_accept(port, info, root, comm, made);
}

int MPI_Comm_connect(const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made) {
  if (rehearsed(comm) != nullptr) {
    *made = MPI_COMM_NULL;
    return refuseOthers("MPI_Comm_connect", comm);
  }
  return PMPI_Comm_connect(port, info, root, comm, made);
}
