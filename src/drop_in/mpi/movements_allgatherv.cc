// MPI's all-gather with a block of its own for every rank, blocking and non-blocking. Its counts
// are equal on all ranks, so they may decide.

#include <mpi.h>

#include <algorithm>

#include "drop_in/mpi/at_once.h"
#include "drop_in/mpi/passing.h"
#include "drop_in/mpi/uneven_blocks.h"
#include "drop_in/mpi/usual.h"

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

/// A usual call: true if it was one, and is over with *code.
bool allgathervAtOnce(MPI_Comm comm, const KnownComm& known, const Triple& from, const Uneven& to,
                      int* code) {
  KeptBlocks& blocks = known.kept.gathered;
  if (to.buffer == MPI_IN_PLACE || !isKept(blocks, to, known)) return false;
  // Even ones are an all-gather on all ranks, wherever this one has them.
  if (blocks.even() && !blocks.inOrder()) return false;
  const int me = known.rank;
  const size_t bytes = blocks.bytes()[me];
  char* const all = blocks.data(to.buffer);
  const char* mine = all + blocks.places()[me];
  if (from.buffer != MPI_IN_PLACE) {
    mine = static_cast<const char*>(from.buffer);
    if (from.type != to.type || from.count != to.counts[me]) return false;
    if (blocks.overlaps(all, mine, bytes)) return false;
  }
  if (!staysAtOnce(known, Call::Allgatherv, blocks.mean())) return false;
  *code = answerAtOnce(Call::Allgatherv, comm, known, [&](rondoComm_t rondo) {
    if (blocks.even()) return rondoAllGather(mine, all, bytes, rondoUint8, rondo, nullptr);
    return rondoAllGatherV(mine, bytes, all, blocks.bytes(), blocks.places(), rondoUint8, rondo,
                           nullptr);
  });
  return true;
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

/// Apart from the usual call, which needs few registers and no memory.
[[gnu::noinline]] int allgathervInFull(const Triple& from, const Uneven& to, MPI_Comm comm,
                                       const KnownComm* known) {
  Attempt call(Call::Allgatherv, comm, known);
  const auto mpi = [&](const void* sent, void* received) {
    return PMPI_Allgatherv(sent, from.count, from.type, received, to.counts, to.displs, to.type,
                           comm);
  };
  const auto of = [&] {
    return AmongAll{oneBlock(from.buffer, from.count, from.type),
                    blocksOf(to.buffer, to.counts, to.displs, to.type)};
  };
  const Passing pass(comm, nullptr, of, mpi);
  return allgatherv(call, AtOnce{}, pass, from, to);
}

}  // namespace

int MPI_Allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                   const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                   MPI_Comm comm) {
  const Triple from{sendbuf, sendcount, sendtype};
  const Uneven to{recvbuf, recvcounts, displs, recvtype};
  const KnownComm* const known = lookAtOnce(comm);
  int code = MPI_SUCCESS;
  if (isUsual(known) && allgathervAtOnce(comm, *known, from, to, &code)) return code;
  return allgathervInFull(from, to, comm, known);
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
