#include "drop_in/mpi/neighbours.h"

namespace rondo::drop_in {

Degrees degreesOf(MPI_Comm comm) {
  int kind = MPI_UNDEFINED, number = 0, rank = 0, weighted = 0;
  Degrees degrees;
  if (comm != MPI_COMM_NULL) PMPI_Topo_test(comm, &kind);
  if (kind == MPI_DIST_GRAPH) {
    PMPI_Dist_graph_neighbors_count(comm, &degrees.from, &degrees.to, &weighted);
  } else if (kind == MPI_CART) {
    PMPI_Cartdim_get(comm, &number);
    degrees = {2 * number, 2 * number};
  } else if (kind == MPI_GRAPH) {
    PMPI_Comm_rank(comm, &rank);
    PMPI_Graph_neighbors_count(comm, rank, &number);
    degrees = {number, number};
  }
  return degrees;
}

}  // namespace rondo::drop_in
