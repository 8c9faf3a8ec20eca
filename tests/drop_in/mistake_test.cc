// Mistakes that MPI does not look for, with MPI_ERRORS_RETURN: every rank gets an error whose text
// says what was wrong, and none hangs.
// Usage: mpirun -n N -x LD_PRELOAD=... mistake_test

#include <vector>

#include "drop_in/check.h"

using namespace drop_in_test;

namespace {

/// A duplicate of MPI_COMM_WORLD that returns errors.
MPI_Comm tolerant() {
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN);
  return dup;
}

/// Rank 0's mistake came to `code` on every rank; rank 0 is told `what`.
void expectError(int code, const char* call, const char* what) {
  int errorClass = MPI_SUCCESS, length = 0;
  char said[MPI_MAX_ERROR_STRING] = "nothing";
  if (code != MPI_SUCCESS) {
    MPI_Error_class(code, &errorClass);
    MPI_Error_string(code, said, &length);
  }
  const std::string sentence = std::string(call) + " said: " + said;
  expect(std::strstr(said, call) == said, sentence);
  expect(errorClass == (rank == 0 ? MPI_ERR_ARG : MPI_ERR_OTHER), "class; " + sentence);
  expect(std::strstr(said, rank == 0 ? what : "rank 0 aborted") != nullptr, sentence);
}

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv);
  std::vector<int> in(8, rank), out(static_cast<size_t>(ranks) * 8);

  MPI_Comm comm = tolerant();
  // One int where it must be four.
  expectError(MPI_Allgather(in.data(), rank == 0 ? 1 : 4, MPI_INT, out.data(), 4, MPI_INT, comm),
              "MPI_Allgather: ", "blocks of 4 bytes");
  expect(MPI_Barrier(comm) != MPI_SUCCESS, "the communicator is of no more use");
  MPI_Comm_free(&comm);

  comm = tolerant();
  // The second half of the input is the first half of the output.
  expectError(MPI_Allreduce(rank == 0 ? out.data() : in.data(), out.data() + (rank == 0 ? 2 : 0), 4,
                            MPI_INT, MPI_SUM, comm),
              "MPI_Allreduce: ", "overlap");
  MPI_Comm_free(&comm);

  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(sum == ranks * (ranks - 1) / 2, "other communicators are of use");
  return finish();
}
