#pragma once
// The MPI that the job runs on, as a library to compare with.

#include <mpi.h>

#include <string>

#include "collective.h"
#include "options.h"

namespace rondo::bench {

/// Throws UsageError if MPI has no such type or operator, or cannot count that many elements.
void requireMpiCan(const Options& options);

Contender mpiAllReduce(MPI_Comm comm);

}  // namespace rondo::bench
