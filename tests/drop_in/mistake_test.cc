// Mistakes that MPI does not look for, with MPI_ERRORS_RETURN: every rank gets an error whose text
// says what was wrong, and none hangs.
// Usage: mpirun -n N -x LD_PRELOAD=... mistake_test

#include <vector>

#include "drop_in/check.h"

using namespace drop_in_test;

int main(int argc, char** argv) {
  start(&argc, &argv);
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN);
  std::vector<int> in(8, rank), out(static_cast<size_t>(ranks) * 8);
  // Rank 0 says one int where it must say four.
  const int code =
      MPI_Allgather(in.data(), rank == 0 ? 1 : 4, MPI_INT, out.data(), 4, MPI_INT, dup);
  expect(code != MPI_SUCCESS, "a block of another size is an error");
  int errorClass = MPI_SUCCESS, length = 0;
  char said[MPI_MAX_ERROR_STRING] = "";
  MPI_Error_class(code, &errorClass);
  MPI_Error_string(code, said, &length);
  expect(std::strstr(said, "MPI_Allgather: ") != nullptr,
         std::string("the sentence names the call: ") + said);
  if (rank == 0) {
    expect(errorClass == MPI_ERR_ARG, "rank 0 is told of its argument");
    expect(std::strstr(said, "blocks of 4 bytes") != nullptr,
           std::string("rank 0 is told: ") + said);
  } else {
    expect(errorClass == MPI_ERR_OTHER, "the others are told of rank 0");
  }
  expect(MPI_Barrier(dup) != MPI_SUCCESS, "the communicator is of no more use");
  MPI_Comm_free(&dup);
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(sum == ranks * (ranks - 1) / 2, "others are");
  return finish();
}
