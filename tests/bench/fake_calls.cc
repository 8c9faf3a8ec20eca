// The stand-in's calls beyond the all-reduce. Every rank gathers all ranks' send buffers as bytes
// and takes from them what its call is to give: plain, and by another way than both Rondo and the
// benchmark's own tables. FAKE_RONDO_FAULT=shift gives each rank the right values one element late,
// "swap" the block of the next rank, "short" leaves the last element unwritten.

#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "../../benchmarks/rondo_bench/element_type.h"
#include "fake_rondo.h"

namespace {

using rondo::bench::ElementType;
using rondo::bench::findElementType;
using rondo::bench::loadElement;
using rondo::bench::storeElement;

using Bytes = std::vector<char>;
using Result = rondoResult_t;

size_t sizeOf(rondoDataType_t type) { return findElementType(type)->size; }

/// All ranks' buffers, which may differ in length.
std::vector<Bytes> gatherAll(const void* send, size_t bytes, const rondoComm& comm) {
  const int mine = static_cast<int>(bytes);
  std::vector<int> counts(static_cast<size_t>(comm.ranks));
  MPI_Allgather(&mine, 1, MPI_INT, counts.data(), 1, MPI_INT, comm.mpi);
  std::vector<int> displs(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), displs.begin(), 0);
  Bytes all(static_cast<size_t>(displs.back() + counts.back()));
  MPI_Allgatherv(send, mine, MPI_BYTE, all.data(), counts.data(), displs.data(), MPI_BYTE,
                 comm.mpi);
  std::vector<Bytes> result;
  for (size_t r = 0; r < counts.size(); ++r) {
    result.emplace_back(all.begin() + displs[r], all.begin() + displs[r] + counts[r]);
  }
  return result;
}

/// Writes `count` elements found at element `from` of `source`, as right as the fault has it.
void give(void* recv, size_t at, const Bytes& source, size_t from, size_t count, size_t size) {
  char* to = static_cast<char*>(recv) + at * size;
  if (fakeFault("short") && count > 0) --count;
  for (size_t i = 0; i < count; ++i) {
    size_t element = from + i;
    if (fakeFault("shift")) element = (element + 1) % (source.size() / size);
    std::memcpy(to + i * size, &source[element * size], size);
  }
}

/// The reduction of ranks [0, ranks) of `all`.
Bytes reduced(const std::vector<Bytes>& all, size_t ranks, rondoDataType_t datatype,
              rondoRedOp_t op) {
  const ElementType& type = *findElementType(datatype);
  Bytes result = all.front();
  for (size_t at = 0; at < result.size(); at += type.size) {
    double value = loadElement(type, &result[at]);
    for (size_t r = 1; r < ranks; ++r) {
      value = fakeCombine(op, value, loadElement(type, &all[r][at]));
    }
    if (op == rondoAvg) value /= static_cast<double>(ranks);
    storeElement(type, value, &result[at]);
  }
  return result;
}

size_t source(size_t rank, const rondoComm& comm) {
  return fakeFault("swap") ? (rank + 1) % static_cast<size_t>(comm.ranks) : rank;
}

std::vector<size_t> follow(const size_t* counts, size_t ranks) {
  std::vector<size_t> displs(ranks);
  std::exclusive_scan(counts, counts + ranks, displs.begin(), size_t{0});
  return displs;
}

size_t sum(const size_t* counts, size_t ranks) {
  return std::accumulate(counts, counts + ranks, size_t{0});
}

/// Gathers blocks; `recv` is null where a rank gets none.
void gatherBlocks(const void* send, size_t sendcount, void* recv, const size_t* counts,
                  const size_t* displs, rondoDataType_t type, const rondoComm& comm) {
  const size_t size = sizeOf(type);
  const std::vector<Bytes> all = gatherAll(send, sendcount * size, comm);
  if (recv == nullptr) return;
  for (size_t r = 0; r < all.size(); ++r) {
    const Bytes& from = all[source(r, comm)];
    give(recv, displs[r], from, 0, std::min(counts[r], from.size() / size), size);
  }
}

