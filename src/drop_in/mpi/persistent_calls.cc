// MPI's persistent collectives: MPI makes their requests, and starts those that are not Rondo's.
// Those of Open MPI 4.1 have the prefix MPIX_. Barriers and calls whose types differ from block to
// block are MPI's.

#include <mpi.h>
#if MPI_VERSION < 4 && defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "drop_in/mpi/comms.h"
#include "drop_in/mpi/layout.h"
#include "drop_in/mpi/persistent.h"
#include "drop_in/mpi/persistent_messages.h"
#include "drop_in/mpi/requests.h"

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

#if MPI_VERSION >= 4
#define RONDO_INIT(name) MPI_##name##_init
#define RONDO_MPIS_INIT(name) PMPI_##name##_init
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define RONDO_INIT(name) MPIX_##name##_init
#define RONDO_MPIS_INIT(name) PMPIX_##name##_init
#endif

#if defined(RONDO_INIT)

namespace {

/// A type that outlives the program's handle.
class LastingType {
 public:
  /// `used`: MPI looks at it on this rank.
  LastingType(MPI_Datatype type, bool used = true)
      : copy_(std::make_shared<KeptType>()), type_(used ? copy_->keep(type) : type) {}
  operator MPI_Datatype() const { return type_; }

 private:
  std::shared_ptr<KeptType> copy_;
  MPI_Datatype type_;
};

/// Counts or places that the program may change; NULL stays NULL.
class LastingNumbers {
 public:
  LastingNumbers(const int* numbers, int size)
      : all_(numbers == nullptr ? std::vector<int>() : std::vector<int>(numbers, numbers + size)) {}
  operator const int*() const { return all_.empty() ? nullptr : all_.data(); }

 private:
  std::vector<int> all_;
};

/// Whether blocks of `count` elements are worth a request of Rondo's.
bool large(long long count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return size < 0 || static_cast<size_t>(count) * static_cast<size_t>(size) >= leastLater;
}

/// The same of a movement: not where MPI is the quicker one at `call` on `comm`, as far as is known
/// when the request is made. Starts have no order that ranks could decide by.
bool quick(MPI_Comm comm, Call call, long long count, MPI_Datatype type) {
  const KnownComm& known = find(comm);
  int size = 0;
  PMPI_Type_size(type, &size);
  if (!large(count, type) || size < 0) return size < 0;
  const size_t bytes = static_cast<size_t>(count) * static_cast<size_t>(size);
  return !measuring ||
         known.laters.best(call, bytes, known.measured.of(call, bytes)) == MeasuredChoice::kRondo;
}

int sizeOf(MPI_Comm comm) { return find(comm).size; }
bool isRoot(MPI_Comm comm, int root) { return find(comm).rank == root; }
long long most(const int counts[], MPI_Comm comm) {
  return *std::max_element(counts, counts + sizeOf(comm));
}

}  // namespace

int RONDO_INIT(Allreduce)(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return keepPersistent(
      RONDO_MPIS_INIT(Allreduce)(send, recv, count, type, op, comm, info, request), comm, request,
      [&] { return large(count, type); },
      [&] {
        return [=, kept = LastingType(type)](MPI_Comm own, MPI_Request* begun) {
          return MPI_Iallreduce(send, recv, count, kept, op, own, begun);
        };
      });
}

int RONDO_INIT(Reduce)(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
                       int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return keepPersistent(
      RONDO_MPIS_INIT(Reduce)(send, recv, count, type, op, root, comm, info, request), comm,
      request, [&] { return large(count, type); },
      [&] {
        return [=, kept = LastingType(type)](MPI_Comm own, MPI_Request* begun) {
          return MPI_Ireduce(send, recv, count, kept, op, root, own, begun);
        };
      });
}

int RONDO_INIT(Scan)(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return keepPersistent(
      RONDO_MPIS_INIT(Scan)(send, recv, count, type, op, comm, info, request), comm, request,
      [&] { return large(count, type); },
      [&] {
        return [=, kept = LastingType(type)](MPI_Comm own, MPI_Request* begun) {
          return MPI_Iscan(send, recv, count, kept, op, own, begun);
        };
      });
}

