// MPI_Finalize with non-blocking collectives that nobody waited for, and calls outside of what
// MPI_Init and MPI_Finalize enclose. Usage: mpirun -n N -x LD_PRELOAD=... finalize_test
// begun|lonely|before|after|self|late

#include <cstdlib>
#include <vector>

#include "drop_in/check.h"

using namespace drop_in_test;

namespace {

std::vector<double> given(100000, 1), got(given.size());
MPI_Request underWay = MPI_REQUEST_NULL;

/// Of an attribute of MPI_COMM_SELF: MPI is whole, and nobody has to be in MPI_Finalize yet.
int lastWords(MPI_Comm, int, void*, void*) {
  int word = 17, sum = 0;
  if (rank == 0) MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  MPI_Wait(&underWay, MPI_STATUS_IGNORE);
  expect(got.front() == ranks && got.back() == ranks, "what was begun before ends as ever");
  MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(sum == 17 * ranks, "a collective in MPI_Finalize");
  return MPI_SUCCESS;
}

int endBySelf() {
  int keyval = MPI_KEYVAL_INVALID, word = 0;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, lastWords, &keyval, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
  MPI_Comm_free_keyval(&keyval);
  MPI_Iallreduce(given.data(), got.data(), 100000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &underWay);
  if (rank == 1) {
    MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(word == 17, "the word of a rank that is in MPI_Finalize");
  }
  MPI_Finalize();
  return failures != 0;
}

/// Whose vectors the library keeps from call to call, and one that goes on by itself.
void variousCalls() {
  std::vector<int> counts(static_cast<size_t>(ranks)), displs(counts);
  int all = 0;
  for (int r = 0; r < ranks; ++r) {
    counts[static_cast<size_t>(r)] = 3 + r;
    displs[static_cast<size_t>(r)] = all;
    all += 3 + r;
  }
  std::vector<int> mine(static_cast<size_t>(3 + rank), rank), theirs(static_cast<size_t>(all), -1);
  MPI_Allgatherv(mine.data(), 3 + rank, MPI_INT, theirs.data(), counts.data(), displs.data(),
                 MPI_INT, MPI_COMM_WORLD);
  expect(theirs.front() == 0 && theirs.back() == ranks - 1, "a v-collective");
  MPI_Gatherv(mine.data(), 3 + rank, MPI_INT, theirs.data(), counts.data(), displs.data(), MPI_INT,
              0, MPI_COMM_WORLD);
  MPI_Iallreduce(given.data(), got.data(), 100000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &underWay);
  MPI_Wait(&underWay, MPI_STATUS_IGNORE);
  expect(got.front() == ranks && got.back() == ranks, "a non-blocking collective");
}

/// Ends behind the main thread's own objects, as exit handlers do.
struct Late {
  bool wanted = false;
  ~Late() {
    if (!wanted) return;
    variousCalls();
    MPI_Finalize();
    if (failures != 0) std::_Exit(1);
  }
};
Late late;

int endLate() {
  variousCalls();
  late.wanted = true;
  return 0;
}

}  // namespace

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
  if (what == "self") return endBySelf();
  if (what == "late") return endLate();
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
