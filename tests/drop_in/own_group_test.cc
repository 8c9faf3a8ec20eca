// A program that calls MPI while it has a group of Rondo's open on the same thread: MPI's calls are
// done when they return, and the group still holds what it held. Rondo's functions are those that
// the layer brings.

#include <dlfcn.h>

#include <functional>
#include <vector>

#include "drop_in/check.h"

using namespace drop_in_test;

namespace {

using Open = int (*)();
Open groupStart = nullptr, groupEnd = nullptr;

/// `body` in two groups, one in the other.
void inGroups(const char* what, const std::function<void()>& body) {
  groupStart();
  groupStart();
  body();
  expect(groupEnd() == 0, std::string(what) + ": the inner group's end");
  expect(groupEnd() == 0, std::string(what) + ": the outer group's end");
  expect(groupEnd() != 0, std::string(what) + ": there is no third group");
}

int total() { return ranks * (ranks + 1) / 2; }

void blocking() {
  std::vector<int> in(3000, rank + 1), out(3000, -1);
  MPI_Allreduce(in.data(), out.data(), 3000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(out == std::vector<int>(3000, total()), "a sum at the return of MPI_Allreduce");
  int word = rank == 0 ? 7 : 0;
  MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
  expect(word == 7, "a word at the return of MPI_Bcast");
  MPI_Barrier(MPI_COMM_WORLD);
}

void later() {
  const std::vector<int> in(3000, rank + 1);
  std::vector<int> sum(3000, -1), all(3000 * static_cast<size_t>(ranks), -1);
  MPI_Request requests[2];
  MPI_Iallreduce(in.data(), sum.data(), 3000, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
  MPI_Iallgather(in.data(), 3000, MPI_INT, all.data(), 3000, MPI_INT, MPI_COMM_WORLD, &requests[1]);
  int done = 0;
  while (!done) MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  expect(sum == std::vector<int>(3000, total()), "a sum at the end of MPI_Test");
  expect(all.back() == ranks, "blocks at the return of MPI_Wait");
}

void communicators() {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
  int one = 1, members = 0, size = 0;
  MPI_Allreduce(&one, &members, 1, MPI_INT, MPI_SUM, half);
  MPI_Comm_size(half, &size);
  expect(members == size, "a sum of a communicator that the group saw made");
  MPI_Comm_free(&half);
}

/// A call begun before the group, ended in it.
void across() {
  const std::vector<int> in(3000, rank + 1);
  std::vector<int> sum(3000, -1);
  MPI_Request request;
  MPI_Iallreduce(in.data(), sum.data(), 3000, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  inGroups("across", [&] {
    MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    expect(sum == std::vector<int>(3000, total()), "a call from before the group");
  });
}

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv);
  groupStart = reinterpret_cast<Open>(dlsym(RTLD_DEFAULT, "rondoGroupStart"));
  groupEnd = reinterpret_cast<Open>(dlsym(RTLD_DEFAULT, "rondoGroupEnd"));
  expect(groupStart != nullptr && groupEnd != nullptr, "the layer brings Rondo");
  if (groupStart != nullptr && groupEnd != nullptr) {
    inGroups("blocking", blocking);
    inGroups("later", later);
    inGroups("communicators", communicators);
    across();
  }
  return finish();
}
