// MPI's persistent collectives that reduce, and the starts of all persistent requests: MPI makes
// the requests, and starts those that are not Rondo's.

#include <numeric>

#include "drop_in/mpi/persistent_init.h"
#include "drop_in/mpi/types.h"

using namespace rondo::drop_in;

int MPI_Start(MPI_Request* request) {
  int code = MPI_SUCCESS;
  if (anyPersistent() && request != nullptr && startPersistent(*request, &code)) return code;
  if (anyPersistentMessage() && request != nullptr && startMessage(request, &code)) return code;
  return PMPI_Start(request);
}

int MPI_Startall(int count, MPI_Request requests[]) {
  const bool anyOurs = anyPersistent() || anyPersistentMessage();
  if (!anyOurs || count <= 0 || requests == nullptr) return PMPI_Startall(count, requests);
  for (int i = 0; i < count; ++i) {
    if (const int code = MPI_Start(&requests[i]); code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

#if defined(RONDO_INIT)

namespace {

/// Whether Rondo would reduce them: an operator of the program's sees its own types, not a kept
/// one.
bool worth(long long count, MPI_Datatype type, MPI_Op op) {
  return reductionOf(type, op).why == Why::Taken && large(count, type);
}

}  // namespace

int RONDO_INIT(Allreduce)(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  const auto mpi = [&](const void* from, void* to) {
    return RONDO_MPIS_INIT(Allreduce)(from, to, count, type, op, comm, info, request);
  };
  return init(
      comm, request, AmongAll{oneBlock(send, count, type), oneBlock(recv, count, type)}, mpi,
      [&] { return worth(count, type, op); },
      [&] {
        return [=, kept = LastingType(type)](MPI_Comm own, MPI_Request* begun) {
          return MPI_Iallreduce(send, recv, count, kept, op, own, begun);
        };
      });
}

int RONDO_INIT(Reduce)(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
                       int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  const auto mpi = [&](const void* from, void* to) {
    return RONDO_MPIS_INIT(Reduce)(from, to, count, type, op, root, comm, info, request);
  };
  return init(
      comm, request, ToRoot{oneBlock(send, count, type), oneBlock(recv, count, type), root}, mpi,
      [&] { return worth(count, type, op); },
      [&] {
        return [=, kept = LastingType(type)](MPI_Comm own, MPI_Request* begun) {
          return MPI_Ireduce(send, recv, count, kept, op, root, own, begun);
        };
      });
}

int RONDO_INIT(Scan)(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  const auto mpi = [&](const void* from, void* to) {
    return RONDO_MPIS_INIT(Scan)(from, to, count, type, op, comm, info, request);
  };
  return init(
      comm, request, AmongAll{oneBlock(send, count, type), oneBlock(recv, count, type)}, mpi,
      [&] { return worth(count, type, op); },
      [&] {
        return [=, kept = LastingType(type)](MPI_Comm own, MPI_Request* begun) {
          return MPI_Iscan(send, recv, count, kept, op, own, begun);
        };
      });
}

int RONDO_INIT(Exscan)(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  const auto mpi = [&](const void* from, void* to) {
    return RONDO_MPIS_INIT(Exscan)(from, to, count, type, op, comm, info, request);
  };
  return init(
      comm, request, AfterOthers{oneBlock(send, count, type), oneBlock(recv, count, type)}, mpi,
      [&] { return worth(count, type, op); },
      [&] {
        return [=, kept = LastingType(type)](MPI_Comm own, MPI_Request* begun) {
          return MPI_Iexscan(send, recv, count, kept, op, own, begun);
        };
      });
}

int RONDO_INIT(Reduce_scatter_block)(const void* send, void* recv, int count, MPI_Datatype type,
                                     MPI_Op op, MPI_Comm comm, MPI_Info info,
                                     MPI_Request* request) {
  const auto mpi = [&](const void* from, void* to) {
    return RONDO_MPIS_INIT(Reduce_scatter_block)(from, to, count, type, op, comm, info, request);
  };
  return init(
      comm, request, Scattered{{send}, evenBlocks(recv, count, type)}, mpi,
      [&] { return worth(static_cast<long long>(count) * sizeOf(comm), type, op); },
      [&] {
        return [=, kept = LastingType(type)](MPI_Comm own, MPI_Request* begun) {
          return MPI_Ireduce_scatter_block(send, recv, count, kept, op, own, begun);
        };
      });
}

int RONDO_INIT(Reduce_scatter)(const void* send, void* recv, const int counts[], MPI_Datatype type,
                               MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  const auto mpi = [&](const void* from, void* to) {
    return RONDO_MPIS_INIT(Reduce_scatter)(from, to, counts, type, op, comm, info, request);
  };
  return init(
      comm, request, Scattered{{send}, blocksOf(recv, counts, nullptr, type)}, mpi,
      [&] { return worth(std::accumulate(counts, counts + sizeOf(comm), 0LL), type, op); },
      [&] {
        return [=, kept = LastingType(type), numbers = LastingNumbers(counts, sizeOf(comm))](
                   MPI_Comm own, MPI_Request* begun) {
          return MPI_Ireduce_scatter(send, recv, numbers, kept, op, own, begun);
        };
      });
}

#endif
