#pragma once
// Non-blocking collectives that are MPI's before anything else is looked at, as they are small: an
// Attempt, which finds out everything, takes 25 to 60 ns of a call's 550. With statistics, devices
// and in a rehearsal no call is, as all of them are counted or looked at.

#include <mpi.h>

#include <cstddef>
#include <numeric>

#include "drop_in/mpi/comms.h"
#include "drop_in/mpi/requests.h"
#include "drop_in/mpi/stats.h"
#include "drop_in/mpi/types.h"

namespace rondo::drop_in {

/// `leastLater` is 0 where buffers are looked at.
inline bool goAtOnce() { return !statsOn && leastLater != 0; }

/// Whether a call is, all of whose blocks, `ranks` of them, have `count` elements: the same on all
/// ranks, and whatever the communicator is.
inline bool isMpisAtOnce(long long count, MPI_Datatype type, int ranks = 1) {
  if (!goAtOnce()) [[unlikely]]
    return false;
  const TypeRow* const row = predefined(type);
  return row != nullptr && count >= 0 &&
         static_cast<size_t>(count) * row->size < leastLater * static_cast<size_t>(ranks);
}

/// The same by the counts of all ranks' blocks: `mean`, of a mean block, else of all of them.
inline bool isMpisAtOnce(MPI_Comm comm, const int counts[], MPI_Datatype type, bool mean) {
  if (!goAtOnce() || counts == nullptr) [[unlikely]]
    return false;
  const KnownComm& known = find(comm);
  if (known.why != Why::Taken) return true;
  return isMpisAtOnce(std::accumulate(counts, counts + known.size, 0LL), type,
                      mean ? known.size : 1);
}

/// Of a v-collective, as ranks have agreed (agreed_size.h), in which this one has a block of
/// `count` elements; less than 0: none.
inline bool isMpisAsAgreed(MPI_Comm comm, long long count, MPI_Datatype type) {
  if (!goAtOnce()) [[unlikely]]
    return false;
  const KnownComm& known = find(comm);
  if (known.why != Why::Taken) return true;
  if (known.uneven.bytes() >= leastUnevenLater) return false;
  if (count >= 0) {
    const TypeRow* const row = predefined(type);
    if (row == nullptr) return false;
    known.uneven.note(static_cast<size_t>(count) * row->size);
  }
  known.uneven.count();
  return true;
}
/// Of an all-to-all, whose block is the mean one.
inline bool isMpisAsAgreed(MPI_Comm comm, const int counts[], MPI_Datatype type) {
  if (!goAtOnce() || counts == nullptr) [[unlikely]]
    return false;
  const KnownComm& known = find(comm);
  if (known.why != Why::Taken) return true;
  const long long all = std::accumulate(counts, counts + known.size, 0LL);
  return isMpisAsAgreed(comm, all < 0 ? -1 : all / known.size, type);
}

}  // namespace rondo::drop_in