/// A group under way on this thread.
struct Group {
  int depth = 0;
  bool ending = false;  ///< Its calls are being made; messages wait for all of them.
  std::vector<std::function<void()>> calls;
  std::vector<MPI_Request> messages;
} group;

Result runOrCollect(std::function<void()> call) {
  fakeRunOrCollect(std::move(call));
  return rondoSuccess;
}

void finishMessages() {
  MPI_Waitall(static_cast<int>(group.messages.size()), group.messages.data(), MPI_STATUSES_IGNORE);
  group.messages.clear();
}

}  // namespace

void fakeRunOrCollect(std::function<void()> call) {
  if (group.depth > 0) {
    group.calls.push_back(std::move(call));
  } else {
    call();
  }
}

rondoResult_t rondoReduce(const void* send, void* recv, size_t count, rondoDataType_t type,
                          rondoRedOp_t op, int root, rondoComm_t comm, rondoStream_t) {
  return runOrCollect([=] {
    const auto all = gatherAll(send, count * sizeOf(type), *comm);
    if (comm->rank != root) return;
    give(recv, 0, reduced(all, all.size(), type, op), 0, count, sizeOf(type));
  });
}

rondoResult_t rondoBroadcast(const void* send, void* recv, size_t count, rondoDataType_t type,
                             int root, rondoComm_t comm, rondoStream_t) {
  return runOrCollect([=] {
    const size_t bytes = comm->rank == root ? count * sizeOf(type) : 0;
    const auto all = gatherAll(send, bytes, *comm);
    give(recv, 0, all[static_cast<size_t>(root)], 0, count, sizeOf(type));
  });
}

rondoResult_t rondoAllGather(const void* send, void* recv, size_t sendcount, rondoDataType_t type,
                             rondoComm_t comm, rondoStream_t) {
  const std::vector<size_t> counts(static_cast<size_t>(comm->ranks), sendcount);
  return runOrCollect([=] {
    const auto displs = follow(counts.data(), counts.size());
    gatherBlocks(send, sendcount, recv, counts.data(), displs.data(), type, *comm);
  });
}

rondoResult_t rondoAllGatherV(const void* send, size_t sendcount, void* recv,
                              const size_t* recvcounts, const size_t* displs, rondoDataType_t type,
                              rondoComm_t comm, rondoStream_t) {
  return runOrCollect(
      [=] { gatherBlocks(send, sendcount, recv, recvcounts, displs, type, *comm); });
}

rondoResult_t rondoGather(const void* send, void* recv, size_t sendcount, rondoDataType_t type,
                          int root, rondoComm_t comm, rondoStream_t stream) {
  return rondoAllGather(send, comm->rank == root ? recv : nullptr, sendcount, type, comm, stream);
}

rondoResult_t rondoGatherV(const void* send, size_t sendcount, void* recv, const size_t* recvcounts,
                           const size_t* displs, rondoDataType_t type, int root, rondoComm_t comm,
                           rondoStream_t) {
  return runOrCollect([=] {
    gatherBlocks(send, sendcount, comm->rank == root ? recv : nullptr, recvcounts, displs, type,
                 *comm);
  });
}

rondoResult_t rondoReduceScatterV(const void* send, void* recv, const size_t* recvcounts,
                                  rondoDataType_t type, rondoRedOp_t op, rondoComm_t comm,
                                  rondoStream_t) {
  const std::vector<size_t> counts(recvcounts, recvcounts + comm->ranks);
  return runOrCollect([=] {
    const auto all = gatherAll(send, sum(counts.data(), counts.size()) * sizeOf(type), *comm);
    const size_t me = source(static_cast<size_t>(comm->rank), *comm);
    const size_t count = std::min(counts[me], counts[static_cast<size_t>(comm->rank)]);
    give(recv, 0, reduced(all, all.size(), type, op), follow(counts.data(), counts.size())[me],
         count, sizeOf(type));
  });
}

