// All-reduces whose counts differ from call to call, beside those of one count, of Rondo and of
// MPI: what a program pays that never makes the same call twice. `make benchmarks/distinct_counts`,
// run it under mpirun.

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "api/rondo.h"
#include "api/rondo_mpi.h"

namespace {

constexpr int kCalls = 2000;

/// Mean microseconds of a call of call(count), count = base and, if `distinct`, so many more.
double meanOf(int base, bool distinct, const std::function<void(int)>& call) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < kCalls; ++i) call(base + (distinct ? i : 0));
  return (MPI_Wtime() - begin) / kCalls * 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  rondoComm_t comm = nullptr;
  if (rondoCommInitMPI(&comm, MPI_COMM_WORLD, nullptr) != rondoSuccess) {
    std::fprintf(stderr, "distinct_counts: %s\n", rondoGetLastError(nullptr));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  constexpr int kMost = 65536;
  std::vector<float> in(kMost + kCalls, 1), out(in.size());
  const auto rondo = [&](int count) {
    if (rondoAllReduce(in.data(), out.data(), static_cast<size_t>(count), rondoFloat32, rondoSum,
                       comm, nullptr) != rondoSuccess) {
      std::fprintf(stderr, "distinct_counts: %s\n", rondoGetLastError(comm));
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  };
  const auto mpi = [&](int count) {
    MPI_Allreduce(in.data(), out.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  };
  if (rank == 0) {
    std::printf("%d all-reduces of float32, us a call\n%8s %12s %12s %12s %12s %12s\n", kCalls,
                "count", "Rondo, new", "again", "one count", "MPI, new", "one count");
  }
  for (int base = 16; base <= kMost; base *= 16) {
    const double fresh = meanOf(base, true, rondo), again = meanOf(base, true, rondo);
    const double one = meanOf(base, false, rondo);
    const double theirs = meanOf(base, true, mpi), theirOne = meanOf(base, false, mpi);
    if (rank == 0) {
      std::printf("%8d %12.2f %12.2f %12.2f %12.2f %12.2f\n", base, fresh, again, one, theirs,
                  theirOne);
    }
  }
  rondoCommDestroy(comm);
  MPI_Finalize();
}
