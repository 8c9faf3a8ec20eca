// A program that knows MPI only, rehearsed as rank 3 of 16 by RONDO_VIRTUAL. What it expects is
// what one process can be told: who is there, its own data where they belong, and a clock that goes
// on by predicted times.

#include <vector>

#include "drop_in/check.h"

using namespace drop_in_test;

namespace {

void collectives() {
  const std::vector<int> in{1, 2, 3, 4};
  std::vector<int> out(4, -1);
  MPI_Allreduce(in.data(), out.data(), 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(out == in, "a reduction is of this rank's own data");
  std::vector<int> all(16, -1);
  const int mine = 7;
  MPI_Allgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
  expect(all[3] == 7, "its own block is in its place");
  expect(all[0] == -1, "others' blocks are left alone");
  int word = 5;
  MPI_Bcast(&word, 1, MPI_INT, 15, MPI_COMM_WORLD);
  expect(word == 5, "what a root that is not there sends is left alone");
  MPI_Barrier(MPI_COMM_WORLD);
}

void messages() {
  std::vector<char> buffer(1 << 20, 'x');
  MPI_Status status;
  const int bytes = static_cast<int>(buffer.size());
  double start = MPI_Wtime();
  MPI_Recv(buffer.data(), bytes, MPI_CHAR, 11, 4, MPI_COMM_WORLD, &status);
  const double took = MPI_Wtime() - start;
  int count = 0;
  MPI_Get_count(&status, MPI_CHAR, &count);
  expect(status.MPI_SOURCE == 11 && status.MPI_TAG == 4 && count == bytes, "a receive's status");
  // 1 MiB over 10 GB/s is 105 us, whatever planning takes.
  expect(took > 100e-6 && took < 5e-3, "the clock goes on by a message's time");
  MPI_Send(buffer.data(), bytes, MPI_CHAR, 2, 4, MPI_COMM_WORLD);
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Irecv(buffer.data(), 100, MPI_CHAR, 2, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(buffer.data(), 200, MPI_CHAR, 4, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, statuses);
  MPI_Get_count(&statuses[0], MPI_CHAR, &count);
  expect(statuses[0].MPI_SOURCE == 2 && count == 100, "a request's status");
  MPI_Sendrecv(buffer.data(), 10, MPI_CHAR, 0, 0, buffer.data() + 50, 10, MPI_CHAR, MPI_PROC_NULL,
               0, MPI_COMM_WORLD, &status);
  expect(status.MPI_SOURCE == MPI_PROC_NULL, "nobody's status");
}

void communicators() {
  MPI_Comm twin = MPI_COMM_NULL, host = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &twin);
  int size = 0, place = 0;
  MPI_Comm_size(twin, &size);
  expect(size == 16, "a copy has as many ranks");
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &size);
  MPI_Comm_rank(host, &place);
  expect(size == 8 && place == 3, "the ranks of its host");
  MPI_Barrier(host);
  MPI_Barrier(twin);
  MPI_Comm_free(&twin);
  MPI_Comm_free(&host);
  MPI_Comm_size(MPI_COMM_SELF, &size);
  expect(size == 1, "MPI_COMM_SELF is this process");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm part = MPI_COMM_NULL, none = MPI_COMM_WORLD, pair = MPI_COMM_NULL;
  expect(MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &part) == MPI_SUCCESS,
         "MPI_Comm_split with the rule");
  if (part == MPI_COMM_NULL) return;
  MPI_Comm_size(part, &size);
  MPI_Comm_rank(part, &place);
  expect(size == 8 && place == 3, "the first eight ranks");
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, part);
  expect(sum == 1, "its own part of the sum");
  expect(MPI_Comm_split(MPI_COMM_WORLD, 5, 0, &pair) == MPI_SUCCESS, "a part again");
  MPI_Comm_free(&pair);
  expect(MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, &none) != MPI_SUCCESS,
         "a rank without a color, which the rule gives one");
  expect(MPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_EMPTY, 0, &none) != MPI_SUCCESS,
         "groups are refused");
  MPI_Comm_free(&part);
  char byte = 0;
  expect(MPI_Send(&byte, 1, MPI_CHAR, 16, 0, MPI_COMM_WORLD) != MPI_SUCCESS, "no rank 16");
}

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv);
  expect(rank == 3 && ranks == 16, "this is rank 3 of 16");
  if (rank == 3) {
    collectives();
    messages();
    communicators();
  }
  return finish();
}
