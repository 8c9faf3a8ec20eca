// MPI's calls that begin and end MPI, and those that make communicators: MPI does them, and then
// the layer makes the communicators Rondo's too.

#include <mpi.h>

#include "drop_in/mpi/life.h"
#include "drop_in/mpi/rehearsal.h"
#include "drop_in/mpi/rehearsed_groups.h"
#include "drop_in/mpi/rehearsed_topology.h"
#include "drop_in/rehearsed_machine.h"

using namespace rondo::drop_in;

namespace {

int started() {
  const int code = begin();
  return code == MPI_SUCCESS && wantsRehearsal() ? beginRehearsal() : code;
}

}  // namespace

int MPI_Init(int* argc, char*** argv) {
  const int code = PMPI_Init(argc, argv);
  return code == MPI_SUCCESS ? started() : code;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int code = PMPI_Init_thread(argc, argv, required, provided);
  return code == MPI_SUCCESS ? started() : code;
}

int MPI_Finalize() {
  const bool rehearsed = rehearsing;
  if (rehearsed) flushAllTransfers();
  if (rehearsed || !endsByItself) end();
  if (rehearsed) endRehearsal();
  return PMPI_Finalize();
}

namespace {

int adopted(int code, MPI_Comm parent, const MPI_Comm* made, bool byAll = true) {
  if (code == MPI_SUCCESS) adopt(parent, *made, byAll);
  return code;
}

/// The same for a copy, which a rehearsal makes too.
int adoptedCopy(int code, MPI_Comm parent, const MPI_Comm* made) {
  if (code == MPI_SUCCESS && rehearsing) return rehearseDup(parent, *made);
  return adopted(code, parent, made);
}

}  // namespace

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  return adoptedCopy(PMPI_Comm_dup(comm, made), comm, made);
}

int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made) {
  return adoptedCopy(PMPI_Comm_dup_with_info(comm, info, made), comm, made);
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  if (const KnownComm* known = rehearsed(comm)) {
    flushTransfers();
    return rehearseSplit(*known, comm, color, key, made);
  }
  return adopted(PMPI_Comm_split(comm, color, key, made), comm, made);
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made) {
  if (rehearsed(comm) != nullptr) {
    if (type != MPI_COMM_TYPE_SHARED) return refuseChild("MPI_Comm_split_type", comm);
    const int code = PMPI_Comm_split_type(comm, type, key, info, made);
    return code == MPI_SUCCESS ? rehearseHost(comm, *made) : code;
  }
  return adopted(PMPI_Comm_split_type(comm, type, key, info, made), comm, made);
}

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
  if (const KnownComm* known = rehearsed(comm)) {
    flushTransfers();
    return rehearseCreate(*known, comm, "MPI_Comm_create", group, made);
  }
  return adopted(PMPI_Comm_create(comm, group, made), comm, made);
}

int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made) {
  if (const KnownComm* known = rehearsed(comm)) {
    flushTransfers();
    return rehearseCreate(*known, comm, "MPI_Comm_create_group", group, made);
  }
  constexpr bool kByTheGroup = false;
  return adopted(PMPI_Comm_create_group(comm, group, tag, made), comm, made, kByTheGroup);
}

int MPI_Cart_create(MPI_Comm comm, int dimensions, const int sizes[], const int periods[],
                    int reorder, MPI_Comm* made) {
  if (const KnownComm* known = rehearsed(comm)) {
    flushTransfers();
    return rehearseCart(*known, comm, dimensions, sizes, periods, made);
  }
  return adopted(PMPI_Cart_create(comm, dimensions, sizes, periods, reorder, made), comm, made);
}

int MPI_Cart_sub(MPI_Comm comm, const int remain[], MPI_Comm* made) {
  if (const KnownComm* known = rehearsed(comm)) {
    flushTransfers();
    return rehearseCartSub(*known, comm, remain, made);
  }
  return adopted(PMPI_Cart_sub(comm, remain, made), comm, made);
}

int MPI_Graph_create(MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder,
                     MPI_Comm* made) {
  if (const KnownComm* known = rehearsed(comm)) {
    flushTransfers();
    return rehearseGraph(*known, comm, nodes, index, edges, made);
  }
  return adopted(PMPI_Graph_create(comm, nodes, index, edges, reorder, made), comm, made);
}

int MPI_Dist_graph_create(MPI_Comm comm, int number, const int sources[], const int degrees[],
                          const int destinations[], const int weights[], MPI_Info info, int reorder,
                          MPI_Comm* made) {
  if (const KnownComm* known = rehearsed(comm)) {
    flushTransfers();
    return rehearseEdges(*known, comm, {number, sources, degrees, destinations, weights}, made);
  }
  return adopted(PMPI_Dist_graph_create(comm, number, sources, degrees, destinations, weights, info,
                                        reorder, made),
                 comm, made);
}

int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int indegree, const int sources[],
                                   const int sourceWeights[], int outdegree,
                                   const int destinations[], const int destinationWeights[],
                                   MPI_Info info, int reorder, MPI_Comm* made) {
  if (const KnownComm* known = rehearsed(comm)) {
    flushTransfers();
    return rehearseAdjacent(
        *known, comm,
        {indegree, sources, sourceWeights, outdegree, destinations, destinationWeights}, made);
  }
  return adopted(
      PMPI_Dist_graph_create_adjacent(comm, indegree, sources, sourceWeights, outdegree,
                                      destinations, destinationWeights, info, reorder, made),
      comm, made);
}