rondoResult_t rondoReduceScatter(const void* send, void* recv, size_t recvcount,
                                 rondoDataType_t type, rondoRedOp_t op, rondoComm_t comm,
                                 rondoStream_t stream) {
  const std::vector<size_t> counts(static_cast<size_t>(comm->ranks), recvcount);
  return rondoReduceScatterV(send, recv, counts.data(), type, op, comm, stream);
}

rondoResult_t rondoAllToAllV(const void* send, const size_t* sendcounts, const size_t*, void* recv,
                             const size_t* recvcounts, const size_t* rdispls, rondoDataType_t type,
                             rondoComm_t comm, rondoStream_t) {
  const auto n = static_cast<size_t>(comm->ranks);
  const std::vector<size_t> to(sendcounts, sendcounts + n);
  const std::vector<size_t> from(recvcounts, recvcounts + n);
  const std::vector<size_t> places(rdispls, rdispls + n);
  return runOrCollect([=] {
    const size_t size = sizeOf(type);
    // Where my block begins in each rank's buffer.
    const auto displs = follow(to.data(), n);
    const auto begins = gatherAll(displs.data(), n * sizeof(size_t), *comm);
    const auto all = gatherAll(send, sum(to.data(), n) * size, *comm);
    for (size_t r = 0; r < n; ++r) {
      size_t begin = 0;
      const size_t me = source(static_cast<size_t>(comm->rank), *comm);
      std::memcpy(&begin, &begins[r][me * sizeof begin], sizeof begin);
      give(recv, places[r], all[r], begin, std::min(from[r], all[r].size() / size - begin), size);
    }
  });
}

rondoResult_t rondoAllToAll(const void* send, void* recv, size_t count, rondoDataType_t type,
                            rondoComm_t comm, rondoStream_t stream) {
  const std::vector<size_t> counts(static_cast<size_t>(comm->ranks), count);
  const auto displs = follow(counts.data(), counts.size());  // copied by the call
  return rondoAllToAllV(send, counts.data(), displs.data(), recv, counts.data(), displs.data(),
                        type, comm, stream);
}

rondoResult_t rondoScatterV(const void* send, const size_t* sendcounts, const size_t* displs,
                            void* recv, size_t recvcount, rondoDataType_t type, int root,
                            rondoComm_t comm, rondoStream_t) {
  return runOrCollect([=] {
    const size_t size = sizeOf(type);
    const auto n = static_cast<size_t>(comm->ranks);
    const bool isRoot = comm->rank == root;
    const auto begins = gatherAll(displs, isRoot ? n * sizeof(size_t) : 0, *comm);
    const auto all = gatherAll(send, isRoot ? sum(sendcounts, n) * size : 0, *comm);
    const Bytes& from = all[static_cast<size_t>(root)];
    size_t begin = 0;
    const size_t me = source(static_cast<size_t>(comm->rank), *comm);
    std::memcpy(&begin, &begins[static_cast<size_t>(root)][me * sizeof begin], sizeof begin);
    give(recv, 0, from, begin, std::min(recvcount, from.size() / size - begin), size);
  });
}

rondoResult_t rondoScatter(const void* send, void* recv, size_t recvcount, rondoDataType_t type,
                           int root, rondoComm_t comm, rondoStream_t) {
  const std::vector<size_t> counts(static_cast<size_t>(comm->ranks), recvcount);
  const auto displs = follow(counts.data(), counts.size());
  return runOrCollect([=] {  // made outside the group, so that the counts live long enough
    rondoScatterV(send, counts.data(), displs.data(), recv, recvcount, type, root, comm, nullptr);
  });
}

