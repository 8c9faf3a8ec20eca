// MPI's blocking movements with a block of its own for every rank. All-gather's counts are equal on
// all ranks, but of the others only a pair of ranks, or the root, knows one: nothing but the
// communicator and the root may decide, so that on a communicator of Rondo's all are taken.

#include <mpi.h>

#include <cstdint>

#include "drop_in/mpi/attempt.h"
#include "drop_in/mpi/blocks.h"

using namespace rondo;
using namespace rondo::drop_in;

namespace {

Elements elementsOf(const void* buffer, int count, MPI_Datatype type) {
  return {static_cast<char*>(const_cast<void*>(buffer)), static_cast<size_t>(count > 0 ? count : 0),
          type, layoutOf(type)};
}

bool goodArrays(const int* counts, const int* displs, int ranks) {
  return countsAreGood(counts, ranks) && displs != nullptr;
}

rondoResult_t gatherAllV(Attempt& call, bool inPlace, const Elements& send, Blocks& to) {
  const auto run = [&](const char* mine) {
    const rondoResult_t result =
        rondoAllGatherV(mine, inPlace ? to.bytes(call.rank()) : send.bytes(), to.data(),
                        to.counts(), to.displs(), rondoUint8, call.rondo(), nullptr);
    if (result == rondoSuccess) to.store();
    return result;
  };
  if (inPlace) {
    to.load(call.rank());
    return run(to.block(call.rank()));
  }
  Bytes from(send, to.overlaps(send));
  from.load();
  return run(from.data());
}

rondoResult_t gatherToRootV(Attempt& call, bool inPlace, const Elements& send, Blocks& to,
                            int root) {
  const auto run = [&](const char* mine) {
    const rondoResult_t result =
        rondoGatherV(mine, inPlace ? to.bytes(root) : send.bytes(), to.data(), to.counts(),
                     to.displs(), rondoUint8, root, call.rondo(), nullptr);
    if (result == rondoSuccess) to.store();
    return result;
  };
  if (inPlace) {
    to.load(root);
    return run(to.block(root));
  }
  Bytes from(send, to.overlaps(send));
  from.load();
  return run(from.data());
}

rondoResult_t scatterFromRootV(Attempt& call, bool inPlace, Blocks& from, const Elements& recv,
                               int root) {
  from.load();
  if (inPlace) {
    return rondoScatterV(from.data(), from.counts(), from.displs(), from.block(root),
                         from.bytes(root), rondoUint8, root, call.rondo(), nullptr);
  }
  Bytes to(recv, from.overlaps(recv));
  const rondoResult_t result = rondoScatterV(from.data(), from.counts(), from.displs(), to.data(),
                                             recv.bytes(), rondoUint8, root, call.rondo(), nullptr);
  if (result == rondoSuccess) to.store();
  return result;
}

}  // namespace

int MPI_Allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                   const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                   MPI_Comm comm) {
  Attempt call(Call::Allgatherv, comm);
  const auto pass = [&] {
    return call.passed(
        PMPI_Allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm));
  };
  const bool inPlace = sendbuf == MPI_IN_PLACE;
  const bool good = recvbuf != MPI_IN_PLACE && goodArrays(recvcounts, displs, call.size()) &&
                    (inPlace || sendcount >= 0);
  if (!call.need(good, Why::Arguments)) return pass();
  const Elements recv = elementsOf(recvbuf, 0, recvtype);
  const Elements send = inPlace ? recv : elementsOf(sendbuf, sendcount, sendtype);
  if (!call.need(recv.layout.valid && send.layout.valid, Why::Arguments)) return pass();
  return call.taken([&] {
    Blocks to(recv, recvcounts, displs, call.size());
    return gatherAllV(call, inPlace, send, to);
  });
}

