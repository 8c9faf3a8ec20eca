#pragma once
// RONDO_VIRTUAL: an unmodified program, started as one process, is one rank of a machine that need
// not be there. Its calls are planned and timed instead of moved.

#include <mpi.h>

#include <string>

#include "drop_in/mpi/comms.h"
#include "drop_in/rehearsed_machine.h"

namespace rondo::drop_in {

inline bool rehearsing = false;  ///< Written in MPI_Init and MPI_Finalize.

/// Makes MPI_COMM_WORLD the virtual one. MPI_SUCCESS, or an error code raised on MPI_COMM_WORLD.
int beginRehearsal();
/// Says what was predicted, and writes the files.
void endRehearsal();

/// The virtual communicator that `comm` stands for; nullptr: none.
inline const KnownComm* rehearsed(MPI_Comm comm) {
  if (!rehearsing) [[likely]]
    return nullptr;
  const KnownComm& known = find(comm);
  return known.rondo != nullptr ? &known : nullptr;
}

/// A communicator of one process stands for the same virtual one as its parent (MPI_Comm_dup), or
/// for that of the ranks on this one's host.
int rehearseDup(MPI_Comm parent, MPI_Comm made);
int rehearseHost(MPI_Comm parent, MPI_Comm made);
/// MPI_Comm_split, where RONDO_VIRTUAL_SPLIT says what the other ranks would: the program's next
/// communicator is virtual too.
int rehearseSplit(const KnownComm& parent, MPI_Comm comm, int color, int key, MPI_Comm* made);
/// A communicator whose parts all ranks know, because MPI lets them say the same.
struct Part {
  std::string rule;  ///< Which, as rondoCommSplitVirtual takes it; empty: all of the parent.
  Rehearsed facts;
};
/// Makes this rank's part of `parent`, which `comm` is; MPI_COMM_NULL if it is in none.
int rehearsePart(const KnownComm& parent, MPI_Comm comm, const Part& part, MPI_Comm* made);
/// What other ranks say in MPI_Dist_graph_create.
OthersEdges othersEdges();
/// What depends on other ranks' arguments is an error, raised on `comm`.
int refuseChild(const char* call, MPI_Comm comm);

/// So is another call that would need what is not there: "CALL: in a rehearsal (RONDO_VIRTUAL)
/// nobody knows UNKNOWN; allowed: ALLOWED". Returns the code.
int refuseCall(const char* call, MPI_Comm comm, const char* unknown, const char* allowed);

/// A transfer that others may go with: all that were begun are timed at once, at the next call that
/// needs to know.
void beginTransfer(const KnownComm& known, int peer, bool sends, size_t bytes);
/// Times what this thread began; that of other threads is timed by their own calls.
void flushTransfers();
/// That, and what any thread began on a communicator that is about to end, whose messages to
/// oneself go; what all began.
void flushTransfersOf(MPI_Comm comm);
void flushAllTransfers();

/// MPI_Wtime on a clock that goes on by the predicted time of calls, not by what planning takes.
double rehearsedTime();

}  // namespace rondo::drop_in
