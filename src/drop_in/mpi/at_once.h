#pragma once
// Collectives that are MPI's before anything else is looked at, as they are small and do not block,
// or as MPI was seen to be the quicker one: an Attempt, which finds out everything, takes 25 to 60
// ns of a call's 550. With statistics, devices and in a rehearsal no call is, as all of them are
// counted or looked at.

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

/// Whether all of `blocks` blocks have `count` elements together and are small at the mean: the
/// same on all ranks.
inline bool isSmall(long long count, MPI_Datatype type, int blocks = 1) {
  const TypeRow* const row = predefined(type);
  return row != nullptr && count >= 0 &&
         static_cast<size_t>(count) * row->layout.size < leastLater * static_cast<size_t>(blocks);
}

/// Whether a call is, whose block has `count` elements, or the whole vector of a reduction. If not,
/// `*known` is for its Attempt.
inline bool isMpisAtOnce(MPI_Comm comm, long long count, MPI_Datatype type,
                         const KnownComm** known) {
  if (!goAtOnce()) return false;
  if (isSmall(count, type)) return true;
  *known = &find(comm);
  return (*known)->why != Why::Taken;
}
inline bool isMpisAtOnce(MPI_Comm comm, long long count, MPI_Datatype type) {
  const KnownComm* known = nullptr;
  return isMpisAtOnce(comm, count, type, &known);
}

/// Which blocks are small: all of them together, or the mean one.
enum class Small : bool { kTogether, kMean };
/// The same by the counts of all ranks' blocks.
inline bool isMpisAtOnce(MPI_Comm comm, const int counts[], MPI_Datatype type, Small which) {
  if (!goAtOnce() || counts == nullptr) [[unlikely]]
    return false;
  const KnownComm& known = find(comm);
  return known.why != Why::Taken || isSmall(std::accumulate(counts, counts + known.size, 0LL), type,
                                            which == Small::kMean ? known.size : 1);
}

/// Whether a blocking call is, as its communicator is not Rondo's, or as ranks have measured that
/// MPI is the quicker one at it; that is then counted. `bytes`: of a block, or of the vector of a
/// reduction, the same on all ranks.
inline bool isMpisByChoice(Call call, const KnownComm& known, size_t bytes) {
  if (known.why != Why::Taken) return known.why != Why::Many;  // of which the calls are counted
  if (!measuring) return false;
  const CallTurn turn(known.itsTurns());
  if (known.uneven.due() || known.laters.due()) [[unlikely]]
    return false;  // ranks are to meet
  return known.measured.of(call, bytes).goesToMpi();
}
/// The same of `count` elements. `sound(known)`: whether nothing of the call is wrong here; a wrong
/// one is not counted by an Attempt either, which other ranks may make of it.
template <class Sound>
bool isMpisByChoice(Call call, MPI_Comm comm, long long count, MPI_Datatype type,
                    const Sound& sound) {
  if (!goAtOnce()) return false;
  const KnownComm& known = find(comm);
  if (known.why == Why::Taken && !sound(known)) return false;
  const TypeRow* const row = predefined(type);
  return row != nullptr && count >= 0 &&
         isMpisByChoice(call, known, static_cast<size_t>(count) * row->layout.size);
}

/// The mean block; less than 0: there are no counts, or they are wrong.
inline long long meanCount(const int counts[], int ranks) {
  if (counts == nullptr) return -1;
  const long long all = std::accumulate(counts, counts + ranks, 0LL);
  return all < 0 ? -1 : all / ranks;
}

/// Of a v-collective: whether ranks have agreed that blocks are under `least` bytes
/// (agreed_size.h). This rank's, of countOf() elements, is then noted; less than 0: it has none.
template <class CountOf>
bool isSmallAsAgreed(AgreedSize& uneven, size_t least, const CountOf& countOf, MPI_Datatype type) {
  if (uneven.bytes() >= least) return false;
  const long long count = countOf();
  if (count < 0) return true;
  const TypeRow* const row = predefined(type);
  if (row != nullptr) uneven.note(static_cast<size_t>(count) * row->layout.size);
  return row != nullptr;
}

/// Whether a v-collective is, as ranks have agreed. `countOf(ranks)`: see above.
template <class CountOf>
bool isMpisAsAgreed(MPI_Comm comm, MPI_Datatype type, const CountOf& countOf) {
  if (!goAtOnce()) [[unlikely]]
    return false;
  const KnownComm& known = find(comm);
  if (known.why != Why::Taken) return true;
  const CallTurn turn(known.itsTurns());
  const auto here = [&] { return countOf(known.size); };
  if (!isSmallAsAgreed(known.uneven, leastUnevenLater, here, type)) return false;
  known.uneven.count();
  return true;
}

}  // namespace rondo::drop_in
