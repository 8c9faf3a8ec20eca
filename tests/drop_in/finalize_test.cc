// MPI_Finalize with non-blocking collectives that nobody waited for, and calls outside of what
// MPI_Init and MPI_Finalize enclose. Usage: mpirun -n N -x LD_PRELOAD=... finalize_test
// begun|lonely|before|after

#include <vector>

#include "drop_in/check.h"

using namespace drop_in_test;

int main(int argc, char** argv) {
  if (argc < 2) return 1;
  const std::string what = argv[1];
  int one = 1, sum = 0;
  if (what == "before") return MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  start(&argc, &argv);
  if (what == "after") {
    MPI_Finalize();
    return MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  const bool lonely = what == "lonely";
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  std::vector<double> in(100000, 1), out(in.size());
  MPI_Request request;
  if (!lonely) {  // all ranks: it ends
    MPI_Iallreduce(in.data(), out.data(), 100000, MPI_DOUBLE, MPI_SUM, dup, &request);
    MPI_Comm_free(&dup);
  } else if (rank == 0) {  // nobody else: it cannot
    MPI_Ibarrier(dup, &request);
  }
  expect(true, "came here");
  return finish();
}
