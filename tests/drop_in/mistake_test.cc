// Mistakes that MPI does not look for, with MPI_ERRORS_RETURN: every rank gets an error whose text
// says what was wrong, and none hangs.
// Usage: mpirun -n N -x LD_PRELOAD=... mistake_test [mpis]; with an argument MPI is the quicker
// one.

#include <vector>

#include "drop_in/check.h"

using namespace drop_in_test;

namespace {

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

/// Rank 0 is told by the call, the others when they wait; the sum that was begun before is done.
void later(std::vector<int>& in, std::vector<int>& out) {
  for (const bool several : {false, true}) {
    MPI_Comm comm = duplicate();
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[3];
    int early = 0, far = -1;
    MPI_Iallreduce(&rank, &early, 1, MPI_INT, MPI_SUM, comm, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    expect(early == ranks * (ranks - 1) / 2, "a sum before a mistake");
    const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    MPI_Irecv(&far, 1, MPI_INT, before, 1, comm, &requests[2]);
    MPI_Send(&rank, 1, MPI_INT, next, 1, comm);
    // The others have called when rank 0 does.
    if (rank == 0) PMPI_Barrier(MPI_COMM_WORLD);
    int code = MPI_Iallgather(in.data(), rank == 0 ? 1 : 4, MPI_INT, out.data(), 4, MPI_INT, comm,
                              &requests[1]);
    if (rank != 0) PMPI_Barrier(MPI_COMM_WORLD);
    expect((code != MPI_SUCCESS) == (rank == 0), "who is told at the call");
    if (several) {
      const int all = MPI_Waitall(3, requests, statuses);
      expect(all == (rank == 0 ? MPI_SUCCESS : MPI_ERR_IN_STATUS), "what Waitall says");
      if (rank != 0) code = statuses[1].MPI_ERROR;
      if (rank != 0) expect(statuses[2].MPI_ERROR == MPI_SUCCESS, "the message's status");
    } else {
      if (rank != 0) code = MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
      MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
    }
    expectError(code, "MPI_Iallgather: ", "blocks of 4 bytes");
    expect(far == before, "a message beside a mistake");
    expect(requests[1] == MPI_REQUEST_NULL && requests[2] == MPI_REQUEST_NULL, "requests are gone");
    MPI_Comm_free(&comm);
  }
}

int handled = 0, handledCode = MPI_SUCCESS;
MPI_Comm handledOn = MPI_COMM_NULL;
void handle(MPI_Comm* comm, int* code, ...) {
  ++handled;
  handledCode = *code;
  handledOn = *comm;
}

/// The program's own error handler is called, once, with the code that the call returns.
void ownHandler(std::vector<int>& in, std::vector<int>& out) {
  MPI_Comm comm = duplicate();
  MPI_Errhandler own;
  MPI_Comm_create_errhandler(handle, &own);
  MPI_Comm_set_errhandler(comm, own);
  const int code =
      MPI_Allgather(in.data(), rank == 0 ? 1 : 4, MPI_INT, out.data(), 4, MPI_INT, comm);
  expectError(code, "MPI_Allgather: ", "blocks of 4 bytes");
  expect(handled == 1 && handledCode == code && handledOn == comm, "the program's error handler");
  MPI_Errhandler_free(&own);
  MPI_Comm_free(&comm);
}

/// A type that was not committed is MPI's to refuse: on the program's communicator, whose errors
/// return.
void uncommitted() {
  MPI_Comm comm = duplicate();
  std::vector<int> data(100, rank);
  for (const bool gaps : {false, true}) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(4, 1, gaps ? 2 : 1, MPI_INT, &type);
    expect(classOf(MPI_Bcast(data.data(), 2, type, 0, comm)) == MPI_ERR_TYPE, "not committed");
    MPI_Type_commit(&type);
    expect(MPI_Bcast(data.data(), 2, type, 0, comm) == MPI_SUCCESS, "committed then");
    expect(data[gaps ? 6 : 7] == 0, "what was broadcast");
    MPI_Type_free(&type);
  }
  MPI_Comm_free(&comm);
}

/// Who does a call was measured before the mistake: afterwards ranks go the same way as each other,
/// and wait for nobody. With `mpis`, calls that MPI was quicker at are right.
void afterMeasuring(bool mpis) {
  MPI_Comm comm = duplicate();
  std::vector<char> data(1000), in(8), out(static_cast<size_t>(ranks) * 8);
  for (int call = 0; call < 900; ++call) {
    MPI_Bcast(data.data(), 1000, MPI_CHAR, 0, comm);
    MPI_Request request;
    MPI_Ibcast(data.data(), 1000, MPI_CHAR, 0, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  expectError(MPI_Allgather(in.data(), rank == 0 ? 1 : 4, MPI_CHAR, out.data(), 4, MPI_CHAR, comm),
              "MPI_Allgather: ", "blocks of 1 bytes");
  int right = 0, least = 0, most = 0;
  for (int call = 0; call < 200; ++call) {
    data.back() = rank == 0 ? static_cast<char>(call) : '-';
    MPI_Request request;
    int code = MPI_SUCCESS;
    if (call % 2 == 0) {
      code = MPI_Bcast(data.data(), 1000, MPI_CHAR, 0, comm);
    } else {
      code = MPI_Ibcast(data.data(), 1000, MPI_CHAR, 0, comm, &request);
      if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (code != MPI_SUCCESS) continue;
    ++right;
    expect(data.back() == static_cast<char>(call), "a broadcast after a mistake");
  }
  PMPI_Allreduce(&right, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  PMPI_Allreduce(&right, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  expect(least == most, "ranks go the same way");
  expect(!mpis || least > 0, "what is MPI's stays so");
  MPI_Comm_free(&comm);
}

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv);
  afterMeasuring(argc > 1);
  if (argc > 1) return finish();
  std::vector<int> in(8, rank), out(static_cast<size_t>(ranks) * 8);

  MPI_Comm comm = duplicate();
  // One int where it must be four.
  expectError(MPI_Allgather(in.data(), rank == 0 ? 1 : 4, MPI_INT, out.data(), 4, MPI_INT, comm),
              "MPI_Allgather: ", "blocks of 4 bytes");
  expect(MPI_Barrier(comm) != MPI_SUCCESS, "the communicator is of no more use");
  MPI_Comm_free(&comm);

  comm = duplicate();
  // The second half of the input is the first half of the output.
  expectError(MPI_Allreduce(rank == 0 ? out.data() : in.data(), out.data() + (rank == 0 ? 2 : 0), 4,
                            MPI_INT, MPI_SUM, comm),
              "MPI_Allreduce: ", "overlap");
  MPI_Comm_free(&comm);

  ownHandler(in, out);
  later(in, out);
  uncommitted();

  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(sum == ranks * (ranks - 1) / 2, "other communicators are of use");
  return finish();
}
