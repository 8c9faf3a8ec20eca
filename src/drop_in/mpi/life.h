#pragma once
// The layer's begin in MPI_Init and its end in MPI_Finalize.

#include <mpi.h>

namespace rondo::drop_in {

/// After MPI was initialised: settings, agreement, MPI_COMM_WORLD. Collective over it. MPI_SUCCESS,
/// or an error code, raised on MPI_COMM_WORLD, for settings that are wrong or differ.
int begin();

/// Before MPI is finalised; the first call counts. Collective over MPI_COMM_WORLD if communicators
/// were converted, or statistics are asked for.
void end();
/// MPI_Finalize gets there by itself, once what the program has to do then is done.
extern bool endsByItself;

/// After `parent` got the child `made`, which may be MPI_COMM_NULL: makes it Rondo's too.
/// `byAll`: all ranks of `parent` are in the call that made it.
void adopt(MPI_Comm parent, MPI_Comm made, bool byAll = true);

}  // namespace rondo::drop_in
