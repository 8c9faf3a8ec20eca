// Collectives and messages on device buffers, on all ranks and on some, with the driver of
// fake_driver.cc: a touch of them by host code ends the program. Usage: mpirun -n N -x
// LD_PRELOAD=... -x RONDO_MPI=both device_test, libcuda.so.1 being the fake.

#include <dlfcn.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "drop_in/check.h"

using namespace drop_in_test;

namespace {

void* (*fakeAlloc)(size_t, void**);

/// Ints on the device, or on the host of ranks that `where` leaves out.
struct Ints {
  int* given;  ///< What MPI gets.
  int* real;   ///< What the test looks at.
  std::vector<int> host;
  Ints(bool device, size_t number, int value) {
    if (device) {
      void* behind = nullptr;
      given = static_cast<int*>(fakeAlloc(number * 4, &behind));
      real = static_cast<int*>(behind);
    } else {
      host.resize(number);
      given = real = host.data();
    }
    std::fill(real, real + number, value);
  }
  Ints(const Ints&) = delete;
};

size_t n() { return static_cast<size_t>(ranks); }
int sumOfRanks() { return ranks * (ranks - 1) / 2; }
bool all(const int* from, size_t number, int value) {
  return std::all_of(from, from + number, [value](int one) { return one == value; });
}

void wait(MPI_Request request) { MPI_Wait(&request, MPI_STATUS_IGNORE); }

void reductions(bool device) {
  constexpr int kCount = 3000;
  Ints in(device, kCount, rank), out(device, kCount, -1), wide(device, kCount * n(), rank);
  MPI_Allreduce(in.given, out.given, kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(all(out.real, kCount, sumOfRanks()), "allreduce");
  MPI_Request request;
  MPI_Iallreduce(MPI_IN_PLACE, out.given, kCount, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
  wait(request);
  expect(all(out.real, kCount, sumOfRanks()), "iallreduce in place");
  std::fill(out.real, out.real + kCount, -7);
  MPI_Reduce(in.given, rank == 0 ? out.given : nullptr, kCount, MPI_INT, MPI_SUM, 0,
             MPI_COMM_WORLD);
  expect(all(out.real, kCount, rank == 0 ? sumOfRanks() : -7), "reduce");
  std::fill(out.real, out.real + kCount, -7);
  MPI_Exscan(in.given, out.given, kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(all(out.real, kCount, rank == 0 ? -7 : rank * (rank - 1) / 2), "exscan");
  MPI_Reduce_scatter_block(wide.given, out.given, kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(all(out.real, kCount, sumOfRanks()), "reduce_scatter_block");
  std::vector<int> counts(n(), 2);
  MPI_Ireduce_scatter(MPI_IN_PLACE, wide.given, counts.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                      &request);
  wait(request);
  expect(all(wide.real, 2, sumOfRanks()), "ireduce_scatter in place");
  expect(all(wide.real + 2, 2, rank), "what a reduce_scatter in place leaves");
}

/// Blocks of `count` elements of `type`, which are ints `stride` apart.
void movements(bool device, MPI_Datatype type, int count, size_t stride) {
  const size_t ints = static_cast<size_t>(count) * stride;
  Ints mine(device, ints, rank), whole(device, ints * n(), -1);
  const auto right = [&](const int* at, int value) {
    for (size_t i = 0; i < ints; ++i) {
      if (at[i] != (i % stride == 0 ? value : -1)) return false;
    }
    return true;
  };
  MPI_Allgather(mine.given, count, type, whole.given, count, type, MPI_COMM_WORLD);
  for (int r = 0; r < ranks; ++r)
    expect(right(whole.real + ints * static_cast<size_t>(r), r), "allgather");
  MPI_Request request;
  const int root = ranks - 1;
  MPI_Ibcast(rank == root ? mine.given : whole.given, count, type, root, MPI_COMM_WORLD, &request);
  wait(request);
  if (rank != root) expect(right(whole.real, root), "ibcast");
  std::fill(whole.real, whole.real + ints * n(), -1);
  std::vector<int> counts(n(), count), displs(n());
  for (int r = 0; r < ranks; ++r) displs[static_cast<size_t>(r)] = (ranks - 1 - r) * count;
  MPI_Gatherv(mine.given, count, type, whole.given, counts.data(), displs.data(), type, 0,
              MPI_COMM_WORLD);
  for (int r = 0; rank == 0 && r < ranks; ++r) {
    expect(right(whole.real + ints * static_cast<size_t>(ranks - 1 - r), r), "gatherv");
  }
  std::fill(mine.real, mine.real + ints, -1);
  MPI_Scatterv(whole.given, counts.data(), displs.data(), type, mine.given, count, type, 0,
               MPI_COMM_WORLD);
  expect(right(mine.real, rank), "scatterv");
}

/// A receive of which MPI tells nothing any more, while `send` sends; any call may bring it in,
/// and a part of it at a time, so the program looks for the whole message (`whole`).
template <class Send, class Whole>
void freedReceive(Ints& in, MPI_Datatype type, int count, const Send& send, const Whole& whole) {
  const int before = (rank + ranks - 1) % ranks;
  MPI_Request request;
  MPI_Irecv(in.given, count, type, before, 6, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
  expect(request == MPI_REQUEST_NULL, "a freed request is null");
  send();
  const double end = MPI_Wtime() + 20;
  for (int flag = 0; !whole() && MPI_Wtime() < end;) {
    MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);  // MPI progresses
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Around a ring, by every call; `count` elements of ints `stride` apart.
void messages(bool device, MPI_Datatype type, int count, size_t stride) {
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  const size_t ints = static_cast<size_t>(count) * stride;
  Ints out(device, ints, rank), in(device, ints, -1);
  const auto whole = [&] {
    bool right = true;
    for (size_t i = 0; i < ints; ++i) right &= in.real[i] == (i % stride == 0 ? before : -1);
    return right;
  };
  const auto arrived = [&](const char* how) {
    expect(whole(), how);
    std::fill(in.real, in.real + ints, -1);
  };
  MPI_Status status, statuses[2];
  MPI_Request requests[2];
  int flag = 0, number = 0, index = -1;
  MPI_Sendrecv(out.given, count, type, next, 1, in.given, count, type, before, 1, MPI_COMM_WORLD,
               &status);
  arrived("sendrecv");
  MPI_Irecv(in.given, count, type, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Issend(out.given, count, type, next, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, statuses);
  MPI_Get_count(&statuses[0], type, &number);
  expect(statuses[0].MPI_SOURCE == before && number == count, "a status of irecv");
  arrived("irecv and issend");
  MPI_Irecv(in.given, count, type, before, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Send(out.given, count, type, next, 3, MPI_COMM_WORLD);
  while (!flag) MPI_Request_get_status(requests[0], &flag, &status);
  arrived("irecv, seen by get_status");
  MPI_Wait(&requests[0], &status);  // the buffer is the program's since it was told
  expect(all(in.real, ints, -1), "a wait after get_status writes nothing");
  MPI_Isend(out.given, count, type, next, 4, MPI_COMM_WORLD, &requests[0]);
  MPI_Probe(before, 4, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, type, &number);
  expect(number == count, "a count of probe");
  MPI_Recv(in.given, count, type, before, 4, MPI_COMM_WORLD, &status);
  arrived("recv");
  MPI_Waitany(1, requests, &index, &status);
  expect(index == 0, "waitany of a send");
  // A shorter message leaves the rest.
  MPI_Isend(out.given, 1, type, next, 5, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(in.given, count, type, before, 5, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  expect(in.real[0] == before && all(in.real + 1, ints - 1, -1), "a short message");
  std::fill(in.real, in.real + ints, -1);
  const auto send = [&] {
    MPI_Isend(out.given, count, type, next, 6, MPI_COMM_WORLD, &requests[0]);
    MPI_Request_free(&requests[0]);
  };
  freedReceive(in, type, count, send, whole);
  arrived("irecv whose request was freed");
}

/// What lies between the elements is not the buffer: the program may write there meanwhile, and
/// receive something else into it. Every third int is a neighbour's, for two of the three.
void between(bool device) {
  constexpr int kCount = 1000;
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  MPI_Datatype column, alone;
  MPI_Type_vector(kCount, 1, 3, MPI_INT, &column);
  MPI_Type_commit(&column);
  MPI_Type_create_resized(MPI_INT, 0, 12, &alone);
  MPI_Type_commit(&alone);
  Ints grid(device, 3 * kCount, -1), out(device, 2 * kCount, rank);
  std::fill(out.real + kCount, out.real + 2 * kCount, 100 + rank);
  const auto arrived = [&](const char* how) {
    bool right = true;
    for (size_t i = 0; i < 3 * kCount; i += 3) {
      right &= grid.real[i] == before && grid.real[i + 1] == 100 + before && grid.real[i + 2] == 7;
    }
    expect(right, how);
    std::fill(grid.real, grid.real + 3 * kCount, -1);
  };
  const auto meanwhile = [&] {
    for (size_t i = 2; i < 3 * kCount; i += 3) grid.real[i] = 7;
  };
  MPI_Request requests[4];
  MPI_Irecv(grid.given, 1, column, before, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(grid.given + 1, kCount, alone, before, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(out.given, kCount, MPI_INT, next, 1, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(out.given + kCount, kCount, MPI_INT, next, 2, MPI_COMM_WORLD, &requests[3]);
  meanwhile();
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  arrived("two receives into one array");

  MPI_Comm ring;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &next,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
  for (int half = 0; half < 2; ++half) {
    MPI_Ineighbor_alltoall(out.given + half * kCount, kCount, MPI_INT, grid.given + half,
                           half == 0 ? 1 : kCount, half == 0 ? column : alone, ring,
                           &requests[half]);
  }
  meanwhile();
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  arrived("two exchanges with neighbours into one array");
  MPI_Comm_free(&ring);

  const std::vector<int> zeros(n());
  std::vector<int> sends(n()), receives(n());
  const std::vector<MPI_Datatype> ints(n(), MPI_INT);
  std::vector<MPI_Datatype> types(n(), MPI_INT);
  sends[static_cast<size_t>(next)] = kCount;
  for (int half = 0; half < 2; ++half) {
    const auto from = static_cast<size_t>(before);
    receives[from] = half == 0 ? 1 : kCount;
    types[from] = half == 0 ? column : alone;
    MPI_Ialltoallw(out.given + half * kCount, sends.data(), zeros.data(), ints.data(),
                   grid.given + half, receives.data(), zeros.data(), types.data(), MPI_COMM_WORLD,
                   &requests[half]);
    meanwhile();
    MPI_Wait(&requests[half], MPI_STATUS_IGNORE);
  }
  arrived("blocks of their own types into one array");
  MPI_Type_free(&column);
  MPI_Type_free(&alone);
}

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv);
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver != nullptr) {
    fakeAlloc = reinterpret_cast<decltype(fakeAlloc)>(dlsym(driver, "fakeAlloc"));
  }
  if (fakeAlloc == nullptr) {
    std::printf("libcuda.so.1 is not the fake\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Datatype spread;
  MPI_Type_create_resized(MPI_INT, 0, 12, &spread);
  MPI_Type_commit(&spread);
  for (const bool everywhere : {true, false}) {
    const bool device = everywhere || rank == 0;  // where a buffer lies is a rank's own business
    reductions(device);
    movements(device, MPI_INT, 1000, 1);
    movements(device, spread, 1000, 3);
    messages(device, MPI_INT, 50, 1);
    messages(device, MPI_INT, 100000, 1);
    messages(device, spread, 20000, 3);
    between(device);
  }
  MPI_Type_free(&spread);
  const auto copies = reinterpret_cast<int (*)()>(dlsym(driver, "fakeCopies"));
  const auto lockings = reinterpret_cast<int (*)()>(dlsym(driver, "fakeLockings"));
  expect(copies() > 0, "there were copies");
  expect(lockings() > 0 && lockings() < copies() / 4, "pages are locked once and used again");
  return finish();
}
