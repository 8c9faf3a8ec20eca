#pragma once
// MPI's handles for Rondo's types and operators.

#include <mpi.h>

#include <string>

#include "element_type.h"

namespace rondo::bench {

/// One that moves elements of `type`; for 8- and 16-bit floats an integer of their size.
MPI_Datatype mpiType(rondoDataType_t type);
/// MPI_OP_NULL where MPI has none.
MPI_Op mpiOperator(rondoRedOp_t op);
/// What MPI lacks to reduce `type` by `op`, as a sentence; "" if nothing.
std::string mpiLacks(const ElementType& type, const Operator& op);

}  // namespace rondo::bench
