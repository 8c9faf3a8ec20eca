#pragma once
// How long a non-blocking collective takes: from its call to the end of the call that ends its
// request. What a program does in between is a part of it: computing takes longer where a library's
// thread shares its core, and a program that tests now and then has what it waits for when a test
// finds it, however long ago it came.

#include <mpi.h>

#include <cstdint>
#include <memory>

#include "drop_in/mpi/measured_choice.h"

namespace rondo::drop_in {

/// The thread has begun a call at `began`, in ticks, by which it has `request`: `choice` is told
/// what it took in its turn. Until its request ends on this thread, or it is forgotten,
/// anyPending().
void timeRequest(std::shared_ptr<MeasuredChoice> choice, const MeasuredChoice::Turn& turn,
                 MPI_Request request, uint64_t began);

/// The thread is about to wait for these, or tests them; says whether it has begun any that are
/// timed. Those that are not among them for long are forgotten: another thread may have ended them.
bool anyTimed(int count, const MPI_Request* requests);

/// Whether the thread has begun any that are timed.
bool timesAny();

/// `request` has ended now, on this thread.
void endTimed(MPI_Request request);

/// Whether it is timed, and no other request is, or is Rondo's: MPI may wait as it does alone.
bool isTimedAlone(MPI_Request request);

}  // namespace rondo::drop_in
