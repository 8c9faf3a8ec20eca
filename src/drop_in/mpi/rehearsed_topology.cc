#include "drop_in/mpi/rehearsed_topology.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.h"
#include "drop_in/mpi/failure.h"
#include "drop_in/mpi/rehearsal.h"
#include "drop_in/mpi/rehearsed_members.h"

namespace rondo::drop_in {
namespace {

/// Its members are at `positions` of the parent's; all of it if there are as many.
int makeChild(const KnownComm& known, MPI_Comm comm, const std::string& rule,
              const std::vector<int>& positions, const Topology& topology, MPI_Comm* made) {
  const bool whole = static_cast<int>(positions.size()) == known.size;
  auto members = std::make_shared<const Members>(known.rehearsed.members->at(positions));
  return rehearsePart(
      known, comm,
      {whole ? "" : rule, {std::move(members), std::make_shared<const Topology>(topology)}}, made);
}

/// The first `count` ranks.
int makeFirst(const KnownComm& known, MPI_Comm comm, int count, const Topology& topology,
              MPI_Comm* made) {
  std::vector<int> first(static_cast<size_t>(count));
  std::iota(first.begin(), first.end(), 0);
  return makeChild(known, comm, format("(rank < %d) - 1", count), first, topology, made);
}

int refuse(MPI_Comm comm, int errorClass, const char* call, const std::string& what) {
  return raiseMistake(comm, errorClass, std::string(call) + ": " + what);
}

}  // namespace

int Topology::stride(int i) const {
  return std::accumulate(sizes.begin() + i + 1, sizes.end(), 1, std::multiplies<>());
}

int Topology::coordinate(int rank, int i) const {
  return rank / stride(i) % sizes[static_cast<size_t>(i)];
}

int Topology::shifted(int rank, int i, int by) const {
  const int size = sizes[static_cast<size_t>(i)];
  const int from = coordinate(rank, i);
  int to = from + by;
  if (periodic[static_cast<size_t>(i)] != 0) {
    to = (to % size + size) % size;
  } else if (to < 0 || to >= size) {
    return MPI_PROC_NULL;
  }
  return rank + (to - from) * stride(i);
}

Neighbours neighboursOf(const Topology& topology, int rank) {
  Neighbours out;
  if (topology.kind == MPI_DIST_GRAPH) return {topology.sources, topology.destinations};
  if (topology.kind == MPI_CART) {
    for (int i = 0; i < topology.dimensions(); ++i) {
      for (const int by : {-1, 1}) out.from.push_back(topology.shifted(rank, i, by));
    }
  } else if (topology.kind == MPI_GRAPH) {
    const auto node = static_cast<size_t>(rank);
    const int begin = node == 0 ? 0 : topology.index[node - 1];
    out.from.assign(topology.edges.begin() + begin, topology.edges.begin() + topology.index[node]);
  }
  out.to = out.from;
  return out;
}

int rehearseCart(const KnownComm& known, MPI_Comm comm, int dimensions, const int sizes[],
                 const int periods[], MPI_Comm* made) {
  const char* const call = "MPI_Cart_create";
  Topology grid;
  grid.kind = MPI_CART;
  if (dimensions < 0 || (dimensions > 0 && (sizes == nullptr || periods == nullptr))) {
    return refuse(comm, MPI_ERR_ARG, call, "no dimensions; allowed: 0 and more, with their arrays");
  }
  int64_t places = 1;
  for (int i = 0; i < dimensions && places <= known.size; ++i) {
    if (sizes[i] < 1) {
      return refuse(comm, MPI_ERR_DIMS, call,
                    format("dimension %d is %d; allowed: from 1", i, sizes[i]));
    }
    places *= sizes[i];
  }
  if (places > known.size) {
    return refuse(comm, MPI_ERR_ARG, call,
                  format("the grid has more places than the communicator's %d ranks", known.size));
  }
  grid.sizes.assign(sizes, sizes + dimensions);
  grid.periodic.assign(periods, periods + dimensions);
  return makeFirst(known, comm, static_cast<int>(places), grid, made);
}

int rehearseCartSub(const KnownComm& known, MPI_Comm comm, const int remain[], MPI_Comm* made) {
  const char* const call = "MPI_Cart_sub";
  const Topology* const grid = known.rehearsed.topology.get();
  if (grid == nullptr || grid->kind != MPI_CART) {
    return refuse(comm, MPI_ERR_TOPOLOGY, call, "the communicator has no grid");
  }
  if (remain == nullptr) return refuse(comm, MPI_ERR_ARG, call, "remain_dims is NULL");
  Topology part;
  part.kind = MPI_CART;
  // Ranks that are alike along the dimensions that are left out are a part.
  std::string rule = "0";
  std::vector<int> positions(static_cast<size_t>(known.size));
  std::iota(positions.begin(), positions.end(), 0);
  for (int i = 0; i < grid->dimensions(); ++i) {
    const auto dimension = static_cast<size_t>(i);
    if (remain[i] != 0) {
      part.sizes.push_back(grid->sizes[dimension]);
      part.periodic.push_back(grid->periodic[dimension]);
      continue;
    }
    const int size = grid->sizes[dimension], mine = grid->coordinate(known.rank, i);
    rule = format("(%s) * %d + rank / %d %% %d", rule.c_str(), size, grid->stride(i), size);
    std::erase_if(positions, [&](int rank) { return grid->coordinate(rank, i) != mine; });
  }
  return makeChild(known, comm, rule, positions, part, made);
}

int rehearseGraph(const KnownComm& known, MPI_Comm comm, int nodes, const int index[],
                  const int edges[], MPI_Comm* made) {
  const char* const call = "MPI_Graph_create";
  if (nodes < 0 || nodes > known.size || (nodes > 0 && index == nullptr)) {
    return refuse(comm, MPI_ERR_ARG, call,
                  format("%d nodes; allowed: 0 to %d, with their index", nodes, known.size));
  }
  Topology graph;
  graph.kind = MPI_GRAPH;
  graph.index.assign(index, index + nodes);
  const bool rises = std::is_sorted(graph.index.begin(), graph.index.end());
  const int ends = nodes > 0 ? graph.index.back() : 0;
  if (!rises || (nodes > 0 && graph.index.front() < 0) || (ends > 0 && edges == nullptr)) {
    return refuse(comm, MPI_ERR_ARG, call, "index does not rise from 0, or there are no edges");
  }
  graph.edges.assign(edges, edges + ends);
  for (const int edge : graph.edges) {
    if (edge >= 0 && edge < nodes) continue;
    return refuse(comm, MPI_ERR_ARG, call,
                  format("an edge leads to node %d; allowed: 0 to %d", edge, nodes - 1));
  }
  if (nodes == 0) {
    *made = MPI_COMM_NULL;
    return MPI_SUCCESS;
  }
  return makeFirst(known, comm, nodes, graph, made);
}

namespace {

/// What is wrong with the arguments, or ""; `errorClass` is what MPI calls it.
std::string wrongIn(const GivenEdges& given, int size, int* errorClass) {
  *errorClass = MPI_ERR_ARG;
  const bool absent = given.sources == nullptr || given.degrees == nullptr;
  if (given.number < 0 || (given.number > 0 && absent)) {
    return format("n is %d; allowed: from 0, with sources and degrees", given.number);
  }
  int edges = 0;
  for (int i = 0; i < given.number; ++i) {
    if (given.degrees[i] < 0)
      return format("degree %d is %d; allowed: from 0", i, given.degrees[i]);
    edges += given.degrees[i];
  }
  if (edges > 0 && (given.destinations == nullptr || given.weights == nullptr)) {
    return "destinations or weights are NULL; allowed: one for each edge, or MPI_UNWEIGHTED";
  }
  *errorClass = MPI_ERR_RANK;
  const auto wrong = [size](int rank) { return rank < 0 || rank >= size; };
  for (const auto& [ranks, number] :
       {std::pair(given.sources, given.number), std::pair(given.destinations, edges)}) {
    const int* const bad = std::find_if(ranks, ranks + number, wrong);
    if (bad != ranks + number) {
      return format("an edge is of rank %d; allowed: 0 to %d", *bad, size - 1);
    }
  }
  return "";
}

/// Those of them that begin or end at `rank`.
Topology edgesOf(const GivenEdges& given, int rank) {
  Topology graph;
  graph.kind = MPI_DIST_GRAPH;
  graph.weighted = given.weights != MPI_UNWEIGHTED;
  for (int i = 0, edge = 0; i < given.number; ++i) {
    for (const int end = edge + given.degrees[i]; edge < end; ++edge) {
      const int weight = graph.weighted ? given.weights[edge] : 1;
      if (given.sources[i] == rank) {
        graph.destinations.push_back(given.destinations[edge]);
        graph.destinationWeights.push_back(weight);
      }
      if (given.destinations[edge] == rank) {
        graph.sources.push_back(given.sources[i]);
        graph.sourceWeights.push_back(weight);
      }
    }
  }
  return graph;
}

}  // namespace

int rehearseEdges(const KnownComm& known, MPI_Comm comm, const GivenEdges& given, MPI_Comm* made) {
  const char* const call = "MPI_Dist_graph_create";
  const OthersEdges others = othersEdges();
  if (others == OthersEdges::Unknown) return refuseChild(call, comm);
  int errorClass = MPI_SUCCESS;
  if (const std::string wrong = wrongIn(given, known.size, &errorClass); !wrong.empty()) {
    return refuse(comm, errorClass, call, wrong);
  }
  if (others == OthersEdges::Mirrored) {
    const int* const end = given.sources + given.number;
    const int* const foreign =
        std::find_if(given.sources, end, [&](int source) { return source != known.rank; });
    if (foreign != end) {
      return refuse(
          comm, MPI_ERR_ARG, call,
          format("an edge begins at rank %d; allowed with RONDO_VIRTUAL_GRAPH=mutual: %d, "
                 "the rank itself",
                 *foreign, known.rank));
    }
  }
  Topology graph = edgesOf(given, known.rank);
  if (others == OthersEdges::Mirrored) {
    graph.sources = graph.destinations;
    graph.sourceWeights = graph.destinationWeights;
  }
  return makeFirst(known, comm, known.size, graph, made);
}

int rehearseAdjacent(const KnownComm& known, MPI_Comm comm, const Adjacent& own, MPI_Comm* made) {
  const char* const call = "MPI_Dist_graph_create_adjacent";
  const int in = own.indegree, out = own.outdegree;
  if (in < 0 || out < 0 || (in > 0 && own.sources == nullptr) ||
      (out > 0 && own.destinations == nullptr)) {
    return refuse(comm, MPI_ERR_ARG, call, "a negative degree, or no neighbours for one");
  }
  Topology graph;
  graph.kind = MPI_DIST_GRAPH;
  graph.sources.assign(own.sources, own.sources + in);
  graph.destinations.assign(own.destinations, own.destinations + out);
  for (const std::vector<int>* ends : {&graph.sources, &graph.destinations}) {
    for (const int rank : *ends) {
      if (rank >= 0 && rank < known.size) continue;
      return refuse(comm, MPI_ERR_RANK, call,
                    format("a neighbour is rank %d; allowed: 0 to %d", rank, known.size - 1));
    }
  }
  graph.weighted = own.sourceWeights != MPI_UNWEIGHTED;
  if (graph.weighted && in > 0) {
    graph.sourceWeights.assign(own.sourceWeights, own.sourceWeights + in);
  }
  if (graph.weighted && out > 0) {
    graph.destinationWeights.assign(own.destinationWeights, own.destinationWeights + out);
  }
  return makeFirst(known, comm, known.size, graph, made);
}

}  // namespace rondo::drop_in
