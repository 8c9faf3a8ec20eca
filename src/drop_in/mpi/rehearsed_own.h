#pragma once
// Messages of a rehearsal that a rank sends to itself. Both of their ends are this process's
// memory, so they are moved, in MPI's order. Nothing waits for them.

#include <mpi.h>

#include "drop_in/mpi/rehearsed_calls.h"

namespace rondo::drop_in {

/// What a receive says of its message.
struct Envelope {
  int source, tag;
  MPI_Count bytes;
  int code = MPI_SUCCESS;  ///< MPI_ERR_TRUNCATE: the message was longer.
};

/// Gives the message to the receive that awaits it, or keeps it for one: its buffer may be used.
void sendToSelf(const KnownComm& known, const Message& message);
/// Takes the first message that is there for a receive from this rank or from anybody; if there is
/// none, and `awaited`, the next one, until withdraw(). The envelope is changed where one comes.
void receiveFromSelf(const KnownComm& known, const Message& message, Envelope* envelope,
                     bool awaited);
void withdraw(const Envelope* envelope);
/// The communicator ends.
void forgetOwnMessages(const KnownComm& known);

}  // namespace rondo::drop_in
