#pragma once
// How long a non-blocking collective takes whose program waits for it at once: from its call to the
// end of the MPI_Wait that comes next on the thread. What a program does in between is its own
// time, and a call that hides behind it has no time that could be compared.

#include <mpi.h>

#include <cstdint>
#include <memory>

#include "drop_in/mpi/measured_choice.h"

namespace rondo::drop_in {

/// The thread has begun a call at `began`, in ticks, by which it has `request`: `choice` is told
/// what it took in run `run`. Forgets the one before. Until it ends, or is forgotten, anyPending().
void timeUntilWait(std::shared_ptr<MeasuredChoice> choice, uint32_t run, MPI_Request request,
                   uint64_t began);

/// The thread ends requests otherwise than one by one: what it has begun is not timed.
void forgetTimed();

/// The MPI_Wait for a request, as long as it lives.
class TimedWait {
 public:
  explicit TimedWait(MPI_Request request);
  TimedWait(const TimedWait&) = delete;
  TimedWait& operator=(const TimedWait&) = delete;
  ~TimedWait();
  /// Whether MPI may wait at once as it does alone: it is timed, and no request is Rondo's.
  bool alone() const { return alone_; }

 private:
  std::shared_ptr<MeasuredChoice> choice_;  ///< nullptr: it is not timed.
  uint32_t run_ = 0;
  uint64_t began_ = 0, gap_ = 0;
  bool alone_ = false;
};

}  // namespace rondo::drop_in