int MPI_Gatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                MPI_Comm comm) {
  Attempt call(Call::Gatherv, comm);
  const auto pass = [&] {
    return call.passed(PMPI_Gatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                    recvtype, root, comm));
  };
  const bool isRoot = call.isRoot(root), inPlace = sendbuf == MPI_IN_PLACE;
  const bool good =
      call.hasRank(root) && (inPlace ? isRoot : sendcount >= 0) &&
      (!isRoot || (recvbuf != MPI_IN_PLACE && goodArrays(recvcounts, displs, call.size())));
  if (!call.need(good, Why::Arguments)) return pass();
  const Elements recv =
      isRoot ? elementsOf(recvbuf, 0, recvtype) : elementsOf(sendbuf, sendcount, sendtype);
  const Elements send = inPlace ? recv : elementsOf(sendbuf, sendcount, sendtype);
  if (!call.need(recv.layout.valid && send.layout.valid, Why::Arguments)) return pass();
  return call.taken([&] {
    if (isRoot) {
      Blocks to(recv, recvcounts, displs, call.size());
      return gatherToRootV(call, inPlace, send, to, root);
    }
    Bytes from(send);
    from.load();
    return rondoGatherV(from.data(), send.bytes(), nullptr, nullptr, nullptr, rondoUint8, root,
                        call.rondo(), nullptr);
  });
}

int MPI_Scatterv(const void* sendbuf, const int sendcounts[], const int displs[],
                 MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                 int root, MPI_Comm comm) {
  Attempt call(Call::Scatterv, comm);
  const auto pass = [&] {
    return call.passed(PMPI_Scatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount,
                                     recvtype, root, comm));
  };
  const bool isRoot = call.isRoot(root), inPlace = recvbuf == MPI_IN_PLACE;
  const bool good =
      call.hasRank(root) && (inPlace ? isRoot : recvcount >= 0) &&
      (!isRoot || (sendbuf != MPI_IN_PLACE && goodArrays(sendcounts, displs, call.size())));
  if (!call.need(good, Why::Arguments)) return pass();
  const Elements send =
      isRoot ? elementsOf(sendbuf, 0, sendtype) : elementsOf(recvbuf, recvcount, recvtype);
  const Elements recv = inPlace ? send : elementsOf(recvbuf, recvcount, recvtype);
  if (!call.need(recv.layout.valid && send.layout.valid, Why::Arguments)) return pass();
  return call.taken([&] {
    if (isRoot) {
      Blocks from(send, sendcounts, displs, call.size());
      return scatterFromRootV(call, inPlace, from, recv, root);
    }
    Bytes to(recv);
    const rondoResult_t result = rondoScatterV(nullptr, nullptr, nullptr, to.data(), recv.bytes(),
                                               rondoUint8, root, call.rondo(), nullptr);
    if (result == rondoSuccess) to.store();
    return result;
  });
}

int MPI_Alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                  MPI_Datatype recvtype, MPI_Comm comm) {
  Attempt call(Call::Alltoallv, comm);
  const auto pass = [&] {
    return call.passed(PMPI_Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                      rdispls, recvtype, comm));
  };
  const bool inPlace = sendbuf == MPI_IN_PLACE;
  const bool good = recvbuf != MPI_IN_PLACE && goodArrays(recvcounts, rdispls, call.size()) &&
                    (inPlace || goodArrays(sendcounts, sdispls, call.size()));
  if (!call.need(good, Why::Arguments)) return pass();
  const Elements recv = elementsOf(recvbuf, 0, recvtype);
  const Elements send = inPlace ? recv : elementsOf(sendbuf, 0, sendtype);
  if (!call.need(recv.layout.valid && send.layout.valid, Why::Arguments)) return pass();
  return call.taken([&] {
    Blocks to(recv, recvcounts, rdispls, call.size());
    if (inPlace) to.load();
    const auto run = [&](Blocks& from) {
      const rondoResult_t result =
          rondoAllToAllV(from.data(), from.counts(), from.displs(), to.data(), to.counts(),
                         to.displs(), rondoUint8, call.rondo(), nullptr);
      if (result == rondoSuccess) to.store();
      return result;
    };
    if (inPlace) return run(to);
    Blocks from(send, sendcounts, sdispls, call.size());
    if (to.overlaps(from)) from.copy();
    from.load();
    return run(from);
  });
}
