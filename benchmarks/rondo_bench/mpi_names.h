#pragma once
// MPI's handles for Rondo's types and operators.

#include <mpi.h>

#include "api/rondo.h"

namespace rondo::bench {

/// MPI_DATATYPE_NULL where MPI has none.
MPI_Datatype mpiType(rondoDataType_t type);
/// MPI_OP_NULL where MPI has none.
MPI_Op mpiOperator(rondoRedOp_t op);

}  // namespace rondo::bench
