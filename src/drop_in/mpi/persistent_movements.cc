// MPI's persistent collectives that move blocks as they are.

#include "drop_in/mpi/persistent_init.h"

#if defined(RONDO_INIT)

using namespace rondo::drop_in;

int RONDO_INIT(Bcast)(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                      MPI_Info info, MPI_Request* request) {
  const auto mpi = [&](const void* from, void* to) {
    return RONDO_MPIS_INIT(Bcast)(from != buffer ? const_cast<void*>(from) : to, count, type, root,
                                  comm, info, request);
  };
  return init(
      comm, request,
      FromRootToOthers{oneBlock(buffer, count, type), oneBlock(buffer, count, type), root}, mpi,
      [&] { return quick(comm, Call::Ibcast, count, type); },
      [&] {
        return [=, kept = LastingType(type)](MPI_Comm own, MPI_Request* begun) {
          return MPI_Ibcast(buffer, count, kept, root, own, begun);
        };
      });
}

int RONDO_INIT(Allgather)(const void* send, int sendcount, MPI_Datatype sendtype, void* recv,
                          int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                          MPI_Request* request) {
  const auto mpi = [&](const void* from, void* to) {
    return RONDO_MPIS_INIT(Allgather)(from, sendcount, sendtype, to, recvcount, recvtype, comm,
                                      info, request);
  };
  return init(
      comm, request,
      AmongAll{oneBlock(send, sendcount, sendtype), evenBlocks(recv, recvcount, recvtype)}, mpi,
      [&] { return quick(comm, Call::Iallgather, recvcount, recvtype); },
      [&] {
        return [=, from = LastingType(sendtype, send != MPI_IN_PLACE), to = LastingType(recvtype)](
                   MPI_Comm own, MPI_Request* begun) {
          return MPI_Iallgather(send, sendcount, from, recv, recvcount, to, own, begun);
        };
      });
}

int RONDO_INIT(Allgatherv)(const void* send, int sendcount, MPI_Datatype sendtype, void* recv,
                           const int counts[], const int places[], MPI_Datatype recvtype,
                           MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  const auto mpi = [&](const void* from, void* to) {
    return RONDO_MPIS_INIT(Allgatherv)(from, sendcount, sendtype, to, counts, places, recvtype,
                                       comm, info, request);
  };
  return init(
      comm, request,
      AmongAll{oneBlock(send, sendcount, sendtype), blocksOf(recv, counts, places, recvtype)}, mpi,
      [&] { return quick(comm, Call::Iallgatherv, most(counts, comm), recvtype); },
      [&] {
        return [=, from = LastingType(sendtype, send != MPI_IN_PLACE), to = LastingType(recvtype),
                numbers = LastingNumbers(counts, sizeOf(comm)),
                at = LastingNumbers(places, sizeOf(comm))](MPI_Comm own, MPI_Request* begun) {
          return MPI_Iallgatherv(send, sendcount, from, recv, numbers, at, to, own, begun);
        };
      });
}

int RONDO_INIT(Alltoall)(const void* send, int sendcount, MPI_Datatype sendtype, void* recv,
                         int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                         MPI_Request* request) {
  const auto mpi = [&](const void* from, void* to) {
    return RONDO_MPIS_INIT(Alltoall)(from, sendcount, sendtype, to, recvcount, recvtype, comm, info,
                                     request);
  };
  return init(
      comm, request,
      AmongAll{evenBlocks(send, sendcount, sendtype), evenBlocks(recv, recvcount, recvtype)}, mpi,
      [&] { return quick(comm, Call::Ialltoall, recvcount, recvtype); },
      [&] {
        return [=, from = LastingType(sendtype, send != MPI_IN_PLACE), to = LastingType(recvtype)](
                   MPI_Comm own, MPI_Request* begun) {
          return MPI_Ialltoall(send, sendcount, from, recv, recvcount, to, own, begun);
        };
      });
}

int RONDO_INIT(Alltoallv)(const void* send, const int sendcounts[], const int sendplaces[],
                          MPI_Datatype sendtype, void* recv, const int recvcounts[],
                          const int recvplaces[], MPI_Datatype recvtype, MPI_Comm comm,
                          MPI_Info info, MPI_Request* request) {
  const int used = send != MPI_IN_PLACE ? sizeOf(comm) : 0;
  const auto mpi = [&](const void* from, void* to) {
    return RONDO_MPIS_INIT(Alltoallv)(from, sendcounts, sendplaces, sendtype, to, recvcounts,
                                      recvplaces, recvtype, comm, info, request);
  };
  return init(
      comm, request,
      AmongAll{blocksOf(send, sendcounts, sendplaces, sendtype),
               blocksOf(recv, recvcounts, recvplaces, recvtype)},
      mpi, [&] { return quick(comm, Call::Ialltoallv, most(recvcounts, comm), recvtype); },
      [&] {
        return
            [=, from = LastingType(sendtype, used > 0), to = LastingType(recvtype),
             sent = LastingNumbers(sendcounts, used), sentAt = LastingNumbers(sendplaces, used),
             got = LastingNumbers(recvcounts, sizeOf(comm)),
             gotAt = LastingNumbers(recvplaces, sizeOf(comm))](MPI_Comm own, MPI_Request* begun) {
              return MPI_Ialltoallv(send, sent, sentAt, from, recv, got, gotAt, to, own, begun);
            };
      });
}

