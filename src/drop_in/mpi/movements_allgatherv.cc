// MPI's all-gather with a block of its own for every rank, blocking and non-blocking. Its counts
// are equal on all ranks, so they may decide.

#include <mpi.h>

#include <algorithm>

#include "drop_in/mpi/at_once.h"
#include "drop_in/mpi/passing.h"
#include "drop_in/mpi/uneven_blocks.h"

using namespace rondo;
using namespace rondo::drop_in;

namespace {

/// Blocks of one length, which all ranks know: the quicker all-gather, where this rank wants them
/// one after the other in its own memory, else by way of a copy.
template <class Answer>
int allgatherAlike(Attempt& call, const Answer& answer, bool inPlace, const Elements& send,
                   const Elements& recv, const Uneven& to) {
  const int me = call.rank(), ranks = call.size();
  const size_t block = static_cast<size_t>(to.counts[0]) * recv.layout.size;
  bool inOrder = true;
  for (int r = 1; r < ranks; ++r) inOrder &= to.displs[r] == to.displs[0] + r * to.counts[0];
  const auto run = [=](const char* mine, char* all, rondoComm_t comm) {
    return rondoAllGather(mine, all, block, rondoUint8, comm, nullptr);
  };
  const auto plain = [](const Elements& side) { return side.layout.dense && !side.device; };
  if (inOrder && plain(recv) && plain(send) && (inPlace || send.bytes() == block)) [[likely]] {
    char* const all = recv.begin + to.displs[0] * recv.layout.extent;
    const char* const mine = inPlace ? all + static_cast<size_t>(me) * block : send.begin;
    return answer(call,
                  [=] { return Direct{[=](rondoComm_t comm) { return run(mine, all, comm); }}; });
  }
  return answer(call, [&] {
    if (!inPlace) requireSameBytes(send.bytes(), block);
    return Movement{bytesIf(!inPlace, send), blocksIn(recv, to.counts, to.displs, ranks),
                    [=](Bytes& sent, Blocks& received) {
                      if (!inOrder) received.copy();
                      if (inPlace) return received.load(me);
                      if (received.overlaps(send)) sent.copy();
                      sent.load();
                    },
                    [=](Bytes& sent, Blocks& received, rondoComm_t comm) {
                      const char* mine = inPlace ? received.block(me) : sent.data();
                      return run(mine, received.data(), comm);
                    }};
  });
}

template <class Answer, class Pass>
int allgatherv(Attempt& call, const Answer& answer, const Pass& pass, const Triple& from,
               const Uneven& to) {
  const bool inPlace = from.buffer == MPI_IN_PLACE;
  const bool good = answer.good() && to.buffer != MPI_IN_PLACE && to.good(call.size()) &&
                    (inPlace || from.count >= 0);
  if (!call.need(good, Why::Arguments)) return call.passed(pass());
  const Elements recv = elementsOf(to);
  const Elements send = inPlace ? recv : elementsOf(from, recv);
  const size_t mean = allBlocks(recv, to.counts, call.size()) / static_cast<size_t>(call.size());
  if (!bothValid(call, recv, send) || !call.need(answer.worth(mean), Why::Small) ||
      !answer.stays(call, mean)) {
    return call.passed(pass());
  }
  const int me = call.rank();
  const auto fill = [&](Transfers& transfers) {
    const Elements mine = inPlace ? blockOf(to, me) : send;
    for (int r = 0; r < call.size(); ++r) {
      if (!inPlace || r != me) transfers.send(mine, r);
    }
    receiveEach(transfers, to, call.size(), inPlace ? me : -1);
    return true;
  };
  int code = MPI_SUCCESS;
  if (overByTransfers(call, answer, pass, fill, &code)) return code;
  if (std::all_of(to.counts, to.counts + call.size(), [&](int n) { return n == to.counts[0]; })) {
    return allgatherAlike(call, answer, inPlace, send, recv, to);
  }
  return answer(call, [&] {
    return Movement{bytesIf(!inPlace, send), blocksIn(recv, to.counts, to.displs, call.size()),
                    [=](Bytes& sent, Blocks& received) {
                      if (inPlace) return received.load(me);
                      if (received.overlaps(send)) sent.copy();
                      sent.load();
                    },
                    [=](Bytes& sent, Blocks& received, rondoComm_t comm) {
                      const char* mine = inPlace ? received.block(me) : sent.data();
                      return rondoAllGatherV(mine, inPlace ? received.bytes(me) : send.bytes(),
                                             received.data(), received.counts(), received.displs(),
                                             rondoUint8, comm, nullptr);
                    }};
  });
}

}  // namespace

int MPI_Allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                   const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                   MPI_Comm comm) {
  Attempt call(Call::Allgatherv, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Allgatherv(from, sendcount, sendtype, to, recvcounts, displs, recvtype, comm);
  };
  const auto of = [&] {
    return AmongAll{oneBlock(sendbuf, sendcount, sendtype),
                    blocksOf(recvbuf, recvcounts, displs, recvtype)};
  };
  const Passing pass(comm, nullptr, of, mpi);
  return allgatherv(call, AtOnce{}, pass, {sendbuf, sendcount, sendtype},
                    {recvbuf, recvcounts, displs, recvtype});
}

int MPI_Iallgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                    const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                    MPI_Comm comm, MPI_Request* request) {
  if (isMpisAtOnce(comm, recvcounts, recvtype, Small::kMean)) {
    return PMPI_Iallgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
                            comm, request);
  }
  Attempt call(Call::Iallgatherv, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Iallgatherv(from, sendcount, sendtype, to, recvcounts, displs, recvtype, comm,
                            request);
  };
  const auto of = [&] {
    return AmongAll{oneBlock(sendbuf, sendcount, sendtype),
                    blocksOf(recvbuf, recvcounts, displs, recvtype)};
  };
  const Passing pass(comm, request, of, mpi);
  return allgatherv(call, Later{request}, pass, {sendbuf, sendcount, sendtype},
                    {recvbuf, recvcounts, displs, recvtype});
}
