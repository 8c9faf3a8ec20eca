// Collectives on device buffers, on all ranks and on some, with the driver of fake_driver.cc: a
// touch of them by host code ends the program. Usage: mpirun -n N -x LD_PRELOAD=... -x
// RONDO_MPI=both device_test, libcuda.so.1 being the fake.

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
  }
  MPI_Type_free(&spread);
  const auto copies = reinterpret_cast<int (*)()>(dlsym(driver, "fakeCopies"));
  expect(copies() > 0, "there were copies");
  return finish();
}
