#pragma once
// Cartesian and graph topologies of a rehearsal. MPI lets all ranks describe the same grid or
// graph, or each its own neighbours, so that this process knows what it needs.

#include <mpi.h>

#include <vector>

#include "drop_in/mpi/comms.h"

namespace rondo::drop_in {

struct Topology {
  int kind = MPI_UNDEFINED;          ///< MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH.
  std::vector<int> sizes, periodic;  ///< Of a grid, by dimension.
  std::vector<int> index, edges;     ///< Of a graph, as MPI_Graph_create has them.
  /// This rank's of a distributed graph.
  std::vector<int> sources, sourceWeights, destinations, destinationWeights;
  bool weighted = false;

  int dimensions() const { return static_cast<int>(sizes.size()); }
  /// Of `rank` along dimension `i`; the last one counts fastest.
  int coordinate(int rank, int i) const;
  /// Ranks that follow each other along dimension `i` are so far apart.
  int stride(int i) const;
  /// The rank `by` places on along dimension `i`; MPI_PROC_NULL: beyond the end.
  int shifted(int rank, int i, int by) const;
};

/// Whom a rank hears from and tells in neighbourhood collectives, in MPI's order.
struct Neighbours {
  std::vector<int> from, to;
};
Neighbours neighboursOf(const Topology& topology, int rank);

int rehearseCart(const KnownComm& known, MPI_Comm comm, int dimensions, const int sizes[],
                 const int periods[], MPI_Comm* made);
int rehearseCartSub(const KnownComm& known, MPI_Comm comm, const int remain[], MPI_Comm* made);
int rehearseGraph(const KnownComm& known, MPI_Comm comm, int nodes, const int index[],
                  const int edges[], MPI_Comm* made);
/// What a rank says of its own neighbours in MPI_Dist_graph_create_adjacent.
struct Adjacent {
  int indegree;
  const int *sources, *sourceWeights;
  int outdegree;
  const int *destinations, *destinationWeights;
};
/// What a rank says in MPI_Dist_graph_create, of whatever ranks.
struct GivenEdges {
  int number;
  const int *sources, *degrees, *destinations, *weights;
};
/// Where RONDO_VIRTUAL_GRAPH says what the others give.
int rehearseEdges(const KnownComm& known, MPI_Comm comm, const GivenEdges& given, MPI_Comm* made);
int rehearseAdjacent(const KnownComm& known, MPI_Comm comm, const Adjacent& own, MPI_Comm* made);

}  // namespace rondo::drop_in
