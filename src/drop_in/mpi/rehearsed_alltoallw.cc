// An all-to-all of a rehearsal whose blocks have types of their own: the sends and receives that it
// consists of, as programs mostly exchange with few ranks by it.

#include <algorithm>
#include <string>

#include "drop_in/mpi/counts.h"
#include "drop_in/mpi/failure.h"
#include "drop_in/mpi/rehearsed_calls.h"

namespace rondo::drop_in {
namespace {

bool isWhole(const PassedBuffer& of, int ranks) {
  return of.types != nullptr && of.displs != nullptr && countsAreGood(of.counts, ranks) &&
         std::all_of(of.types, of.types + ranks,
                     [](MPI_Datatype type) { return type != MPI_DATATYPE_NULL; });
}

long long bytesOf(const PassedBuffer& of, int rank) {
  MPI_Count size = 0;
  PMPI_Type_size_x(of.types[rank], &size);
  return static_cast<long long>(of.counts[rank]) * size;
}

char* blockOf(const PassedBuffer& of, int rank) {
  return static_cast<char*>(const_cast<void*>(of.buffer)) + of.displs[rank];
}

/// MPI's one process can do it.
int keepOwn(MPI_Comm comm, const char* call, int rank, const PassedBuffer& send,
            const PassedBuffer& recv) {
  if (bytesOf(send, rank) != bytesOf(recv, rank)) {
    return raise(comm, rondoInvalidArgument,
                 std::string(call) + ": this rank sends " + std::to_string(bytesOf(send, rank)) +
                     " bytes to itself and receives " + std::to_string(bytesOf(recv, rank)) +
                     "; allowed: the same number");
  }
  return MPI_Sendrecv(blockOf(send, rank), send.counts[rank], send.types[rank], 0, 0,
                      blockOf(recv, rank), recv.counts[rank], recv.types[rank], 0, 0, MPI_COMM_SELF,
                      MPI_STATUS_IGNORE);
}

}  // namespace

int noteAlltoallw(const KnownComm& known, MPI_Comm comm, const char* call, const PassedBuffer& send,
                  const PassedBuffer& recv) {
  const bool inPlace = send.buffer == MPI_IN_PLACE;
  const PassedBuffer& sent = inPlace ? recv : send;
  if (!isWhole(sent, known.size) || !isWhole(recv, known.size)) {
    return raise(
        comm, rondoInvalidArgument,
        std::string(call) + ": counts, places or types of blocks are none, or a count is negative");
  }
  if (!inPlace) {
    if (const int code = keepOwn(comm, call, known.rank, send, recv)) return code;
  }
  // Each begins with the next rank, so that not all call on the first at once.
  for (int i = 1; i < known.size; ++i) {
    const int to = (known.rank + i) % known.size;
    const int from = (known.rank - i + known.size) % known.size;
    for (const bool sends : {true, false}) {
      const PassedBuffer& of = sends ? sent : recv;
      const int peer = sends ? to : from;
      if (bytesOf(of, peer) == 0) continue;
      const Message block{of.counts[peer], of.types[peer], peer, 0};
      if (const int code = noteTransfer(known, comm, call, block, sends)) return code;
    }
  }
  return MPI_SUCCESS;
}

}  // namespace rondo::drop_in
