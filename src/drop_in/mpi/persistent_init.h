#pragma once
// What MPI's persistent collectives have in common. Those of Open MPI 4.1 have the prefix MPIX_;
// where MPI has none, RONDO_INIT is not defined.

#include <mpi.h>
#if MPI_VERSION < 4 && defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

#include <algorithm>
#include <exception>
#include <memory>

#include "drop_in/mpi/comms.h"
#include "drop_in/mpi/lasting.h"
#include "drop_in/mpi/passing.h"
#include "drop_in/mpi/persistent.h"
#include "drop_in/mpi/persistent_messages.h"
#include "drop_in/mpi/rehearsal.h"
#include "drop_in/mpi/requests.h"

#if MPI_VERSION >= 4
#define RONDO_INIT(name) MPI_##name##_init
#define RONDO_MPIS_INIT(name) PMPI_##name##_init
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define RONDO_INIT(name) MPIX_##name##_init
#define RONDO_MPIS_INIT(name) PMPIX_##name##_init
#endif

namespace rondo::drop_in {

/// Whether blocks of `count` elements are worth a request of Rondo's.
inline bool large(long long count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return size < 0 || static_cast<size_t>(count) * static_cast<size_t>(size) >= leastLater;
}

/// The same of a movement: not where MPI is the quicker one at `call` on `comm`, as far as is known
/// when the request is made. Starts have no order that ranks could decide by.
inline bool quick(MPI_Comm comm, Call call, long long count, MPI_Datatype type) {
  const KnownComm& known = find(comm);
  int size = 0;
  PMPI_Type_size(type, &size);
  if (!large(count, type) || size < 0) return size < 0;
  const size_t bytes = static_cast<size_t>(count) * static_cast<size_t>(size);
  return !measuring ||
         known.laters.best(call, bytes, known.measured.of(call, bytes)) == MeasuredChoice::kRondo;
}

inline int sizeOf(MPI_Comm comm) { return find(comm).size; }
inline bool isRoot(MPI_Comm comm, int root) { return find(comm).rank == root; }
inline long long most(const int counts[], MPI_Comm comm) {
  return *std::max_element(counts, counts + sizeOf(comm));
}

/// What MPI's request has of device buffers on the host; nullptr: all it was made of is the
/// program's.
using HeldBlocks = std::shared_ptr<StagedBlocks>;

/// MPI's call, mpi(send, recv), on copies of what lies on a device, which are then *blocks.
template <class Mpi>
int initOnTwins(MPI_Comm comm, const Argument& send, const Argument& recv, const Mpi& mpi,
                HeldBlocks* blocks) {
  try {
    auto made = std::make_shared<StagedBlocks>(send, recv, Starts::Often);
    const int code = mpi(made->send().data(), made->recv().data());
    if (code == MPI_SUCCESS && made->used()) *blocks = std::move(made);
    return code;
  } catch (const std::exception& error) {
    return raiseCopy(comm, error);
  }
}

/// The same; `of` gives the buffers.
template <class Of, class Mpi>
int initMpis(MPI_Comm comm, const Of& of, const Mpi& mpi, HeldBlocks* blocks) {
  const Sides who = devicesOn ? sidesOf(comm) : Sides{};
  if (who.own == 0) [[likely]]
    return mpi(of.send.buffer, const_cast<void*>(of.recv.buffer));
  return described(of, who, [&](const Argument& send, const Argument& recv) {
    return initOnTwins(comm, send, recv, mpi, blocks);
  });
}

/// A persistent collective's request, made by mpi(send, recv). It is Rondo's if keepPersistent()
/// says so.
template <class Of, class Mpi, class Worth, class MakeStart>
int init(MPI_Comm comm, MPI_Request* request, const Of& of, const Mpi& mpi, const Worth& worth,
         const MakeStart& start) {
  if (rehearsed(comm) != nullptr) [[unlikely]]
    return rehearsePersistent(comm, start, request);
  HeldBlocks blocks;
  const int code = initMpis(comm, of, mpi, &blocks);
  const bool taken = keepPersistent(code, comm, request, worth, start);
  if (!taken && blocks != nullptr) keepMessage(*request, blocks);
  return code;
}

}  // namespace rondo::drop_in
