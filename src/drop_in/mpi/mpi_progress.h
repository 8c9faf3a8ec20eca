#pragma once
// Being called while MPI waits, where MPI has a way to ask for it.

#include "drop_in/mpi/near_thread.h"

namespace rondo::drop_in {

/// From now on MPI calls pollPending() now and then while it waits for something of its own, so
/// that a collective is done as soon by a thread that waits for a message. With Open MPI; without
/// it (or its functions for that) nothing happens, and Rondo's progress thread is alone.
void askMpiToPoll();
/// Before MPI is finalised.
void askMpiNoMore();

/// Lets MPI's messages move.
void progressMpi();
/// The same, if the last time is a while ago.
void moveMpiOnNow();
/// The thread's calls that Rondo has answered.
RONDO_NEAR_THREAD extern constinit thread_local unsigned answeredCalls;
/// After each of them: now and then MPI's own messages move on, too. Else a rank that always comes
/// last, and so waits for nobody, would never let MPI do so.
inline void moveMpiOn() {
  constexpr unsigned kCallsPerLook = 8;
  if (++answeredCalls % kCallsPerLook == 0) [[unlikely]]
    moveMpiOnNow();
}

/// On the thread: see NoPollsOfMpi.
RONDO_NEAR_THREAD extern constinit thread_local bool mpiMayNotPoll;
/// While it lives, MPI does not poll on this thread, which is at it already.
class NoPollsOfMpi {
 public:
  NoPollsOfMpi() : before_(mpiMayNotPoll) { mpiMayNotPoll = true; }
  ~NoPollsOfMpi() { mpiMayNotPoll = before_; }
  NoPollsOfMpi(const NoPollsOfMpi&) = delete;
  NoPollsOfMpi& operator=(const NoPollsOfMpi&) = delete;

 private:
  bool before_;
};

}  // namespace rondo::drop_in
