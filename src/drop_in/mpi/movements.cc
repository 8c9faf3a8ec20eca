// MPI's blocking movements with equal blocks. MPI makes the type signature of a block equal on all
// ranks, thus its bytes, which may decide; the types and counts that describe it are local.

#include <mpi.h>

#include <climits>

#include "base/error.h"
#include "drop_in/mpi/attempt.h"
#include "drop_in/mpi/layout.h"

using namespace rondo;
using namespace rondo::drop_in;

namespace {

char* bytesAt(const void* buffer) { return static_cast<char*>(const_cast<void*>(buffer)); }

/// One argument triple of MPI: a block of `count` elements for each of `blocks` ranks.
struct Side {
  Elements all;
  size_t perBlock;
  Side(const void* buffer, int count, MPI_Datatype type, int blocks)
      : all{bytesAt(buffer), 0, type, layoutOf(type)}, perBlock(count > 0 ? count : 0) {
    all.count = perBlock * static_cast<size_t>(blocks);
  }
  size_t blockBytes() const { return perBlock * all.layout.size; }
};

/// Whether the block that this side describes lets Rondo answer.
bool openBlock(Attempt& call, const Side& side) {
  return call.need(side.all.layout.valid, Why::Arguments) &&
         call.need(side.blockBytes() <= INT_MAX, Why::Large);
}

/// MPI does not look for this mistake, and other ranks may not have made it: it ends the call on
/// all of them.
void requireSameBytes(const Side& send, const Side& recv) {
  if (send.blockBytes() == recv.blockBytes()) return;
  throw Error(rondoInvalidArgument,
              format("sendcount and sendtype make blocks of %zu bytes, recvcount and recvtype "
                     "blocks of %zu bytes; allowed: the same type signature",
                     send.blockBytes(), recv.blockBytes()));
}

rondoResult_t gatherAll(Attempt& call, bool inPlace, const Side& send, const Side& recv) {
  const size_t block = recv.blockBytes();
  Bytes to(recv.all);
  if (inPlace) {
    to.load(recv.perBlock * static_cast<size_t>(call.rank()), recv.perBlock);
    const char* mine = to.data() + block * static_cast<size_t>(call.rank());
    const rondoResult_t result =
        rondoAllGather(mine, to.data(), block, rondoUint8, call.rondo(), nullptr);
    if (result == rondoSuccess) to.store();
    return result;
  }
  Bytes from(send.all);
  from.load();
  const rondoResult_t result =
      rondoAllGather(from.data(), to.data(), block, rondoUint8, call.rondo(), nullptr);
  if (result == rondoSuccess) to.store();
  return result;
}

rondoResult_t gatherToRoot(Attempt& call, bool inPlace, const Side& send, const Side& recv,
                           int root) {
  const size_t block = recv.blockBytes();
  Bytes to(recv.all);
  const auto run = [&](const char* mine) {
    const rondoResult_t result =
        rondoGather(mine, to.data(), block, rondoUint8, root, call.rondo(), nullptr);
    if (result == rondoSuccess) to.store();
    return result;
  };
  if (inPlace) {
    to.load(recv.perBlock * static_cast<size_t>(root), recv.perBlock);
    return run(to.data() + block * static_cast<size_t>(root));
  }
  Bytes from(send.all);
  from.load();
  return run(from.data());
}

rondoResult_t scatterFromRoot(Attempt& call, bool inPlace, const Side& send, const Side& recv,
                              int root) {
  const size_t block = send.blockBytes();
  Bytes from(send.all);
  from.load();
  if (inPlace) {
    char* mine = from.data() + block * static_cast<size_t>(root);
    return rondoScatter(from.data(), mine, block, rondoUint8, root, call.rondo(), nullptr);
  }
  Bytes to(recv.all);
  const rondoResult_t result =
      rondoScatter(from.data(), to.data(), block, rondoUint8, root, call.rondo(), nullptr);
  if (result == rondoSuccess) to.store();
  return result;
}

rondoResult_t allToAll(Attempt& call, bool inPlace, const Side& send, const Side& recv) {
  Bytes to(recv.all);
  if (inPlace) {
    to.load();
    const rondoResult_t result =
        rondoAllToAll(to.data(), to.data(), recv.blockBytes(), rondoUint8, call.rondo(), nullptr);
    if (result == rondoSuccess) to.store();
    return result;
  }
  Bytes from(send.all);
  from.load();
  const rondoResult_t result =
      rondoAllToAll(from.data(), to.data(), recv.blockBytes(), rondoUint8, call.rondo(), nullptr);
  if (result == rondoSuccess) to.store();
  return result;
}

}  // namespace

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  Attempt call(Call::Bcast, comm);
  const auto pass = [&] { return call.passed(PMPI_Bcast(buffer, count, type, root, comm)); };
  const bool good = call.hasRank(root) && count >= 0 && buffer != MPI_IN_PLACE;
  if (!call.need(good, Why::Arguments)) return pass();
  const Side side(buffer, count, type, 1);
  if (!openBlock(call, side)) return pass();
  return call.taken([&] {
    Bytes bytes(side.all);
    if (call.isRoot(root)) bytes.load();
    const rondoResult_t result = rondoBroadcast(bytes.data(), bytes.data(), side.blockBytes(),
                                                rondoUint8, root, call.rondo(), nullptr);
    if (result == rondoSuccess && !call.isRoot(root)) bytes.store();
    return result;
  });
}

