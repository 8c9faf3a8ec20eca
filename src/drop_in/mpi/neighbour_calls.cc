// MPI's neighbourhood collectives: MPI's, but in a rehearsal, where they are timed as the sends and
// receives that they are. Memory is left as it is there; else device memory goes by way of the
// host.

#include <mpi.h>

#include <string>
#include <vector>

#include "drop_in/mpi/failure.h"
#include "drop_in/mpi/neighbours.h"
#include "drop_in/mpi/rehearsal.h"
#include "drop_in/mpi/rehearsed_calls.h"
#include "drop_in/mpi/rehearsed_topology.h"

using namespace rondo;
using namespace rondo::drop_in;

namespace {

/// What is exchanged with each neighbour.
struct Block {
  int count;
  MPI_Datatype type;
};

/// Notes the transfers with all neighbours; `sent` and `received` give the block of the i-th one.
template <class Sent, class Received>
int exchange(const KnownComm& known, MPI_Comm comm, const char* call, const Sent& sent,
             const Received& received) {
  const Topology* const topology = known.rehearsed.topology.get();
  if (topology == nullptr) {
    return raiseMistake(comm, MPI_ERR_TOPOLOGY,
                        std::string(call) + ": the communicator has no topology");
  }
  const Neighbours neighbours = neighboursOf(*topology, known.rank);
  int code = MPI_SUCCESS;
  for (size_t i = 0; i < neighbours.to.size() && code == MPI_SUCCESS; ++i) {
    const Block block = sent(i);
    code = noteTransfer(known, comm, call, {block.count, block.type, neighbours.to[i], 0}, true);
  }
  for (size_t i = 0; i < neighbours.from.size() && code == MPI_SUCCESS; ++i) {
    const Block block = received(i);
    code = noteTransfer(known, comm, call, {block.count, block.type, neighbours.from[i], 0}, false);
  }
  return code;
}

auto alike(int count, MPI_Datatype type) {
  return [=](size_t) { return Block{count, type}; };
}
auto each(const int counts[], MPI_Datatype type) {
  return [=](size_t i) { return Block{counts[i], type}; };
}
auto each(const int counts[], const MPI_Datatype types[]) {
  return [=](size_t i) { return Block{counts[i], types[i]}; };
}

/// The blocking call, and the one that gives a request.
template <class Sent, class Received>
int now(const KnownComm& known, MPI_Comm comm, const char* call, const Sent& sent,
        const Received& received) {
  const int code = exchange(known, comm, call, sent, received);
  flushTransfers();
  return code;
}
template <class Sent, class Received>
int later(const KnownComm& known, MPI_Comm comm, const char* call, const Sent& sent,
          const Received& received, MPI_Request* request) {
  const int code = exchange(known, comm, call, sent, received);
  return code == MPI_SUCCESS ? completeRequest(request) : code;
}

/// MPI's call: mpi(in, out).
template <class Mpi>
int mpisNow(MPI_Comm comm, const NeighbourBlocks& in, const NeighbourBlocks& out, const Mpi& mpi) {
  if (!devicesOn) [[likely]]
    return mpi(in.buffer, const_cast<void*>(out.buffer));
  const int code = amongNeighbours(comm, in, out, [&](const Argument& send, const Argument& recv) {
    return handOn(comm, send, recv, mpi);
  });
  endFreed();
  return code;
}
template <class Mpi>
int mpisLater(MPI_Comm comm, const NeighbourBlocks& in, const NeighbourBlocks& out,
              MPI_Request* request, const Mpi& mpi) {
  if (!devicesOn) [[likely]]
    return mpi(in.buffer, const_cast<void*>(out.buffer));
  return amongNeighbours(comm, in, out, [&](const Argument& send, const Argument& recv) {
    return handOnLater(comm, send, recv, request, mpi);
  });
}

}  // namespace

int MPI_Neighbor_allgather(const void* in, int sends, MPI_Datatype sendType, void* out,
                           int receives, MPI_Datatype recvType, MPI_Comm comm) {
  const KnownComm* known = rehearsed(comm);
  if (known == nullptr) {
    return mpisNow(comm, {in, sends, sendType, nullptr, nullptr, nullptr, nullptr, true},
                   {out, receives, recvType}, [&](const void* send, void* recv) {
                     return PMPI_Neighbor_allgather(send, sends, sendType, recv, receives, recvType,
                                                    comm);
                   });
  }
  return now(*known, comm, "MPI_Neighbor_allgather", alike(sends, sendType),
             alike(receives, recvType));
}

int MPI_Neighbor_allgatherv(const void* in, int sends, MPI_Datatype sendType, void* out,
                            const int receives[], const int places[], MPI_Datatype recvType,
                            MPI_Comm comm) {
  const KnownComm* known = rehearsed(comm);
  if (known == nullptr) {
    return mpisNow(comm, {in, sends, sendType, nullptr, nullptr, nullptr, nullptr, true},
                   {out, 0, recvType, receives, places}, [&](const void* send, void* recv) {
                     return PMPI_Neighbor_allgatherv(send, sends, sendType, recv, receives, places,
                                                     recvType, comm);
                   });
  }
  return now(*known, comm, "MPI_Neighbor_allgatherv", alike(sends, sendType),
             each(receives, recvType));
}

int MPI_Neighbor_alltoall(const void* in, int sends, MPI_Datatype sendType, void* out, int receives,
                          MPI_Datatype recvType, MPI_Comm comm) {
  const KnownComm* known = rehearsed(comm);
  if (known == nullptr) {
    return mpisNow(
        comm, {in, sends, sendType}, {out, receives, recvType}, [&](const void* send, void* recv) {
          return PMPI_Neighbor_alltoall(send, sends, sendType, recv, receives, recvType, comm);
        });
  }
  return now(*known, comm, "MPI_Neighbor_alltoall", alike(sends, sendType),
             alike(receives, recvType));
}

