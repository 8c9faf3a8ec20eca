// Graph topologies as Fortran makes them, and its questions about topologies, which a rehearsal
// answers otherwise than MPI.

#include "drop_in/mpi/fortran.h"
#include "drop_in/mpi/fortran_next.h"
#include "drop_in/mpi/rehearsal.h"

#if defined(OPEN_MPI)

using namespace rondo::drop_in;

extern "C" int mpi_fortran_unweighted_, mpi_fortran_weights_empty_;

namespace {

/// Routines of MPI's that know what a LOGICAL looks like.
namespace routines {
struct CartGet;
struct CartMap;
struct DistGraphNeighborsCount;
}  // namespace routines

/// Weights are passed on as they are, but for MPI's two words.
int* weights(MPI_Fint* given) {
  if (given == &mpi_fortran_unweighted_) return MPI_UNWEIGHTED;
  return given == &mpi_fortran_weights_empty_ ? MPI_WEIGHTS_EMPTY : given;
}

}  // namespace

// mpi.h declares none of them: they would be hidden.
#pragma GCC visibility push(default)
extern "C" {

void mpi_graph_create_(MPI_Fint* c, MPI_Fint* nodes, MPI_Fint* index, MPI_Fint* edges,
                       MPI_Fint* reorder, MPI_Fint* out, MPI_Fint* ierror) {
  MadeComm made(out, ierror);
  made.give(MPI_Graph_create(comm(c), *nodes, index, edges, *reorder != 0, made));
}

void mpi_dist_graph_create_(MPI_Fint* c, MPI_Fint* number, MPI_Fint* sources, MPI_Fint* degrees,
                            MPI_Fint* destinations, MPI_Fint* weighted, MPI_Fint* info,
                            MPI_Fint* reorder, MPI_Fint* out, MPI_Fint* ierror) {
  MadeComm made(out, ierror);
  made.give(MPI_Dist_graph_create(comm(c), *number, sources, degrees, destinations,
                                  weights(weighted), MPI_Info_f2c(*info), *reorder != 0, made));
}

void mpi_dist_graph_create_adjacent_(MPI_Fint* c, MPI_Fint* indegree, MPI_Fint* sources,
                                     MPI_Fint* sourceWeights, MPI_Fint* outdegree,
                                     MPI_Fint* destinations, MPI_Fint* destinationWeights,
                                     MPI_Fint* info, MPI_Fint* reorder, MPI_Fint* out,
                                     MPI_Fint* ierror) {
  MadeComm made(out, ierror);
  made.give(MPI_Dist_graph_create_adjacent(comm(c), *indegree, sources, weights(sourceWeights),
                                           *outdegree, destinations, weights(destinationWeights),
                                           MPI_Info_f2c(*info), *reorder != 0, made));
}

void mpi_topo_test_(MPI_Fint* c, MPI_Fint* status, MPI_Fint* ierror) {
  give(ierror, MPI_Topo_test(comm(c), status));
}

void mpi_cartdim_get_(MPI_Fint* c, MPI_Fint* dimensions, MPI_Fint* ierror) {
  give(ierror, MPI_Cartdim_get(comm(c), dimensions));
}

void mpi_cart_get_(MPI_Fint* c, MPI_Fint* most, MPI_Fint* sizes, MPI_Fint* periods,
                   MPI_Fint* coordinates, MPI_Fint* ierror) {
  if (rehearsed(comm(c)) == nullptr) {
    return callNext<routines::CartGet>("pmpi_cart_get_", c, most, sizes, periods, coordinates,
                                       orNobodys(ierror));
  }
  give(ierror, MPI_Cart_get(comm(c), *most, sizes, periods, coordinates));
}

void mpi_cart_coords_(MPI_Fint* c, MPI_Fint* rank, MPI_Fint* most, MPI_Fint* coordinates,
                      MPI_Fint* ierror) {
  give(ierror, MPI_Cart_coords(comm(c), *rank, *most, coordinates));
}

void mpi_cart_rank_(MPI_Fint* c, MPI_Fint* coordinates, MPI_Fint* rank, MPI_Fint* ierror) {
  give(ierror, MPI_Cart_rank(comm(c), coordinates, rank));
}

void mpi_cart_shift_(MPI_Fint* c, MPI_Fint* direction, MPI_Fint* by, MPI_Fint* source,
                     MPI_Fint* destination, MPI_Fint* ierror) {
  give(ierror, MPI_Cart_shift(comm(c), *direction, *by, source, destination));
}

void mpi_cart_map_(MPI_Fint* c, MPI_Fint* dimensions, MPI_Fint* sizes, MPI_Fint* periods,
                   MPI_Fint* rank, MPI_Fint* ierror) {
  if (rehearsed(comm(c)) == nullptr) {
    return callNext<routines::CartMap>("pmpi_cart_map_", c, dimensions, sizes, periods, rank,
                                       orNobodys(ierror));
  }
  give(ierror, MPI_Cart_map(comm(c), *dimensions, sizes, periods, rank));
}

void mpi_graph_map_(MPI_Fint* c, MPI_Fint* nodes, MPI_Fint* index, MPI_Fint* edges, MPI_Fint* rank,
                    MPI_Fint* ierror) {
  give(ierror, MPI_Graph_map(comm(c), *nodes, index, edges, rank));
}

void mpi_graphdims_get_(MPI_Fint* c, MPI_Fint* nodes, MPI_Fint* edges, MPI_Fint* ierror) {
  give(ierror, MPI_Graphdims_get(comm(c), nodes, edges));
}

void mpi_graph_get_(MPI_Fint* c, MPI_Fint* mostIndex, MPI_Fint* mostEdges, MPI_Fint* index,
                    MPI_Fint* edges, MPI_Fint* ierror) {
  give(ierror, MPI_Graph_get(comm(c), *mostIndex, *mostEdges, index, edges));
}

void mpi_graph_neighbors_count_(MPI_Fint* c, MPI_Fint* rank, MPI_Fint* number, MPI_Fint* ierror) {
  give(ierror, MPI_Graph_neighbors_count(comm(c), *rank, number));
}

void mpi_graph_neighbors_(MPI_Fint* c, MPI_Fint* rank, MPI_Fint* most, MPI_Fint* neighbours,
                          MPI_Fint* ierror) {
  give(ierror, MPI_Graph_neighbors(comm(c), *rank, *most, neighbours));
}

void mpi_dist_graph_neighbors_count_(MPI_Fint* c, MPI_Fint* sources, MPI_Fint* destinations,
                                     MPI_Fint* weighted, MPI_Fint* ierror) {
  if (rehearsed(comm(c)) == nullptr) {
    return callNext<routines::DistGraphNeighborsCount>(
        "pmpi_dist_graph_neighbors_count_", c, sources, destinations, weighted, orNobodys(ierror));
  }
  give(ierror, MPI_Dist_graph_neighbors_count(comm(c), sources, destinations, weighted));
}

void mpi_dist_graph_neighbors_(MPI_Fint* c, MPI_Fint* mostSources, MPI_Fint* sources,
                               MPI_Fint* sourceWeights, MPI_Fint* mostDestinations,
                               MPI_Fint* destinations, MPI_Fint* destinationWeights,
                               MPI_Fint* ierror) {
  give(ierror,
       MPI_Dist_graph_neighbors(comm(c), *mostSources, sources, weights(sourceWeights),
                                *mostDestinations, destinations, weights(destinationWeights)));
}

RONDO_FORTRAN_NAMES(graph_create, GRAPH_CREATE)
RONDO_FORTRAN_F08(graph_create)
RONDO_FORTRAN_NAMES(dist_graph_create, DIST_GRAPH_CREATE)
RONDO_FORTRAN_F08(dist_graph_create)
RONDO_FORTRAN_NAMES(dist_graph_create_adjacent, DIST_GRAPH_CREATE_ADJACENT)
RONDO_FORTRAN_F08(dist_graph_create_adjacent)
RONDO_FORTRAN_NAMES(topo_test, TOPO_TEST)
RONDO_FORTRAN_NAMES(cartdim_get, CARTDIM_GET)
RONDO_FORTRAN_NAMES(cart_get, CART_GET)
RONDO_FORTRAN_F08(cart_get)
RONDO_FORTRAN_NAMES(cart_coords, CART_COORDS)
RONDO_FORTRAN_NAMES(cart_rank, CART_RANK)
RONDO_FORTRAN_NAMES(cart_shift, CART_SHIFT)
RONDO_FORTRAN_NAMES(cart_map, CART_MAP)
RONDO_FORTRAN_F08(cart_map)
RONDO_FORTRAN_NAMES(graph_map, GRAPH_MAP)
RONDO_FORTRAN_NAMES(graphdims_get, GRAPHDIMS_GET)
RONDO_FORTRAN_NAMES(graph_get, GRAPH_GET)
RONDO_FORTRAN_NAMES(graph_neighbors_count, GRAPH_NEIGHBORS_COUNT)
RONDO_FORTRAN_NAMES(graph_neighbors, GRAPH_NEIGHBORS)
RONDO_FORTRAN_NAMES(dist_graph_neighbors_count, DIST_GRAPH_NEIGHBORS_COUNT)
RONDO_FORTRAN_F08(dist_graph_neighbors_count)
RONDO_FORTRAN_NAMES(dist_graph_neighbors, DIST_GRAPH_NEIGHBORS)

}  // extern "C"
#pragma GCC visibility pop

#endif