int RONDO_INIT(Exscan)(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return keepPersistent(
      RONDO_MPIS_INIT(Exscan)(send, recv, count, type, op, comm, info, request), comm, request,
      [&] { return large(count, type); },
      [&] {
        return [=, kept = LastingType(type)](MPI_Comm own, MPI_Request* begun) {
          return MPI_Iexscan(send, recv, count, kept, op, own, begun);
        };
      });
}

int RONDO_INIT(Reduce_scatter_block)(const void* send, void* recv, int count, MPI_Datatype type,
                                     MPI_Op op, MPI_Comm comm, MPI_Info info,
                                     MPI_Request* request) {
  return keepPersistent(
      RONDO_MPIS_INIT(Reduce_scatter_block)(send, recv, count, type, op, comm, info, request), comm,
      request, [&] { return large(static_cast<long long>(count) * sizeOf(comm), type); },
      [&] {
        return [=, kept = LastingType(type)](MPI_Comm own, MPI_Request* begun) {
          return MPI_Ireduce_scatter_block(send, recv, count, kept, op, own, begun);
        };
      });
}

int RONDO_INIT(Reduce_scatter)(const void* send, void* recv, const int counts[], MPI_Datatype type,
                               MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return keepPersistent(
      RONDO_MPIS_INIT(Reduce_scatter)(send, recv, counts, type, op, comm, info, request), comm,
      request, [&] { return large(std::accumulate(counts, counts + sizeOf(comm), 0LL), type); },
      [&] {
        return [=, kept = LastingType(type), numbers = LastingNumbers(counts, sizeOf(comm))](
                   MPI_Comm own, MPI_Request* begun) {
          return MPI_Ireduce_scatter(send, recv, numbers, kept, op, own, begun);
        };
      });
}

int RONDO_INIT(Bcast)(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
                      MPI_Info info, MPI_Request* request) {
  return keepPersistent(
      RONDO_MPIS_INIT(Bcast)(buffer, count, type, root, comm, info, request), comm, request,
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
  return keepPersistent(
      RONDO_MPIS_INIT(Allgather)(send, sendcount, sendtype, recv, recvcount, recvtype, comm, info,
                                 request),
      comm, request, [&] { return quick(comm, Call::Iallgather, recvcount, recvtype); },
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
  return keepPersistent(
      RONDO_MPIS_INIT(Allgatherv)(send, sendcount, sendtype, recv, counts, places, recvtype, comm,
                                  info, request),
      comm, request, [&] { return quick(comm, Call::Iallgatherv, most(counts, comm), recvtype); },
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
  return keepPersistent(
      RONDO_MPIS_INIT(Alltoall)(send, sendcount, sendtype, recv, recvcount, recvtype, comm, info,
                                request),
      comm, request, [&] { return quick(comm, Call::Ialltoall, recvcount, recvtype); },
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
  return keepPersistent(
      RONDO_MPIS_INIT(Alltoallv)(send, sendcounts, sendplaces, sendtype, recv, recvcounts,
                                 recvplaces, recvtype, comm, info, request),
      comm, request,
      [&] { return quick(comm, Call::Ialltoallv, most(recvcounts, comm), recvtype); },
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
  return keepPersistent(
      RONDO_MPIS_INIT(Gather)(send, sendcount, sendtype, recv, recvcount, recvtype, root, comm,
                              info, request),
      comm, request,
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
  return keepPersistent(
      RONDO_MPIS_INIT(Gatherv)(send, sendcount, sendtype, recv, counts, places, recvtype, root,
                               comm, info, request),
      comm, request,
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
  return keepPersistent(
      RONDO_MPIS_INIT(Scatter)(send, sendcount, sendtype, recv, recvcount, recvtype, root, comm,
                               info, request),
      comm, request,
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
  return keepPersistent(
      RONDO_MPIS_INIT(Scatterv)(send, counts, places, sendtype, recv, recvcount, recvtype, root,
                                comm, info, request),
      comm, request,
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
