// Persistent collectives that are not answered at all: MPI's requests, of copies of what lies on a
// device.

#include "drop_in/mpi/neighbours.h"
#include "drop_in/mpi/persistent_init.h"

#if defined(RONDO_INIT)

using namespace rondo::drop_in;

namespace {

/// The request of a neighbourhood collective, made by mpi(send, recv), or in a rehearsal of what
/// start(degrees) gives.
template <class Mpi, class MakeStart>
int initAmongNeighbours(MPI_Comm comm, MPI_Request* request, const NeighbourBlocks& in,
                        const NeighbourBlocks& out, const Mpi& mpi, const MakeStart& start) {
  if (rehearsed(comm) != nullptr) [[unlikely]]
    return rehearsePersistent(
        comm, [&] { return Start(start(degreesOf(comm))); }, request);
  if (!devicesOn) [[likely]]
    return mpi(in.buffer, const_cast<void*>(out.buffer));
  HeldBlocks blocks;
  const int code = amongNeighbours(comm, in, out, [&](const Argument& send, const Argument& recv) {
    return initOnTwins(comm, send, recv, mpi, &blocks);
  });
  if (blocks != nullptr) keepMessage(*request, blocks);
  return code;
}

}  // namespace

int RONDO_INIT(Alltoallw)(const void* send, const int sendcounts[], const int sendplaces[],
                          const MPI_Datatype sendtypes[], void* recv, const int recvcounts[],
                          const int recvplaces[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                          MPI_Info info, MPI_Request* request) {
  if (const KnownComm* known = rehearsed(comm)) [[unlikely]] {
    const int sent = send == MPI_IN_PLACE ? 0 : known->size, got = known->size;
    return rehearsePersistent(
        comm,
        [&] {
          return Start(
              [=, from = LastingTypes(sendtypes, sent), to = LastingTypes(recvtypes, got),
               sends = LastingNumbers(sendcounts, sent), sendAt = LastingNumbers(sendplaces, sent),
               receives = LastingNumbers(recvcounts, got),
               recvAt = LastingNumbers(recvplaces, got)](MPI_Comm own, MPI_Request* begun) {
                return MPI_Ialltoallw(send, sends, sendAt, from, recv, receives, recvAt, to, own,
                                      begun);
              });
        },
        request);
  }
  const auto mpi = [&](const void* from, void* to) {
    return RONDO_MPIS_INIT(Alltoallw)(from, sendcounts, sendplaces, sendtypes, to, recvcounts,
                                      recvplaces, recvtypes, comm, info, request);
  };
  HeldBlocks blocks;
  const int code = initMpis(comm,
                            AmongAll{blocksOf(send, sendcounts, sendplaces, sendtypes),
                                     blocksOf(recv, recvcounts, recvplaces, recvtypes)},
                            mpi, &blocks);
  if (blocks != nullptr) keepMessage(*request, blocks);
  return code;
}

int RONDO_INIT(Neighbor_allgather)(const void* in, int sends, MPI_Datatype sendType, void* out,
                                   int receives, MPI_Datatype recvType, MPI_Comm comm,
                                   MPI_Info info, MPI_Request* request) {
  const auto mpi = [&](const void* from, void* to) {
    return RONDO_MPIS_INIT(Neighbor_allgather)(from, sends, sendType, to, receives, recvType, comm,
                                               info, request);
  };
  return initAmongNeighbours(
      comm, request, {in, sends, sendType, nullptr, nullptr, nullptr, nullptr, true},
      {out, receives, recvType}, mpi, [&](const Degrees&) {
        return [=, from = LastingType(sendType), to = LastingType(recvType)](MPI_Comm own,
                                                                             MPI_Request* begun) {
          return MPI_Ineighbor_allgather(in, sends, from, out, receives, to, own, begun);
        };
      });
}

int RONDO_INIT(Neighbor_allgatherv)(const void* in, int sends, MPI_Datatype sendType, void* out,
                                    const int receives[], const int places[], MPI_Datatype recvType,
                                    MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  const auto mpi = [&](const void* from, void* to) {
    return RONDO_MPIS_INIT(Neighbor_allgatherv)(from, sends, sendType, to, receives, places,
                                                recvType, comm, info, request);
  };
  return initAmongNeighbours(
      comm, request, {in, sends, sendType, nullptr, nullptr, nullptr, nullptr, true},
      {out, 0, recvType, receives, places}, mpi, [&](const Degrees& of) {
        return [=, from = LastingType(sendType), to = LastingType(recvType),
                numbers = LastingNumbers(receives, of.from),
                at = LastingNumbers(places, of.from)](MPI_Comm own, MPI_Request* begun) {
          return MPI_Ineighbor_allgatherv(in, sends, from, out, numbers, at, to, own, begun);
        };
      });
}

int RONDO_INIT(Neighbor_alltoall)(const void* in, int sends, MPI_Datatype sendType, void* out,
                                  int receives, MPI_Datatype recvType, MPI_Comm comm, MPI_Info info,
                                  MPI_Request* request) {
  const auto mpi = [&](const void* from, void* to) {
    return RONDO_MPIS_INIT(Neighbor_alltoall)(from, sends, sendType, to, receives, recvType, comm,
                                              info, request);
  };
  return initAmongNeighbours(
      comm, request, {in, sends, sendType}, {out, receives, recvType}, mpi, [&](const Degrees&) {
        return [=, from = LastingType(sendType), to = LastingType(recvType)](MPI_Comm own,
                                                                             MPI_Request* begun) {
          return MPI_Ineighbor_alltoall(in, sends, from, out, receives, to, own, begun);
        };
      });
}

int RONDO_INIT(Neighbor_alltoallv)(const void* in, const int sends[], const int sendPlaces[],
                                   MPI_Datatype sendType, void* out, const int receives[],
                                   const int recvPlaces[], MPI_Datatype recvType, MPI_Comm comm,
                                   MPI_Info info, MPI_Request* request) {
  const auto mpi = [&](const void* from, void* to) {
    return RONDO_MPIS_INIT(Neighbor_alltoallv)(from, sends, sendPlaces, sendType, to, receives,
                                               recvPlaces, recvType, comm, info, request);
  };
  return initAmongNeighbours(
      comm, request, {in, 0, sendType, sends, sendPlaces}, {out, 0, recvType, receives, recvPlaces},
      mpi, [&](const Degrees& of) {
        return [=, from = LastingType(sendType), to = LastingType(recvType),
                sent = LastingNumbers(sends, of.to), sentAt = LastingNumbers(sendPlaces, of.to),
                got = LastingNumbers(receives, of.from),
                gotAt = LastingNumbers(recvPlaces, of.from)](MPI_Comm own, MPI_Request* begun) {
          return MPI_Ineighbor_alltoallv(in, sent, sentAt, from, out, got, gotAt, to, own, begun);
        };
      });
}

int RONDO_INIT(Neighbor_alltoallw)(const void* in, const int sends[], const MPI_Aint sendPlaces[],
                                   const MPI_Datatype sendTypes[], void* out, const int receives[],
                                   const MPI_Aint recvPlaces[], const MPI_Datatype recvTypes[],
                                   MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  const auto mpi = [&](const void* from, void* to) {
    return RONDO_MPIS_INIT(Neighbor_alltoallw)(from, sends, sendPlaces, sendTypes, to, receives,
                                               recvPlaces, recvTypes, comm, info, request);
  };
  return initAmongNeighbours(
      comm, request, {in, 0, MPI_DATATYPE_NULL, sends, nullptr, sendTypes, sendPlaces},
      {out, 0, MPI_DATATYPE_NULL, receives, nullptr, recvTypes, recvPlaces}, mpi,
      [&](const Degrees& of) {
        return [=, from = LastingTypes(sendTypes, of.to), to = LastingTypes(recvTypes, of.from),
                sent = LastingNumbers(sends, of.to), sentAt = Lasting<MPI_Aint>(sendPlaces, of.to),
                got = LastingNumbers(receives, of.from),
                gotAt = Lasting<MPI_Aint>(recvPlaces, of.from)](MPI_Comm own, MPI_Request* begun) {
          return MPI_Ineighbor_alltoallw(in, sent, sentAt, from, out, got, gotAt, to, own, begun);
        };
      });
}

int RONDO_INIT(Barrier)(MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  if (rehearsed(comm) != nullptr) [[unlikely]]
    return rehearsePersistent(
        comm, [] { return Start(MPI_Ibarrier); }, request);
  return RONDO_MPIS_INIT(Barrier)(comm, info, request);
}

#endif
