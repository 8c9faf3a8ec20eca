#pragma once
// What Rondo keeps per MPI process: its end, its progress, and the communicators that hang on it.

#include <mpi.h>

#include "api/comm_create.h"

namespace rondo {

/// Throws Error(rondoInvalidUsage) unless MPI can be used now and by this thread. Checks nothing
/// that would call MPI before MPI_Init.
void requireMpi();

/// Throws Error(rondoInvalidUsage) unless other threads than the caller may call MPI meanwhile.
void requireThreads();

/// Throws Error(rondoInvalidArgument) for MPI_COMM_NULL and inter-communicators.
void requireIntraComm(MPI_Comm comm);

/// Arranges, once per process, that MPI_Finalize first of all frees what is left. Throws Error.
void hookFinalize();

/// What a waiting rank of a communicator from MPI calls: lets MPI progress if the calling thread
/// may. With less than MPI_THREAD_MULTIPLE only the thread that calls progressHook() may.
WaitHook progressHook();

/// Keeps `comm` in the list of those that MPI_Finalize frees; it leaves the list when it is freed.
void keepUntilFinalize(rondoComm& comm);

/// Frees `comm` if it is still in the list.
void freeIfKept(rondoComm* comm);

}  // namespace rondo