int MPI_Neighbor_alltoallv(const void* in, const int sends[], const int from[],
                           MPI_Datatype sendType, void* out, const int receives[], const int to[],
                           MPI_Datatype recvType, MPI_Comm comm) {
  const KnownComm* known = rehearsed(comm);
  if (known == nullptr) {
    return mpisNow(comm, {in, 0, sendType, sends, from}, {out, 0, recvType, receives, to},
                   [&](const void* send, void* recv) {
                     return PMPI_Neighbor_alltoallv(send, sends, from, sendType, recv, receives, to,
                                                    recvType, comm);
                   });
  }
  return now(*known, comm, "MPI_Neighbor_alltoallv", each(sends, sendType),
             each(receives, recvType));
}

int MPI_Neighbor_alltoallw(const void* in, const int sends[], const MPI_Aint from[],
                           const MPI_Datatype sendTypes[], void* out, const int receives[],
                           const MPI_Aint to[], const MPI_Datatype recvTypes[], MPI_Comm comm) {
  const KnownComm* known = rehearsed(comm);
  if (known == nullptr) {
    return mpisNow(comm, {in, 0, MPI_DATATYPE_NULL, sends, nullptr, sendTypes, from},
                   {out, 0, MPI_DATATYPE_NULL, receives, nullptr, recvTypes, to},
                   [&](const void* send, void* recv) {
                     return PMPI_Neighbor_alltoallw(send, sends, from, sendTypes, recv, receives,
                                                    to, recvTypes, comm);
                   });
  }
  return now(*known, comm, "MPI_Neighbor_alltoallw", each(sends, sendTypes),
             each(receives, recvTypes));
}

int MPI_Ineighbor_allgather(const void* in, int sends, MPI_Datatype sendType, void* out,
                            int receives, MPI_Datatype recvType, MPI_Comm comm,
                            MPI_Request* request) {
  const KnownComm* known = rehearsed(comm);
  if (known == nullptr) {
    return mpisLater(comm, {in, sends, sendType, nullptr, nullptr, nullptr, nullptr, true},
                     {out, receives, recvType}, request, [&](const void* send, void* recv) {
                       return PMPI_Ineighbor_allgather(send, sends, sendType, recv, receives,
                                                       recvType, comm, request);
                     });
  }
  return later(*known, comm, "MPI_Ineighbor_allgather", alike(sends, sendType),
               alike(receives, recvType), request);
}

int MPI_Ineighbor_allgatherv(const void* in, int sends, MPI_Datatype sendType, void* out,
                             const int receives[], const int places[], MPI_Datatype recvType,
                             MPI_Comm comm, MPI_Request* request) {
  const KnownComm* known = rehearsed(comm);
  if (known == nullptr) {
    return mpisLater(comm, {in, sends, sendType, nullptr, nullptr, nullptr, nullptr, true},
                     {out, 0, recvType, receives, places}, request,
                     [&](const void* send, void* recv) {
                       return PMPI_Ineighbor_allgatherv(send, sends, sendType, recv, receives,
                                                        places, recvType, comm, request);
                     });
  }
  return later(*known, comm, "MPI_Ineighbor_allgatherv", alike(sends, sendType),
               each(receives, recvType), request);
}

int MPI_Ineighbor_alltoall(const void* in, int sends, MPI_Datatype sendType, void* out,
                           int receives, MPI_Datatype recvType, MPI_Comm comm,
                           MPI_Request* request) {
  const KnownComm* known = rehearsed(comm);
  if (known == nullptr) {
    return mpisLater(comm, {in, sends, sendType}, {out, receives, recvType}, request,
                     [&](const void* send, void* recv) {
                       return PMPI_Ineighbor_alltoall(send, sends, sendType, recv, receives,
                                                      recvType, comm, request);
                     });
  }
  return later(*known, comm, "MPI_Ineighbor_alltoall", alike(sends, sendType),
               alike(receives, recvType), request);
}

int MPI_Ineighbor_alltoallv(const void* in, const int sends[], const int from[],
                            MPI_Datatype sendType, void* out, const int receives[], const int to[],
                            MPI_Datatype recvType, MPI_Comm comm, MPI_Request* request) {
  const KnownComm* known = rehearsed(comm);
  if (known == nullptr) {
    return mpisLater(comm, {in, 0, sendType, sends, from}, {out, 0, recvType, receives, to},
                     request, [&](const void* send, void* recv) {
                       return PMPI_Ineighbor_alltoallv(send, sends, from, sendType, recv, receives,
                                                       to, recvType, comm, request);
                     });
  }
  return later(*known, comm, "MPI_Ineighbor_alltoallv", each(sends, sendType),
               each(receives, recvType), request);
}

int MPI_Ineighbor_alltoallw(const void* in, const int sends[], const MPI_Aint from[],
                            const MPI_Datatype sendTypes[], void* out, const int receives[],
                            const MPI_Aint to[], const MPI_Datatype recvTypes[], MPI_Comm comm,
                            MPI_Request* request) {
  const KnownComm* known = rehearsed(comm);
  if (known == nullptr) {
    return mpisLater(comm, {in, 0, MPI_DATATYPE_NULL, sends, nullptr, sendTypes, from},
                     {out, 0, MPI_DATATYPE_NULL, receives, nullptr, recvTypes, to}, request,
                     [&](const void* send, void* recv) {
                       return PMPI_Ineighbor_alltoallw(send, sends, from, sendTypes, recv, receives,
                                                       to, recvTypes, comm, request);
                     });
  }
  return later(*known, comm, "MPI_Ineighbor_alltoallw", each(sends, sendTypes),
               each(receives, recvTypes), request);
}
