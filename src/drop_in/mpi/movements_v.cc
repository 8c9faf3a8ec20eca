// MPI's movements with a block of its own for every rank, blocking and non-blocking, but
// all-gather's. Only a pair of ranks, or the root, knows a block's size: what decides is the one
// that ranks have agreed on before.

#include <mpi.h>

#include <cstdint>

#include "drop_in/mpi/at_once.h"
#include "drop_in/mpi/passing.h"
#include "drop_in/mpi/types.h"
#include "drop_in/mpi/uneven_blocks.h"
#include "drop_in/mpi/usual.h"

using namespace rondo;
using namespace rondo::drop_in;

namespace {

/// Whether a v-collective that did not run between the devices is Rondo's; `bytes`: of so many
/// blocks of this rank's.
template <class Answer>
bool isWorth(Attempt& call, const Answer& answer, size_t bytes, int blocks = 1) {
  const size_t agreed = call.agreedSize(bytes, static_cast<size_t>(blocks));
  return call.need(answer.worthUneven(agreed), Why::Small) &&
         (agreed == AgreedSize::kUnknown || answer.stays(call, agreed));
}

/// True: ranks have agreed that such a blocking call is MPI's. Its own block is countOf() of
/// `type`, less than 0: it has none. Before all else, and apart from it: a small call takes a tenth
/// of a microsecond.
template <class CountOf>
bool agreedSmall(Attempt& call, const CountOf& countOf, MPI_Datatype type) {
  if (devicesOn) [[unlikely]]
    return false;
  return !call.open() || (isSmallAsAgreed(call.uneven(), leastUneven, countOf, type) &&
                          !call.need(false, Why::Small));
}

/// At the root.
template <class Answer>
int gathervHere(Attempt& call, const Answer& answer, bool inPlace, const Elements& send,
                const Elements& recv, const Uneven& to, int root) {
  return answer(call, [&] {
    return Movement{bytesIf(!inPlace, send), blocksIn(recv, to.counts, to.displs, call.size()),
                    [=](Bytes& sent, Blocks& received) {
                      if (inPlace) return received.load(root);
                      if (received.overlaps(send)) sent.copy();
                      sent.load();
                    },
                    [=](Bytes& sent, Blocks& received, rondoComm_t comm) {
                      const char* mine = inPlace ? received.block(root) : sent.data();
                      return rondoGatherV(mine, inPlace ? received.bytes(root) : send.bytes(),
                                          received.data(), received.counts(), received.displs(),
                                          rondoUint8, root, comm, nullptr);
                    }};
  });
}

template <class Answer, class Pass>
[[gnu::noinline]] int gatherv(Attempt& call, const Answer& answer, const Pass& pass,
                              const Triple& from, const Uneven& to, int root) {
  const bool isRoot = call.isRoot(root), inPlace = from.buffer == MPI_IN_PLACE;
  const bool good = answer.good() && call.hasRank(root) && (inPlace ? isRoot : from.count >= 0) &&
                    (!isRoot || (to.buffer != MPI_IN_PLACE && to.good(call.size())));
  if (!call.need(good, Why::Arguments)) return call.passed(pass());
  const Elements recv = isRoot ? elementsOf(to) : elementsOf(from);
  const Elements send = inPlace ? recv : elementsOf(from, recv);
  if (!bothValid(call, recv, send)) return call.passed(pass());
  const auto fill = [&](Transfers& transfers) {
    if (!inPlace) transfers.send(send, root);
    if (isRoot) receiveEach(transfers, to, call.size(), inPlace ? root : -1);
    return true;
  };
  int code = MPI_SUCCESS;
  if (overByTransfers(call, answer, pass, fill, &code)) return code;
  if (!isWorth(call, answer, send.bytes())) return call.passed(pass());
  if (isRoot) return gathervHere(call, answer, inPlace, send, recv, to, root);
  return answer(call, [&] {
    return Movement{bytesOf(send), nothing, [](Bytes& sent, Nothing&) { sent.load(); },
                    [=](Bytes& sent, Nothing&, rondoComm_t comm) {
                      return rondoGatherV(sent.data(), send.bytes(), nullptr, nullptr, nullptr,
                                          rondoUint8, root, comm, nullptr);
                    }};
  });
}

/// At the root.
template <class Answer>
int scattervHere(Attempt& call, const Answer& answer, bool inPlace, const Elements& send,
                 const Uneven& from, const Elements& recv, int root) {
  return answer(call, [&] {
    return Movement{blocksIn(send, from.counts, from.displs, call.size()), bytesIf(!inPlace, recv),
                    [=](Blocks& sent, Bytes& received) {
                      sent.load();
                      if (!inPlace && sent.overlaps(recv)) received.copy();
                    },
                    [=](Blocks& sent, Bytes& received, rondoComm_t comm) {
                      return rondoScatterV(sent.data(), sent.counts(), sent.displs(),
                                           inPlace ? sent.block(root) : received.data(),
                                           inPlace ? sent.bytes(root) : recv.bytes(), rondoUint8,
                                           root, comm, nullptr);
                    },
                    !inPlace};
  });
}

template <class Answer, class Pass>
[[gnu::noinline]] int scatterv(Attempt& call, const Answer& answer, const Pass& pass,
                               const Uneven& from, const Triple& to, int root) {
  const bool isRoot = call.isRoot(root), inPlace = to.buffer == MPI_IN_PLACE;
  const bool good = answer.good() && call.hasRank(root) && (inPlace ? isRoot : to.count >= 0) &&
                    (!isRoot || (from.buffer != MPI_IN_PLACE && from.good(call.size())));
  if (!call.need(good, Why::Arguments)) return call.passed(pass());
  const Elements send = isRoot ? elementsOf(from) : elementsOf(to);
  const Elements recv = inPlace ? send : elementsOf(to, send);
  if (!bothValid(call, recv, send)) return call.passed(pass());
  const auto fill = [&](Transfers& transfers) {
    if (isRoot) sendEach(transfers, from, call.size(), inPlace ? root : -1);
    if (!inPlace) transfers.receive(recv, root);
    return true;
  };
  int code = MPI_SUCCESS;
  if (overByTransfers(call, answer, pass, fill, &code)) return code;
  if (!isWorth(call, answer, recv.bytes())) return call.passed(pass());
  if (isRoot) return scattervHere(call, answer, inPlace, send, from, recv, root);
  return answer(call, [&] {
    return Movement{nothing, bytesOf(recv), [](Nothing&, Bytes&) {},
                    [=](Nothing&, Bytes& received, rondoComm_t comm) {
                      return rondoScatterV(nullptr, nullptr, nullptr, received.data(), recv.bytes(),
                                           rondoUint8, root, comm, nullptr);
                    }};
  });
}

/// Rondo's call on blocks of both sides.
rondoResult_t allToAllV(const Blocks& sent, const Blocks& received, rondoComm_t comm) {
  return rondoAllToAllV(sent.data(), sent.counts(), sent.displs(), received.data(),
                        received.counts(), received.displs(), rondoUint8, comm, nullptr);
}

/// A usual call: true if it was one, and is over with *code.
bool alltoallvAtOnce(MPI_Comm comm, const KnownComm& known, const Uneven& from, const Uneven& to,
                     int* code) {
  const size_t agreed = known.uneven.bytes();
  if (agreed < leastUneven || from.buffer == MPI_IN_PLACE || to.buffer == MPI_IN_PLACE) {
    return false;
  }
  KeptBlocks &sent = known.kept.sent, &received = known.kept.received;
  if (!isKept(sent, from, known) || !isKept(received, to, known)) return false;
  const char* const out = sent.data(from.buffer);
  char* const in = received.data(to.buffer);
  if (received.overlaps(in, out, sent.extent())) return false;
  if (agreed != AgreedSize::kUnknown && !staysAtOnce(known, Call::Alltoallv, agreed)) return false;
  known.uneven.count();
  known.uneven.note(sent.all(), static_cast<size_t>(known.size));
  *code = answerAtOnce(Call::Alltoallv, comm, known, [&](rondoComm_t rondo) {
    return rondoAllToAllV(out, sent.bytes(), sent.places(), in, received.bytes(), received.places(),
                          rondoUint8, rondo, nullptr);
  });
  return true;
}

template <class Answer, class Pass>
[[gnu::noinline]] int alltoallv(Attempt& call, const Answer& answer, const Pass& pass,
                                const Uneven& from, const Uneven& to) {
  const bool inPlace = from.buffer == MPI_IN_PLACE;
  const bool good = answer.good() && to.buffer != MPI_IN_PLACE && to.good(call.size()) &&
                    (inPlace || from.good(call.size()));
  if (!call.need(good, Why::Arguments)) return call.passed(pass());
  const Elements recv = elementsOf(to);
  const Elements send = inPlace ? recv : elementsOf(from, recv);
  const int* const given = inPlace ? to.counts : from.counts;
  if (!bothValid(call, recv, send)) return call.passed(pass());
  const auto fill = [&](Transfers& transfers) {
    if (inPlace) return false;  // what is sent would have to lie somewhere else
    sendEach(transfers, from, call.size());
    receiveEach(transfers, to, call.size());
    return true;
  };
  int code = MPI_SUCCESS;
  if (overByTransfers(call, answer, pass, fill, &code)) return code;
  if (!isWorth(call, answer, allBlocks(send, given, call.size()), call.size())) {
    return call.passed(pass());
  }
  if (inPlace) {
    return answer(call, [&] {
      return Movement{nothing, blocksIn(recv, to.counts, to.displs, call.size()),
                      [](Nothing&, Blocks& blocks) { blocks.load(); },
                      [](Nothing&, Blocks& blocks, rondoComm_t comm) {
                        return allToAllV(blocks, blocks, comm);
                      }};
    });
  }
  return answer(call, [&] {
    return Movement{blocksIn(send, from.counts, from.displs, call.size()),
                    blocksIn(recv, to.counts, to.displs, call.size()),
                    [](Blocks& sent, Blocks& received) {
                      if (received.overlaps(sent)) sent.copy();
                      sent.load();
                    },
                    [](Blocks& sent, Blocks& received, rondoComm_t comm) {
                      return allToAllV(sent, received, comm);
                    }};
  });
}

/// Apart from the usual call, which needs few registers and no memory.
[[gnu::noinline]] int alltoallvInFull(const Uneven& from, const Uneven& to, MPI_Comm comm,
                                      const KnownComm* known) {
  Attempt call(Call::Alltoallv, comm, known);
  const auto mpi = [&](const void* sent, void* received) {
    return PMPI_Alltoallv(sent, from.counts, from.displs, from.type, received, to.counts, to.displs,
                          to.type, comm);
  };
  if (agreedSmall(
          call, [&] { return meanCount(to.counts, call.size()); }, to.type)) {
    return call.passed(mpi(from.buffer, const_cast<void*>(to.buffer)));
  }
  const auto of = [&] {
    return AmongAll{blocksOf(from.buffer, from.counts, from.displs, from.type),
                    blocksOf(to.buffer, to.counts, to.displs, to.type)};
  };
  const Passing pass(comm, nullptr, of, mpi);
  return alltoallv(call, AtOnce{}, pass, from, to);
}

}  // namespace