rondoResult_t rondoScan(const void* send, void* recv, size_t count, rondoDataType_t type,
                        rondoRedOp_t op, rondoComm_t comm, rondoStream_t) {
  return runOrCollect([=] {
    const auto all = gatherAll(send, count * sizeOf(type), *comm);
    const size_t ranks = source(static_cast<size_t>(comm->rank), *comm) + 1;
    give(recv, 0, reduced(all, ranks, type, op), 0, count, sizeOf(type));
  });
}

rondoResult_t rondoExscan(const void* send, void* recv, size_t count, rondoDataType_t type,
                          rondoRedOp_t op, rondoComm_t comm, rondoStream_t) {
  return runOrCollect([=] {
    const auto all = gatherAll(send, count * sizeOf(type), *comm);
    const size_t ranks = source(static_cast<size_t>(comm->rank), *comm);
    if (ranks == 0) return;
    give(recv, 0, reduced(all, ranks, type, op), 0, count, sizeOf(type));
  });
}

rondoResult_t rondoBarrier(rondoComm_t comm, rondoStream_t) {
  return runOrCollect([=] { MPI_Barrier(comm->mpi); });
}

rondoResult_t rondoSend(const void* send, size_t count, rondoDataType_t type, int peer,
                        rondoComm_t comm, rondoStream_t) {
  return runOrCollect([=] {
    MPI_Isend(send, static_cast<int>(count * sizeOf(type)), MPI_BYTE, peer, 0, comm->mpi,
              &group.messages.emplace_back());
    if (!group.ending) finishMessages();
  });
}

rondoResult_t rondoRecv(void* recv, size_t count, rondoDataType_t type, int peer, rondoComm_t comm,
                        rondoStream_t) {
  return runOrCollect([=] {
    static Bytes elsewhere;
    const bool lost = fakeFault("short") || fakeFault("shift") || fakeFault("swap");
    const size_t bytes = count * sizeOf(type);
    if (lost && elsewhere.size() < bytes) elsewhere.resize(bytes);
    MPI_Irecv(lost ? elsewhere.data() : recv, static_cast<int>(bytes), MPI_BYTE, peer, 0, comm->mpi,
              &group.messages.emplace_back());
    if (!group.ending) finishMessages();
  });
}

rondoResult_t rondoSendRecv(const void* send, size_t sendCount, int to, void* recv,
                            size_t recvCount, int from, rondoDataType_t type, rondoComm_t comm,
                            rondoStream_t stream) {
  rondoGroupStart();
  rondoRecv(recv, recvCount, type, from, comm, stream);
  rondoSend(send, sendCount, type, to, comm, stream);
  return rondoGroupEnd();
}

rondoResult_t rondoGroupStart() {
  ++group.depth;
  return rondoSuccess;
}

rondoResult_t rondoGroupEnd() {
  if (--group.depth > 0) return rondoSuccess;
  group.ending = true;
  for (const auto& call : std::exchange(group.calls, {})) call();
  group.ending = false;
  finishMessages();
  return rondoSuccess;
}

/// Not in the background: nothing hides behind the stand-in's groups.
rondoResult_t rondoGroupEndAsync(rondoRequest_t* request) {
  static int some = 0;
  *request = reinterpret_cast<rondoRequest_t>(&some);
  return rondoGroupEnd();
}

rondoResult_t rondoTest(rondoRequest_t* request, int* done) {
  *done = 1;
  *request = nullptr;
  return rondoSuccess;
}

rondoResult_t rondoWait(rondoRequest_t* request) {
  *request = nullptr;
  return rondoSuccess;
}

rondoResult_t rondoRedOpCreatePreMulSum(rondoRedOp_t*, const void*, rondoDataType_t,
                                        rondoScalarResidence_t, rondoComm_t) {
  return rondoUnsupported;
}

rondoResult_t rondoRedOpDestroy(rondoRedOp_t, rondoComm_t) { return rondoSuccess; }
