// The programs of OSU's manner on neighbours: osu_neighbor_allgather, ..., osu_ineighbor_alltoallw,
// each on a grid, which ends at its first dimension's edges, and on a graph, a ring with a chord.

#include <functional>

#include "drop_in/osu_pattern.h"

namespace drop_in_test {
namespace {

struct Neighbours {
  MPI_Comm comm = MPI_COMM_NULL;
  std::vector<int> from, to;  ///< MPI_PROC_NULL: beyond the edge.
};

Neighbours onGrid() {
  int dims[2] = {0, 0};
  const int periods[2] = {0, 1};
  MPI_Dims_create(ranks, 2, dims);
  Neighbours grid;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid.comm);
  for (int dimension = 0; dimension < 2; ++dimension) {
    int before = 0, after = 0;
    MPI_Cart_shift(grid.comm, dimension, 1, &before, &after);
    for (const int each : {before, after}) {
      grid.from.push_back(each);
      grid.to.push_back(each);
    }
  }
  return grid;
}

/// To the next rank and to the one after it.
Neighbours onGraph() {
  Neighbours graph;
  for (int step = 1; step <= 2; ++step) {
    graph.to.push_back((rank + step) % ranks);
    graph.from.push_back((rank + 2 * ranks - step) % ranks);
  }
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, graph.from.data(), MPI_UNWEIGHTED, 2,
                                 graph.to.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph.comm);
  return graph;
}

/// One call on blocks of `count` elements.
class Exchange {
 public:
  Exchange(const Neighbours& neighbours, const std::string& call, bool later)
      : near_(neighbours),
        each_(call != "allgather" && call != "allgatherv"),
        call_(call),
        later_(later),
        inBytes_(near_.to.size() * options.most),
        outBytes_(near_.from.size() * options.most),
        in_(options.device, inBytes_),
        out_(options.device, outBytes_) {}

  /// Values wrong in what this rank received.
  int round(int count, int number) {
    const auto n = static_cast<size_t>(count);
    std::fill(out_.host(), out_.host() + outBytes_, kBefore);
    for (size_t b = 0; b < (each_ ? near_.to.size() : 1); ++b) {
      for (size_t i = 0; i < n; ++i) {
        put(in_.host(), b * n + i, valueOf(rank, each_ ? near_.to[b] : 0, i, number));
      }
    }
    in_.up(inBytes_);
    out_.up(outBytes_);
    seconds_ -= MPI_Wtime();
    run(count);
    seconds_ += MPI_Wtime();
    out_.down(outBytes_);
    int wrong = 0;
    for (size_t b = 0; b < near_.from.size(); ++b) {
      const int from = near_.from[b];
      for (size_t i = 0; from != MPI_PROC_NULL && i < n; ++i) {
        wrong += get(out_.host(), b * n + i) != valueOf(from, each_ ? rank : 0, i, number);
      }
      if (from == MPI_PROC_NULL)
        wrong += !untouched(b * n * typeBytes(), (b + 1) * n * typeBytes());
    }
    return wrong + !untouched(near_.from.size() * n * typeBytes(), outBytes_);
  }
  double seconds() const { return seconds_; }

 private:
  static constexpr char kBefore = '\x63';
  bool untouched(size_t begin, size_t end) {
    return std::all_of(out_.host() + begin, out_.host() + end,
                       [](char one) { return one == kBefore; });
  }

  void run(int n) {
    MPI_Request request = MPI_REQUEST_NULL;
    const size_t most = std::max(near_.from.size(), near_.to.size());
    const int bytes = asInt(typeBytes());
    const std::vector<int> counts(most, n);
    const std::vector<MPI_Datatype> types(most, options.type);
    std::vector<int> at(most);
    std::vector<MPI_Aint> atBytes(most);
    for (size_t b = 0; b < most; ++b) atBytes[b] = (at[b] = asInt(b) * n) * bytes;
    const auto type = options.type;
    const auto comm = near_.comm;
    const void* const in = in_.data();
    void* const out = out_.data();
    if (call_ == "allgather") {
      later_ ? MPI_Ineighbor_allgather(in, n, type, out, n, type, comm, &request)
             : MPI_Neighbor_allgather(in, n, type, out, n, type, comm);
    } else if (call_ == "allgatherv") {
      later_ ? MPI_Ineighbor_allgatherv(in, n, type, out, counts.data(), at.data(), type, comm,
                                        &request)
             : MPI_Neighbor_allgatherv(in, n, type, out, counts.data(), at.data(), type, comm);
    } else if (call_ == "alltoall") {
      later_ ? MPI_Ineighbor_alltoall(in, n, type, out, n, type, comm, &request)
             : MPI_Neighbor_alltoall(in, n, type, out, n, type, comm);
    } else if (call_ == "alltoallv") {
      later_ ? MPI_Ineighbor_alltoallv(in, counts.data(), at.data(), type, out, counts.data(),
                                       at.data(), type, comm, &request)
             : MPI_Neighbor_alltoallv(in, counts.data(), at.data(), type, out, counts.data(),
                                      at.data(), type, comm);
    } else {
      later_ ? MPI_Ineighbor_alltoallw(in, counts.data(), atBytes.data(), types.data(), out,
                                       counts.data(), atBytes.data(), types.data(), comm, &request)
             : MPI_Neighbor_alltoallw(in, counts.data(), atBytes.data(), types.data(), out,
                                      counts.data(), atBytes.data(), types.data(), comm);
    }
    if (later_) MPI_Wait(&request, MPI_STATUS_IGNORE);
  }

  const Neighbours& near_;
  const bool each_;  ///< A block of its own to each neighbour.
  const std::string call_;
  const bool later_;
  const size_t inBytes_, outBytes_;
  Area in_, out_;
  double seconds_ = 0;
};

bool measure(const Neighbours& neighbours, const std::string& call, bool later, size_t bytes) {
  Exchange exchange(neighbours, call, later);
  setRounds(bytes, 1000, 100, 200, 10);
  int wrong = 0, all = 0;
  for (int i = 0; i < rounds + skip; ++i) {
    for (int j = 0; options.checks && j < options.before; ++j) MPI_Barrier(neighbours.comm);
    wrong += exchange.round(asInt(bytes / typeBytes()), i);
    MPI_Barrier(neighbours.comm);
  }
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, neighbours.comm);
  const double mean = exchange.seconds() / (rounds + skip);
  double sum = 0;
  MPI_Reduce(&mean, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, neighbours.comm);
  if (rank == 0) {
    std::printf("%-10zu%14.2f%14s\n", bytes, sum / ranks * 1e6, all == 0 ? "Pass" : "Fail");
  }
  return all == 0;
}

/// "allgather" of "ineighbor_allgather"; empty: there is no such program.
std::string callOf(const std::string& name) {
  const size_t at = name.find("neighbor_");
  const std::string call = at > 1 ? "" : name.substr(at + 9);
  for (const char* known : {"allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"}) {
    if (call == known && (at == 0 || name[0] == 'i')) return call;
  }
  return "";
}

}  // namespace

bool isOfNeighbours(const std::string& name) { return !callOf(name).empty(); }

bool runNeighbours(const std::string& name) {
  bool right = true;
  for (Neighbours neighbours : {onGrid(), onGraph()}) {
    right &= everySize(
        [&](size_t bytes) { return measure(neighbours, callOf(name), name[0] == 'i', bytes); });
    MPI_Comm_free(&neighbours.comm);
  }
  return right;
}

}  // namespace drop_in_test