int MPI_Gatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                MPI_Comm comm) {
  Attempt call(Call::Gatherv, comm);
  const auto count = [&] { return sendbuf != MPI_IN_PLACE ? sendcount : -1; };
  if (agreedSmall(call, count, sendtype)) {
    return call.passed(PMPI_Gatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                    recvtype, root, comm));
  }
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Gatherv(from, sendcount, sendtype, to, recvcounts, displs, recvtype, root, comm);
  };
  const auto of = [&] {
    return ToRoot{oneBlock(sendbuf, sendcount, sendtype),
                  blocksOf(recvbuf, recvcounts, displs, recvtype), root};
  };
  const Passing pass(comm, nullptr, of, mpi);
  return gatherv(call, AtOnce{}, pass, {sendbuf, sendcount, sendtype},
                 {recvbuf, recvcounts, displs, recvtype}, root);
}

int MPI_Igatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                 const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                 MPI_Comm comm, MPI_Request* request) {
  if (isMpisAsAgreed(comm, sendtype,
                     [&](int) { return sendbuf != MPI_IN_PLACE ? sendcount : -1; })) {
    return PMPI_Igatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root,
                         comm, request);
  }
  Attempt call(Call::Igatherv, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Igatherv(from, sendcount, sendtype, to, recvcounts, displs, recvtype, root, comm,
                         request);
  };
  const auto of = [&] {
    return ToRoot{oneBlock(sendbuf, sendcount, sendtype),
                  blocksOf(recvbuf, recvcounts, displs, recvtype), root};
  };
  const Passing pass(comm, request, of, mpi);
  return gatherv(call, Later{request}, pass, {sendbuf, sendcount, sendtype},
                 {recvbuf, recvcounts, displs, recvtype}, root);
}

