// MPI's movements with a block of its own for every rank, blocking and non-blocking. All-gather's
// counts are equal on all ranks, so their sum may decide. Of the others only a pair of ranks, or
// the root, knows one: what decides is the size that ranks have agreed on before.

#include <mpi.h>

#include <cstdint>
#include <numeric>

#include "drop_in/mpi/answers.h"
#include "drop_in/mpi/blocks.h"
#include "drop_in/mpi/host_twin.h"
#include "drop_in/mpi/transfers.h"

using namespace rondo;
using namespace rondo::drop_in;

namespace {

/// One block, as MPI's arguments give it.
struct Triple {
  const void* buffer;
  int count;
  MPI_Datatype type;
};
/// A block a rank.
struct Uneven {
  const void* buffer;
  const int* counts;
  const int* displs;
  MPI_Datatype type;
  bool good(int ranks) const { return countsAreGood(counts, ranks) && displs != nullptr; }
};

Elements elementsOf(const Triple& of) {
  return {static_cast<char*>(const_cast<void*>(of.buffer)),
          static_cast<size_t>(of.count > 0 ? of.count : 0), of.type, layoutOf(of.type),
          liesOnDevice(of.buffer, of.type)};
}
Elements elementsOf(const Uneven& of) { return elementsOf(Triple{of.buffer, 0, of.type}); }
/// A rank's block.
Elements blockOf(const Uneven& of, int rank) {
  const ptrdiff_t from = of.displs[rank] * layoutOf(of.type).extent;
  return elementsOf({static_cast<const char*>(of.buffer) + from, of.counts[rank], of.type});
}

/// One block from or to every rank; `but`: a rank that needs none, or -1.
void sendEach(Transfers& transfers, const Uneven& of, int ranks, int but = -1) {
  for (int r = 0; r < ranks; ++r) {
    if (r != but) transfers.send(blockOf(of, r), r);
  }
}
void receiveEach(Transfers& transfers, const Uneven& of, int ranks, int but = -1) {
  for (int r = 0; r < ranks; ++r) {
    if (r != but) transfers.receive(blockOf(of, r), r);
  }
}

bool bothValid(Attempt& call, const Elements& one, const Elements& other) {
  call.saw(one.device || other.device);
  return call.need(one.layout.valid && other.layout.valid, Why::Arguments);
}

/// Whether a v-collective that did not run between the devices is Rondo's; `bytes`: a block of this
/// rank's.
template <class Answer>
bool isWorth(Attempt& call, const Answer& answer, size_t bytes) {
  return call.need(answer.worthUneven(call.agreedSize(bytes)), Why::Small);
}

size_t meanBlock(const Elements& of, const int* counts, int ranks) {
  return std::accumulate(counts, counts + ranks, size_t{0}) * of.layout.size /
         static_cast<size_t>(ranks);
}

/// Blocks that are significant at the root only.
Argument atRoot(const Attempt& call, int root, Argument blocks) {
  blocks.ranks = call.size();
  if (!call.isRoot(root)) blocks.counts = nullptr;
  return blocks;
}

Bytes noBytes() { return Bytes({nullptr, 0, MPI_BYTE, {true, true, 1, 1}}); }

template <class Answer, class Pass>
int allgatherv(Attempt& call, const Answer& answer, const Pass& pass, const Triple& from,
               const Uneven& to) {
  const bool inPlace = from.buffer == MPI_IN_PLACE;
  const bool good = answer.good() && to.buffer != MPI_IN_PLACE && to.good(call.size()) &&
                    (inPlace || from.count >= 0);
  if (!call.need(good, Why::Arguments)) return call.passed(pass());
  const Elements recv = elementsOf(to);
  const Elements send = inPlace ? recv : elementsOf(from);
  if (!bothValid(call, recv, send) ||
      !call.need(answer.worth(meanBlock(recv, to.counts, call.size())), Why::Small)) {
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
  return answer(call, [&] {
    return Movement{
        inPlace ? noBytes() : Bytes(send), Blocks(recv, to.counts, to.displs, call.size()),
        [=](Bytes& sent, Blocks& received) {
          if (inPlace) return received.load(me);
          if (received.overlaps(send)) sent.copy();
          sent.load();
        },
        [=](Bytes& sent, Blocks& received, rondoComm_t comm) {
          const char* mine = inPlace ? received.block(me) : sent.data();
          return rondoAllGatherV(mine, inPlace ? received.bytes(me) : send.bytes(), received.data(),
                                 received.counts(), received.displs(), rondoUint8, comm, nullptr);
        }};
  });
}

/// At the root.
template <class Answer>
int gathervHere(Attempt& call, const Answer& answer, bool inPlace, const Elements& send,
                const Elements& recv, const Uneven& to, int root) {
  return answer(call, [&] {
    return Movement{inPlace ? noBytes() : Bytes(send),
                    Blocks(recv, to.counts, to.displs, call.size()),
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
int gatherv(Attempt& call, const Answer& answer, const Pass& pass, const Triple& from,
            const Uneven& to, int root) {
  const bool isRoot = call.isRoot(root), inPlace = from.buffer == MPI_IN_PLACE;
  const bool good = answer.good() && call.hasRank(root) && (inPlace ? isRoot : from.count >= 0) &&
                    (!isRoot || (to.buffer != MPI_IN_PLACE && to.good(call.size())));
  if (!call.need(good, Why::Arguments)) return call.passed(pass());
  const Elements recv = isRoot ? elementsOf(to) : elementsOf(from);
  const Elements send = inPlace ? recv : elementsOf(from);
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
    return Movement{Bytes(send), Nothing{}, [](Bytes& sent, Nothing&) { sent.load(); },
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
    return Movement{Blocks(send, from.counts, from.displs, call.size()),
                    inPlace ? noBytes() : Bytes(recv),
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
int scatterv(Attempt& call, const Answer& answer, const Pass& pass, const Uneven& from,
             const Triple& to, int root) {
  const bool isRoot = call.isRoot(root), inPlace = to.buffer == MPI_IN_PLACE;
  const bool good = answer.good() && call.hasRank(root) && (inPlace ? isRoot : to.count >= 0) &&
                    (!isRoot || (from.buffer != MPI_IN_PLACE && from.good(call.size())));
  if (!call.need(good, Why::Arguments)) return call.passed(pass());
  const Elements send = isRoot ? elementsOf(from) : elementsOf(to);
  const Elements recv = inPlace ? send : elementsOf(to);
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
    return Movement{Nothing{}, Bytes(recv), [](Nothing&, Bytes&) {},
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

template <class Answer, class Pass>
int alltoallv(Attempt& call, const Answer& answer, const Pass& pass, const Uneven& from,
              const Uneven& to) {
  const bool inPlace = from.buffer == MPI_IN_PLACE;
  const bool good = answer.good() && to.buffer != MPI_IN_PLACE && to.good(call.size()) &&
                    (inPlace || from.good(call.size()));
  if (!call.need(good, Why::Arguments)) return call.passed(pass());
  const Elements recv = elementsOf(to);
  const Elements send = inPlace ? recv : elementsOf(from);
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
  if (!isWorth(call, answer, meanBlock(send, given, call.size()))) return call.passed(pass());
  if (inPlace) {
    return answer(call, [&] {
      return Movement{Nothing{}, Blocks(recv, to.counts, to.displs, call.size()),
                      [](Nothing&, Blocks& blocks) { blocks.load(); },
                      [](Nothing&, Blocks& blocks, rondoComm_t comm) {
                        return allToAllV(blocks, blocks, comm);
                      }};
    });
  }
  return answer(call, [&] {
    return Movement{Blocks(send, from.counts, from.displs, call.size()),
                    Blocks(recv, to.counts, to.displs, call.size()),
                    [](Blocks& sent, Blocks& received) {
                      if (received.overlaps(sent)) sent.copy();
                      sent.load();
                    },
                    [](Blocks& sent, Blocks& received, rondoComm_t comm) {
                      return allToAllV(sent, received, comm);
                    }};
  });
}

}  // namespace

int MPI_Allgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                   const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                   MPI_Comm comm) {
  Attempt call(Call::Allgatherv, comm);
  const auto pass = [&] {
    return PMPI_Allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
                           comm);
  };
  return allgatherv(call, AtOnce{}, pass, {sendbuf, sendcount, sendtype},
                    {recvbuf, recvcounts, displs, recvtype});
}

int MPI_Iallgatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                    const int recvcounts[], const int displs[], MPI_Datatype recvtype,
                    MPI_Comm comm, MPI_Request* request) {
  Attempt call(Call::Iallgatherv, comm);
  const auto pass = [&] {
    return PMPI_Iallgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype,
                            comm, request);
  };
  return allgatherv(call, Later{request}, pass, {sendbuf, sendcount, sendtype},
                    {recvbuf, recvcounts, displs, recvtype});
}

int MPI_Gatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                MPI_Comm comm) {
  Attempt call(Call::Gatherv, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Gatherv(from, sendcount, sendtype, to, recvcounts, displs, recvtype, root, comm);
  };
  const auto pass = [&] {
    return handOn(comm, {sendbuf, sendtype, &sendcount, nullptr},
                  atRoot(call, root, {recvbuf, recvtype, recvcounts, displs}), mpi);
  };
  return gatherv(call, AtOnce{}, pass, {sendbuf, sendcount, sendtype},
                 {recvbuf, recvcounts, displs, recvtype}, root);
}

int MPI_Igatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                 const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                 MPI_Comm comm, MPI_Request* request) {
  Attempt call(Call::Igatherv, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Igatherv(from, sendcount, sendtype, to, recvcounts, displs, recvtype, root, comm,
                         request);
  };
  const auto pass = [&] {
    return handOnLater(comm, {sendbuf, sendtype, &sendcount, nullptr},
                       atRoot(call, root, {recvbuf, recvtype, recvcounts, displs}), request, mpi);
  };
  return gatherv(call, Later{request}, pass, {sendbuf, sendcount, sendtype},
                 {recvbuf, recvcounts, displs, recvtype}, root);
}

int MPI_Scatterv(const void* sendbuf, const int sendcounts[], const int displs[],
                 MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                 int root, MPI_Comm comm) {
  Attempt call(Call::Scatterv, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Scatterv(from, sendcounts, displs, sendtype, to, recvcount, recvtype, root, comm);
  };
  const auto pass = [&] {
    return handOn(comm, atRoot(call, root, {sendbuf, sendtype, sendcounts, displs}),
                  {recvbuf, recvtype, &recvcount, nullptr}, mpi);
  };
  return scatterv(call, AtOnce{}, pass, {sendbuf, sendcounts, displs, sendtype},
                  {recvbuf, recvcount, recvtype}, root);
}

int MPI_Iscatterv(const void* sendbuf, const int sendcounts[], const int displs[],
                  MPI_Datatype sendtype, void* recvbuf, int recvcount, MPI_Datatype recvtype,
                  int root, MPI_Comm comm, MPI_Request* request) {
  Attempt call(Call::Iscatterv, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Iscatterv(from, sendcounts, displs, sendtype, to, recvcount, recvtype, root, comm,
                          request);
  };
  const auto pass = [&] {
    return handOnLater(comm, atRoot(call, root, {sendbuf, sendtype, sendcounts, displs}),
                       {recvbuf, recvtype, &recvcount, nullptr}, request, mpi);
  };
  return scatterv(call, Later{request}, pass, {sendbuf, sendcounts, displs, sendtype},
                  {recvbuf, recvcount, recvtype}, root);
}

int MPI_Alltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                  MPI_Datatype sendtype, void* recvbuf, const int recvcounts[], const int rdispls[],
                  MPI_Datatype recvtype, MPI_Comm comm) {
  Attempt call(Call::Alltoallv, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Alltoallv(from, sendcounts, sdispls, sendtype, to, recvcounts, rdispls, recvtype,
                          comm);
  };
  const auto pass = [&] {
    return handOn(comm, {sendbuf, sendtype, sendcounts, sdispls, call.size()},
                  {recvbuf, recvtype, recvcounts, rdispls, call.size()}, mpi);
  };
  return alltoallv(call, AtOnce{}, pass, {sendbuf, sendcounts, sdispls, sendtype},
                   {recvbuf, recvcounts, rdispls, recvtype});
}

int MPI_Ialltoallv(const void* sendbuf, const int sendcounts[], const int sdispls[],
                   MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                   const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                   MPI_Request* request) {
  Attempt call(Call::Ialltoallv, comm);
  const auto mpi = [&](const void* from, void* to) {
    return PMPI_Ialltoallv(from, sendcounts, sdispls, sendtype, to, recvcounts, rdispls, recvtype,
                           comm, request);
  };
  const auto pass = [&] {
    return handOnLater(comm, {sendbuf, sendtype, sendcounts, sdispls, call.size()},
                       {recvbuf, recvtype, recvcounts, rdispls, call.size()}, request, mpi);
  };
  return alltoallv(call, Later{request}, pass, {sendbuf, sendcounts, sdispls, sendtype},
                   {recvbuf, recvcounts, rdispls, recvtype});
}
