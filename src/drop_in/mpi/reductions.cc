// MPI's blocking reductions. MPI makes count, type, operator and root equal on all ranks, so they
// may decide; MPI_IN_PLACE is this rank's own business.

#include <mpi.h>

#include <cstring>
#include <memory>

#include "drop_in/mpi/attempt.h"
#include "drop_in/mpi/counts.h"
#include "drop_in/mpi/types.h"

using namespace rondo;
using namespace rondo::drop_in;

namespace {

/// Opens the call to Rondo if it knows type and operator and nothing is wrong.
bool openReduction(Attempt& call, bool good, MPI_Datatype type, MPI_Op op, Reduction* how) {
  if (!call.need(good, Why::Arguments)) return false;
  *how = reductionOf(type, op);
  return call.need(how->why == Why::Taken, how->why);
}

const void* inputOf(const void* sendbuf, const void* recvbuf) {
  return sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
}

}  // namespace

int MPI_Allreduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  Attempt call(Call::Allreduce, comm);
  Reduction how;
  if (!openReduction(call, count >= 0 && recvbuf != MPI_IN_PLACE, type, op, &how)) {
    return call.passed(PMPI_Allreduce(sendbuf, recvbuf, count, type, op, comm));
  }
  return call.taken([&] {
    return rondoAllReduce(inputOf(sendbuf, recvbuf), recvbuf, count, how.type, how.op, call.rondo(),
                          nullptr);
  });
}

int MPI_Reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
               int root, MPI_Comm comm) {
  Attempt call(Call::Reduce, comm);
  Reduction how;
  const void* significant = call.isRoot(root) ? recvbuf : sendbuf;
  if (!openReduction(call, count >= 0 && call.hasRank(root) && significant != MPI_IN_PLACE, type,
                     op, &how)) {
    return call.passed(PMPI_Reduce(sendbuf, recvbuf, count, type, op, root, comm));
  }
  return call.taken([&] {
    return rondoReduce(inputOf(sendbuf, recvbuf), recvbuf, count, how.type, how.op, root,
                       call.rondo(), nullptr);
  });
}

int MPI_Scan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
             MPI_Comm comm) {
  Attempt call(Call::Scan, comm);
  Reduction how;
  if (!openReduction(call, count >= 0 && recvbuf != MPI_IN_PLACE, type, op, &how)) {
    return call.passed(PMPI_Scan(sendbuf, recvbuf, count, type, op, comm));
  }
  return call.taken([&] {
    return rondoScan(inputOf(sendbuf, recvbuf), recvbuf, count, how.type, how.op, call.rondo(),
                     nullptr);
  });
}

int MPI_Exscan(const void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm) {
  Attempt call(Call::Exscan, comm);
  Reduction how;
  if (!openReduction(call, count >= 0 && recvbuf != MPI_IN_PLACE, type, op, &how)) {
    return call.passed(PMPI_Exscan(sendbuf, recvbuf, count, type, op, comm));
  }
  return call.taken([&] {
    return rondoExscan(inputOf(sendbuf, recvbuf), recvbuf, count, how.type, how.op, call.rondo(),
                       nullptr);
  });
}

// In place, MPI reads the whole vector from recvbuf and puts this rank's block to its begin, where
// rank 0's part of the input may still be read: the block is made elsewhere.
int MPI_Reduce_scatter_block(const void* sendbuf, void* recvbuf, int recvcount, MPI_Datatype type,
                             MPI_Op op, MPI_Comm comm) {
  Attempt call(Call::ReduceScatterBlock, comm);
  Reduction how;
  if (!openReduction(call, recvcount >= 0 && recvbuf != MPI_IN_PLACE, type, op, &how)) {
    return call.passed(PMPI_Reduce_scatter_block(sendbuf, recvbuf, recvcount, type, op, comm));
  }
  return call.taken([&] {
    if (sendbuf != MPI_IN_PLACE) {
      return rondoReduceScatter(sendbuf, recvbuf, recvcount, how.type, how.op, call.rondo(),
                                nullptr);
    }
    const size_t bytes = recvcount * how.size;
    const auto block = std::make_unique_for_overwrite<char[]>(bytes + 1);
    const rondoResult_t result = rondoReduceScatter(recvbuf, block.get(), recvcount, how.type,
                                                    how.op, call.rondo(), nullptr);
    if (result == rondoSuccess && bytes > 0) std::memcpy(recvbuf, block.get(), bytes);
    return result;
  });
}

int MPI_Reduce_scatter(const void* sendbuf, void* recvbuf, const int recvcounts[],
                       MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  Attempt call(Call::ReduceScatter, comm);
  Reduction how;
  if (!openReduction(call, countsAreGood(recvcounts, call.size()) && recvbuf != MPI_IN_PLACE, type,
                     op, &how)) {
    return call.passed(PMPI_Reduce_scatter(sendbuf, recvbuf, recvcounts, type, op, comm));
  }
  return call.taken([&] {
    const Counts counts(recvcounts, call.size(), 1);
    if (sendbuf != MPI_IN_PLACE) {
      return rondoReduceScatterV(sendbuf, recvbuf, counts.data(), how.type, how.op, call.rondo(),
                                 nullptr);
    }
    const size_t bytes = counts[call.rank()] * how.size;
    const auto block = std::make_unique_for_overwrite<char[]>(bytes + 1);
    const rondoResult_t result = rondoReduceScatterV(recvbuf, block.get(), counts.data(), how.type,
                                                     how.op, call.rondo(), nullptr);
    if (result == rondoSuccess && bytes > 0) std::memcpy(recvbuf, block.get(), bytes);
    return result;
  });
}

int MPI_Barrier(MPI_Comm comm) {
  Attempt call(Call::Barrier, comm);
  if (!call.open()) return call.passed(PMPI_Barrier(comm));
  return call.taken([&] { return rondoBarrier(call.rondo(), nullptr); });
}