int MPI_Scatterv(const void* sendbuf, const int sendcounts[], const int displs[],
                 MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                 int root, MPI_Comm comm) {
  Attempt call(Call::Scatterv, comm);
  const auto count = [&] { return recvbuf != MPI_IN_PLACE ? recvcount : -1; };
  if (agreedSmall(call, count, recvtype)) {
    return call.passed(PMPI_Scatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount,
                                     recvtype, root, comm));
  }
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Scatterv(from, sendcounts, displs, sendtype, to, recvcount, recvtype, root, comm);
  };
  const auto of = [&] {
    return FromRoot{blocksOf(sendbuf, sendcounts, displs, sendtype),
                    oneBlock(recvbuf, recvcount, recvtype), root};
  };
  const Passing pass(comm, nullptr, of, mpi);
  return scatterv(call, AtOnce{}, pass, {sendbuf, sendcounts, displs, sendtype},
                  {recvbuf, recvcount, recvtype}, root);
}

int MPI_Iscatterv(const void* sendbuf, const int sendcounts[], const int displs[],
                  MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                  int root, MPI_Comm comm, MPI_Request* request) {
  if (isMpisAsAgreed(comm, recvtype,
                     [&](int) { return recvbuf != MPI_IN_PLACE ? recvcount : -1; })) {
    return PMPI_Iscatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root,
                          comm, request);
  }
  Attempt call(Call::Iscatterv, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Iscatterv(from, sendcounts, displs, sendtype, to, recvcount, recvtype, root, comm,
                          request);
  };
  const auto of = [&] {
    return FromRoot{blocksOf(sendbuf, sendcounts, displs, sendtype),
                    oneBlock(recvbuf, recvcount, recvtype), root};
  };
  const Passing pass(comm, request, of, mpi);
  return scatterv(call, Later{request}, pass, {sendbuf, sendcounts, displs, sendtype},
                  {recvbuf, recvcount, recvtype}, root);
}

