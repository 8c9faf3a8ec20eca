#pragma once
// Files in a rehearsal: this rank's own part is read and written as ever. What all ranks share is
// not there: their pointer, and calls that put ranks one behind the other.

#include <mpi.h>

#include "drop_in/mpi/rehearsal.h"

namespace rondo::drop_in {

/// MPI_File_open has made it for the ranks of `comm`.
void noteFile(MPI_Comm comm, MPI_File file);

/// Whether `call` on it needs other ranks; then it is an error, raised on the file.
bool refusesShared(const char* call, MPI_File file, int* code);
/// The same of a call that gives a request.
bool refusesShared(const char* call, MPI_File file, MPI_Request* request, int* code);

}  // namespace rondo::drop_in
