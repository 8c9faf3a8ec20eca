// MPI's questions about topologies: MPI's to answer, but of rehearsed communicators, of which it
// knows one process only.

#include <mpi.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "drop_in/mpi/failure.h"
#include "drop_in/mpi/rehearsal.h"
#include "drop_in/mpi/rehearsed_topology.h"

using namespace rondo;
using namespace rondo::drop_in;

namespace {

/// A question about a topology of one kind; `answer` gets it and the communicator.
template <class Mpis, class Answer>
int ask(MPI_Comm comm, const char* call, int kind, const Mpis& mpis, const Answer& answer) {
  const KnownComm* known = rehearsed(comm);
  if (known == nullptr) [[likely]]
    return mpis();
  const Topology* const topology = known->rehearsed.topology.get();
  if (topology == nullptr || topology->kind != kind) {
    return raiseMistake(comm, MPI_ERR_TOPOLOGY,
                        std::string(call) + ": the communicator has no such topology");
  }
  return answer(*known, *topology);
}

/// As many as fit and are there.
void copy(const std::vector<int>& from, int most, int* to) {
  const auto fitting = std::min(from.size(), static_cast<size_t>(std::max(most, 0)));
  if (to != nullptr && to != MPI_UNWEIGHTED) std::copy_n(from.begin(), fitting, to);
}

int wrongRank(MPI_Comm comm, const char* call, int rank, int size) {
  return raiseMistake(comm, MPI_ERR_RANK,
                      format("%s: rank %d; allowed: 0 to %d", call, rank, size - 1));
}

/// The place of a rank that stays where it is.
int mapped(const KnownComm& known, int64_t places, MPI_Comm comm, const char* call, int* rank) {
  if (places > known.size) {
    return raiseMistake(comm, MPI_ERR_ARG, std::string(call) + ": more places than ranks");
  }
  *rank = known.rank < places ? known.rank : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

}  // namespace

int MPI_Topo_test(MPI_Comm comm, int* status) {
  const KnownComm* known = rehearsed(comm);
  if (known == nullptr) return PMPI_Topo_test(comm, status);
  const Topology* const topology = known->rehearsed.topology.get();
  *status = topology != nullptr ? topology->kind : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int MPI_Cartdim_get(MPI_Comm comm, int* dimensions) {
  return ask(
      comm, "MPI_Cartdim_get", MPI_CART, [&] { return PMPI_Cartdim_get(comm, dimensions); },
      [&](const KnownComm&, const Topology& grid) {
        *dimensions = grid.dimensions();
        return MPI_SUCCESS;
      });
}

int MPI_Cart_get(MPI_Comm comm, int most, int sizes[], int periods[], int coordinates[]) {
  return ask(
      comm, "MPI_Cart_get", MPI_CART,
      [&] { return PMPI_Cart_get(comm, most, sizes, periods, coordinates); },
      [&](const KnownComm& known, const Topology& grid) {
        copy(grid.sizes, most, sizes);
        copy(grid.periodic, most, periods);
        for (int i = 0; i < std::min(most, grid.dimensions()); ++i) {
          coordinates[i] = grid.coordinate(known.rank, i);
        }
        return MPI_SUCCESS;
      });
}

int MPI_Cart_coords(MPI_Comm comm, int rank, int most, int coordinates[]) {
  const char* const call = "MPI_Cart_coords";
  return ask(
      comm, call, MPI_CART, [&] { return PMPI_Cart_coords(comm, rank, most, coordinates); },
      [&](const KnownComm& known, const Topology& grid) {
        if (rank < 0 || rank >= known.size) return wrongRank(comm, call, rank, known.size);
        for (int i = 0; i < std::min(most, grid.dimensions()); ++i) {
          coordinates[i] = grid.coordinate(rank, i);
        }
        return MPI_SUCCESS;
      });
}

int MPI_Cart_rank(MPI_Comm comm, const int coordinates[], int* rank) {
  const char* const call = "MPI_Cart_rank";
  return ask(
      comm, call, MPI_CART, [&] { return PMPI_Cart_rank(comm, coordinates, rank); },
      [&](const KnownComm&, const Topology& grid) {
        int at = 0;
        for (int i = 0; i < grid.dimensions() && at != MPI_PROC_NULL; ++i) {
          at = grid.shifted(at, i, coordinates[i]);
        }
        if (at == MPI_PROC_NULL) {
          return raiseMistake(comm, MPI_ERR_ARG,
                              std::string(call) + ": coordinates beyond the end of a dimension");
        }
        *rank = at;
        return MPI_SUCCESS;
      });
}

int MPI_Cart_shift(MPI_Comm comm, int direction, int by, int* source, int* destination) {
  const char* const call = "MPI_Cart_shift";
  return ask(
      comm, call, MPI_CART,
      [&] { return PMPI_Cart_shift(comm, direction, by, source, destination); },
      [&](const KnownComm& known, const Topology& grid) {
        if (direction < 0 || direction >= grid.dimensions()) {
          return raiseMistake(comm, MPI_ERR_DIMS,
                              format("%s: dimension %d of %d", call, direction, grid.dimensions()));
        }
        *source = grid.shifted(known.rank, direction, -by);
        *destination = grid.shifted(known.rank, direction, by);
        return MPI_SUCCESS;
      });
}

int MPI_Cart_map(MPI_Comm comm, int dimensions, const int sizes[], const int periods[], int* rank) {
  const KnownComm* known = rehearsed(comm);
  if (known == nullptr) return PMPI_Cart_map(comm, dimensions, sizes, periods, rank);
  int64_t places = 1;
  for (int i = 0; i < dimensions && places <= known->size; ++i) places *= sizes[i];
  return mapped(*known, places, comm, "MPI_Cart_map", rank);
}

int MPI_Graph_map(MPI_Comm comm, int nodes, const int index[], const int edges[], int* rank) {
  const KnownComm* known = rehearsed(comm);
  if (known == nullptr) return PMPI_Graph_map(comm, nodes, index, edges, rank);
  return mapped(*known, nodes, comm, "MPI_Graph_map", rank);
}

int MPI_Graphdims_get(MPI_Comm comm, int* nodes, int* edges) {
  return ask(
      comm, "MPI_Graphdims_get", MPI_GRAPH, [&] { return PMPI_Graphdims_get(comm, nodes, edges); },
      [&](const KnownComm&, const Topology& graph) {
        *nodes = static_cast<int>(graph.index.size());
        *edges = static_cast<int>(graph.edges.size());
        return MPI_SUCCESS;
      });
}

int MPI_Graph_get(MPI_Comm comm, int mostIndex, int mostEdges, int index[], int edges[]) {
  return ask(
      comm, "MPI_Graph_get", MPI_GRAPH,
      [&] { return PMPI_Graph_get(comm, mostIndex, mostEdges, index, edges); },
      [&](const KnownComm&, const Topology& graph) {
        copy(graph.index, mostIndex, index);
        copy(graph.edges, mostEdges, edges);
        return MPI_SUCCESS;
      });
}

int MPI_Graph_neighbors_count(MPI_Comm comm, int rank, int* number) {
  const char* const call = "MPI_Graph_neighbors_count";
  return ask(
      comm, call, MPI_GRAPH, [&] { return PMPI_Graph_neighbors_count(comm, rank, number); },
      [&](const KnownComm& known, const Topology& graph) {
        if (rank < 0 || rank >= known.size) return wrongRank(comm, call, rank, known.size);
        *number = static_cast<int>(neighboursOf(graph, rank).to.size());
        return MPI_SUCCESS;
      });
}

int MPI_Graph_neighbors(MPI_Comm comm, int rank, int most, int neighbours[]) {
  const char* const call = "MPI_Graph_neighbors";
  return ask(
      comm, call, MPI_GRAPH, [&] { return PMPI_Graph_neighbors(comm, rank, most, neighbours); },
      [&](const KnownComm& known, const Topology& graph) {
        if (rank < 0 || rank >= known.size) return wrongRank(comm, call, rank, known.size);
        copy(neighboursOf(graph, rank).to, most, neighbours);
        return MPI_SUCCESS;
      });
}

int MPI_Dist_graph_neighbors_count(MPI_Comm comm, int* sources, int* destinations, int* weighted) {
  return ask(
      comm, "MPI_Dist_graph_neighbors_count", MPI_DIST_GRAPH,
      [&] { return PMPI_Dist_graph_neighbors_count(comm, sources, destinations, weighted); },
      [&](const KnownComm&, const Topology& graph) {
        *sources = static_cast<int>(graph.sources.size());
        *destinations = static_cast<int>(graph.destinations.size());
        *weighted = graph.weighted;
        return MPI_SUCCESS;
      });
}

int MPI_Dist_graph_neighbors(MPI_Comm comm, int mostSources, int sources[], int sourceWeights[],
                             int mostDestinations, int destinations[], int destinationWeights[]) {
  return ask(
      comm, "MPI_Dist_graph_neighbors", MPI_DIST_GRAPH,
      [&] {
        return PMPI_Dist_graph_neighbors(comm, mostSources, sources, sourceWeights,
                                         mostDestinations, destinations, destinationWeights);
      },
      [&](const KnownComm&, const Topology& graph) {
        copy(graph.sources, mostSources, sources);
        copy(graph.destinations, mostDestinations, destinations);
        copy(graph.sourceWeights, mostSources, sourceWeights);
        copy(graph.destinationWeights, mostDestinations, destinationWeights);
        return MPI_SUCCESS;
      });
}
