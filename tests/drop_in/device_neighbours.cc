// Neighbourhood collectives with device buffers, blocking, not, and persistent: on a ring in which
// every rank hears from the one before it and from itself, and tells the next one and itself.

#include <array>
#include <functional>

#include "drop_in/device_calls.h"
#include "drop_in/persistent_names.h"

namespace drop_in_test {
namespace {

constexpr int kCount = 600;
constexpr size_t kBlock = kCount;

int before() { return (rank + ranks - 1) % ranks; }

/// What a rank sends in its `block`, or to all.
int value(int of, int block) { return 1000 * (of + 1) + block; }

/// The communicator and the two buffers of two blocks each.
struct Ring {
  MPI_Comm comm = MPI_COMM_NULL;
  Buffer<int> out, in;
  explicit Ring(bool device) : out(device, 2 * kBlock, 0), in(device, 2 * kBlock, -1) {
    const int next = (rank + 1) % ranks;
    const std::array<int, 2> from{before(), rank}, to{next, rank};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from.data(), MPI_UNWEIGHTED, 2, to.data(),
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  }
  Ring(const Ring&) = delete;
  ~Ring() { MPI_Comm_free(&comm); }
  void fill(int round) {
    std::vector<int> values(2 * kBlock);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = value(rank, static_cast<int>(i / kBlock)) + round;
    }
    out.write(values);
    in.fill(-1);
  }
  /// The blocks that came are the senders' first and second ones, or both the first.
  bool came(int round, bool differ) {
    const std::vector<int>& now = in.read();
    bool right = true;
    for (size_t i = 0; i < now.size(); ++i) {
      const int block = static_cast<int>(i / kBlock);
      right &= now[i] == value(block == 0 ? before() : rank, differ ? block : 0) + round;
    }
    return right;
  }
};

using Call = std::function<void(MPI_Request*)>;
/// A call in all its ways; where the MPI has no persistent one it makes no request.
struct Ways {
  const char* name;
  bool differ;
  Call now, later, again;
};

void inEveryWay(Ring& ring, const Ways& ways) {
  int round = 0;
  const auto check = [&](const char* how) {
    expect(ring.came(round++, ways.differ), std::string(ways.name) + how);
  };
  ring.fill(round);
  ways.now(nullptr);
  check("");
  MPI_Request request = MPI_REQUEST_NULL;
  ring.fill(round);
  ways.later(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check(", not blocking");
  ways.again(&request);
  if (request == MPI_REQUEST_NULL) return;
  for (int start = 0; start < 3; ++start) {
    ring.fill(round);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(", persistent");
  }
  MPI_Request_free(&request);
}

// What differs between them is their names.
#define RONDO_NOW(name, ...) [=](MPI_Request*) { MPI_Neighbor_##name(__VA_ARGS__, comm); }
#define RONDO_LATER(name, ...) \
  [=](MPI_Request* request) { MPI_Ineighbor_##name(__VA_ARGS__, comm, request); }
#if defined(INIT)
#define RONDO_AGAIN(name, ...) \
  [=](MPI_Request* request) { INIT(Neighbor_##name)(__VA_ARGS__, comm, MPI_INFO_NULL, request); }
#else
#define RONDO_AGAIN(...) [](MPI_Request*) {}
#endif
#define RONDO_WAYS(name, differ, ...)                                                        \
  Ways {                                                                                     \
    "neighbor_" #name, differ, RONDO_NOW(name, __VA_ARGS__), RONDO_LATER(name, __VA_ARGS__), \
        RONDO_AGAIN(name, __VA_ARGS__)                                                       \
  }

void everyCall(Ring& ring) {
  const MPI_Comm comm = ring.comm;
  void *const out = ring.out.data(), *const in = ring.in.data();
  constexpr int n = kCount;
  const std::array<int, 2> numbers{n, n}, displs{0, n};
  const std::array<MPI_Aint, 2> bytes{0, 4 * n};
  const std::array<MPI_Datatype, 2> all{MPI_INT, MPI_INT};
  const int *counts = numbers.data(), *at = displs.data();
  const MPI_Aint* const places = bytes.data();
  const MPI_Datatype* const types = all.data();
  const MPI_Datatype type = MPI_INT;
  inEveryWay(ring, RONDO_WAYS(allgather, false, out, n, type, in, n, type));
  inEveryWay(ring, RONDO_WAYS(allgatherv, false, out, n, type, in, counts, at, type));
  inEveryWay(ring, RONDO_WAYS(alltoall, true, out, n, type, in, n, type));
  inEveryWay(ring, RONDO_WAYS(alltoallv, true, out, counts, at, type, in, counts, at, type));
  inEveryWay(ring,
             RONDO_WAYS(alltoallw, true, out, counts, places, types, in, counts, places, types));
}

#undef RONDO_NOW
#undef RONDO_LATER
#undef RONDO_AGAIN
#undef RONDO_WAYS

}  // namespace

void neighbours(bool device) {
  Ring ring(device);
  everyCall(ring);
}

}  // namespace drop_in_test