int RONDO_INIT(Gather)(const void* send, int sendcount, MPI_Datatype sendtype, void* recv,
                       int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                       MPI_Request* request) {
  const auto mpi = [&](const void* from, void* to) {
    return RONDO_MPIS_INIT(Gather)(from, sendcount, sendtype, to, recvcount, recvtype, root, comm,
                                   info, request);
  };
  return init(
      comm, request,
      ToRoot{oneBlock(send, sendcount, sendtype), evenBlocks(recv, recvcount, recvtype), root}, mpi,
      [&] {
        return send != MPI_IN_PLACE ? quick(comm, Call::Igather, sendcount, sendtype)
                                    : quick(comm, Call::Igather, recvcount, recvtype);
      },
      [&] {
        return [=, from = LastingType(sendtype, send != MPI_IN_PLACE),
                to = LastingType(recvtype, isRoot(comm, root))](MPI_Comm own, MPI_Request* begun) {
          return MPI_Igather(send, sendcount, from, recv, recvcount, to, root, own, begun);
        };
      });
}

int RONDO_INIT(Gatherv)(const void* send, int sendcount, MPI_Datatype sendtype, void* recv,
                        const int counts[], const int places[], MPI_Datatype recvtype, int root,
                        MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  const int used = isRoot(comm, root) ? sizeOf(comm) : 0;
  const auto mpi = [&](const void* from, void* to) {
    return RONDO_MPIS_INIT(Gatherv)(from, sendcount, sendtype, to, counts, places, recvtype, root,
                                    comm, info, request);
  };
  return init(
      comm, request,
      ToRoot{oneBlock(send, sendcount, sendtype), blocksOf(recv, counts, places, recvtype), root},
      mpi,
      [&] {
        return used > 0 ? quick(comm, Call::Igatherv, most(counts, comm), recvtype)
                        : quick(comm, Call::Igatherv, sendcount, sendtype);
      },
      [&] {
        return [=, from = LastingType(sendtype, send != MPI_IN_PLACE),
                to = LastingType(recvtype, used > 0), numbers = LastingNumbers(counts, used),
                at = LastingNumbers(places, used)](MPI_Comm own, MPI_Request* begun) {
          return MPI_Igatherv(send, sendcount, from, recv, numbers, at, to, root, own, begun);
        };
      });
}

int RONDO_INIT(Scatter)(const void* send, int sendcount, MPI_Datatype sendtype, void* recv,
                        int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm,
                        MPI_Info info, MPI_Request* request) {
  const auto mpi = [&](const void* from, void* to) {
    return RONDO_MPIS_INIT(Scatter)(from, sendcount, sendtype, to, recvcount, recvtype, root, comm,
                                    info, request);
  };
  return init(
      comm, request,
      FromRoot{evenBlocks(send, sendcount, sendtype), oneBlock(recv, recvcount, recvtype), root},
      mpi,
      [&] {
        return recv != MPI_IN_PLACE ? quick(comm, Call::Iscatter, recvcount, recvtype)
                                    : quick(comm, Call::Iscatter, sendcount, sendtype);
      },
      [&] {
        return
            [=, from = LastingType(sendtype, isRoot(comm, root)),
             to = LastingType(recvtype, recv != MPI_IN_PLACE)](MPI_Comm own, MPI_Request* begun) {
              return MPI_Iscatter(send, sendcount, from, recv, recvcount, to, root, own, begun);
            };
      });
}

int RONDO_INIT(Scatterv)(const void* send, const int counts[], const int places[],
                         MPI_Datatype sendtype, void* recv, int recvcount, MPI_Datatype recvtype,
                         int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  const int used = isRoot(comm, root) ? sizeOf(comm) : 0;
  const auto mpi = [&](const void* from, void* to) {
    return RONDO_MPIS_INIT(Scatterv)(from, counts, places, sendtype, to, recvcount, recvtype, root,
                                     comm, info, request);
  };
  return init(
      comm, request,
      FromRoot{blocksOf(send, counts, places, sendtype), oneBlock(recv, recvcount, recvtype), root},
      mpi,
      [&] {
        return used > 0 ? quick(comm, Call::Iscatterv, most(counts, comm), sendtype)
                        : quick(comm, Call::Iscatterv, recvcount, recvtype);
      },
      [&] {
        return [=, from = LastingType(sendtype, used > 0),
                to = LastingType(recvtype, recv != MPI_IN_PLACE),
                numbers = LastingNumbers(counts, used),
                at = LastingNumbers(places, used)](MPI_Comm own, MPI_Request* begun) {
          return MPI_Iscatterv(send, numbers, at, from, recv, recvcount, to, root, own, begun);
        };
      });
}

#endif
