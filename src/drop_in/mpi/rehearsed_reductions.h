#pragma once
// Reductions of a rehearsal by types and operators that Rondo does not have. Nobody computes there,
// so that they are timed as if their bytes were added up.

#include <mpi.h>

#include "drop_in/mpi/types.h"

namespace rondo::drop_in {

/// What stands for the reduction of `type` by `op`, which Rondo does not have. Why::Taken, if MPI
/// has it and elements follow each other without gaps.
Reduction reductionOfBytes(MPI_Datatype type, MPI_Op op);

/// Whether MPI has it, which may be an operator of the program's.
bool isMpis(MPI_Datatype type, MPI_Op op);

}  // namespace rondo::drop_in