int MPI_Allgather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  Attempt call(Call::Allgather, comm);
  const auto pass = [&] {
    return call.passed(
        PMPI_Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm));
  };
  const bool inPlace = sendbuf == MPI_IN_PLACE;
  const bool good = recvbuf != MPI_IN_PLACE && recvcount >= 0 && (inPlace || sendcount >= 0);
  if (!call.need(good, Why::Arguments)) return pass();
  const Side recv(recvbuf, recvcount, recvtype, call.size());
  const Side send = inPlace ? recv : Side(sendbuf, sendcount, sendtype, 1);
  if (!openBlock(call, recv) || !openBlock(call, send)) return pass();
  return call.taken([&] {
    requireSameBytes(send, recv);
    return gatherAll(call, inPlace, send, recv);
  });
}

int MPI_Gather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
               int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  Attempt call(Call::Gather, comm);
  const auto pass = [&] {
    return call.passed(
        PMPI_Gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm));
  };
  const bool isRoot = call.isRoot(root), inPlace = sendbuf == MPI_IN_PLACE;
  const bool good = call.hasRank(root) && (inPlace ? isRoot : sendcount >= 0) &&
                    (!isRoot || (recvbuf != MPI_IN_PLACE && recvcount >= 0));
  if (!call.need(good, Why::Arguments)) return pass();
  // What is not significant here is not looked at: a block on one side stands for the other's.
  const Side recv = isRoot ? Side(recvbuf, recvcount, recvtype, call.size())
                           : Side(sendbuf, sendcount, sendtype, 1);
  const Side send = inPlace ? recv : Side(sendbuf, sendcount, sendtype, 1);
  if (!openBlock(call, recv) || !openBlock(call, send)) return pass();
  return call.taken([&] {
    requireSameBytes(send, recv);
    if (isRoot) return gatherToRoot(call, inPlace, send, recv, root);
    Bytes from(send.all);
    from.load();
    return rondoGather(from.data(), nullptr, send.blockBytes(), rondoUint8, root, call.rondo(),
                       nullptr);
  });
}

int MPI_Scatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
  Attempt call(Call::Scatter, comm);
  const auto pass = [&] {
    return call.passed(
        PMPI_Scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm));
  };
  const bool isRoot = call.isRoot(root), inPlace = recvbuf == MPI_IN_PLACE;
  const bool good = call.hasRank(root) && (inPlace ? isRoot : recvcount >= 0) &&
                    (!isRoot || (sendbuf != MPI_IN_PLACE && sendcount >= 0));
  if (!call.need(good, Why::Arguments)) return pass();
  const Side send = isRoot ? Side(sendbuf, sendcount, sendtype, call.size())
                           : Side(recvbuf, recvcount, recvtype, 1);
  const Side recv = inPlace ? send : Side(recvbuf, recvcount, recvtype, 1);
  if (!openBlock(call, send) || !openBlock(call, recv)) return pass();
  return call.taken([&] {
    requireSameBytes(send, recv);
    if (isRoot) return scatterFromRoot(call, inPlace, send, recv, root);
    Bytes to(recv.all);
    const rondoResult_t result = rondoScatter(nullptr, to.data(), recv.blockBytes(), rondoUint8,
                                              root, call.rondo(), nullptr);
    if (result == rondoSuccess) to.store();
    return result;
  });
}

int MPI_Alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                 int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  Attempt call(Call::Alltoall, comm);
  const auto pass = [&] {
    return call.passed(
        PMPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm));
  };
  const bool inPlace = sendbuf == MPI_IN_PLACE;
  const bool good = recvbuf != MPI_IN_PLACE && recvcount >= 0 && (inPlace || sendcount >= 0);
  if (!call.need(good, Why::Arguments)) return pass();
  const Side recv(recvbuf, recvcount, recvtype, call.size());
  const Side send = inPlace ? recv : Side(sendbuf, sendcount, sendtype, call.size());
  if (!openBlock(call, recv) || !openBlock(call, send)) return pass();
  return call.taken([&] {
    requireSameBytes(send, recv);
    return allToAll(call, inPlace, send, recv);
  });
}
