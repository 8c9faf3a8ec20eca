#pragma once
// Persistent messages of device buffers, and persistent collectives of some that stay MPI's: MPI's
// request is of host copies that are filled at each start, so that all else is MPI's. While one is
// active it is among staged.h's messages.

#include <mpi.h>

#include <atomic>

#include "drop_in/mpi/staged.h"

namespace rondo::drop_in {

/// How many of the program's requests are such ones.
inline std::atomic<size_t> persistentMessages{0};
inline bool anyPersistentMessage() {
  return persistentMessages.load(std::memory_order_relaxed) != 0;
}

/// MPI has made a persistent request of what `message`, which starts often, has on the host.
void keepMessage(MPI_Request request, const HeldMessage& message);

/// MPI_Start: false: the request is none. Else *code is the call's; MPI may have put another
/// request in its place.
bool startMessage(MPI_Request* request, int* code);

/// MPI_Request_free of any request: it starts no more.
void forgetMessage(MPI_Request request);

}  // namespace rondo::drop_in