int MPI_Alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                  MPI_Datatype recvtype, MPI_Comm comm) {
  const Uneven from{sendbuf, sendcounts, sdispls, sendtype};
  const Uneven to{recvbuf, recvcounts, rdispls, recvtype};
  const KnownComm* const known = lookAtOnce(comm);
  int code = MPI_SUCCESS;
  if (isUsual(known) && alltoallvAtOnce(comm, *known, from, to, &code)) return code;
  return alltoallvInFull(from, to, comm, known);
}

int MPI_Ialltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                   MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                   const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                   MPI_Request* request) {
  if (isMpisAsAgreed(comm, recvtype, [&](int ranks) { return meanCount(recvcounts, ranks); })) {
    return PMPI_Ialltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
                           recvtype, comm, request);
  }
  Attempt call(Call::Ialltoallv, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Ialltoallv(from, sendcounts, sdispls, sendtype, to, recvcounts, rdispls, recvtype,
                           comm, request);
  };
  const auto of = [&] {
    return AmongAll{blocksOf(sendbuf, sendcounts, sdispls, sendtype),
                    blocksOf(recvbuf, recvcounts, rdispls, recvtype)};
  };
  const Passing pass(comm, request, of, mpi);
  return alltoallv(call, Later{request}, pass, {sendbuf, sendcounts, sdispls, sendtype},
                   {recvbuf, recvcounts, rdispls, recvtype});
}
