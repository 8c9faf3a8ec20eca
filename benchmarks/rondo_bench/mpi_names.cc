#include "mpi_names.h"

namespace rondo::bench {

MPI_Datatype mpiType(rondoDataType_t type) {
  switch (type) {
    case rondoInt8:
      return MPI_INT8_T;
    case rondoUint8:
    case rondoFloat8e4m3:
    case rondoFloat8e5m2:
      return MPI_UINT8_T;
    case rondoInt16:
      return MPI_INT16_T;
    case rondoUint16:
    case rondoFloat16:
    case rondoBfloat16:
      return MPI_UINT16_T;
    case rondoInt32:
      return MPI_INT32_T;
    case rondoUint32:
      return MPI_UINT32_T;
    case rondoInt64:
      return MPI_INT64_T;
    case rondoUint64:
      return MPI_UINT64_T;
    case rondoFloat32:
      return MPI_FLOAT;
    case rondoFloat64:
      return MPI_DOUBLE;
    case rondoComplex64:
      return MPI_C_FLOAT_COMPLEX;
    case rondoComplex128:
      return MPI_C_DOUBLE_COMPLEX;
    case rondoBool:
      return MPI_C_BOOL;
    case rondoFloat32Int32:
      return MPI_FLOAT_INT;
    case rondoFloat64Int32:
      return MPI_DOUBLE_INT;
    case rondoInt64Int32:
      return sizeof(long) == 8 ? MPI_LONG_INT : MPI_DATATYPE_NULL;
    case rondoInt32Int32:
      return MPI_2INT;
    case rondoInt16Int32:
      return MPI_SHORT_INT;
    default:
      return MPI_DATATYPE_NULL;
  }
}

MPI_Op mpiOperator(rondoRedOp_t op) {
  switch (op) {
    case rondoSum:
      return MPI_SUM;
    case rondoProd:
      return MPI_PROD;
    case rondoMin:
      return MPI_MIN;
    case rondoMax:
      return MPI_MAX;
    case rondoLogicalAnd:
      return MPI_LAND;
    case rondoLogicalOr:
      return MPI_LOR;
    case rondoLogicalXor:
      return MPI_LXOR;
    case rondoBitAnd:
      return MPI_BAND;
    case rondoBitOr:
      return MPI_BOR;
    case rondoBitXor:
      return MPI_BXOR;
    case rondoMinLoc:
      return MPI_MINLOC;
    case rondoMaxLoc:
      return MPI_MAXLOC;
    default:
      return MPI_OP_NULL;
  }
}

std::string mpiLacks(const ElementType& type, const Operator& op) {
  switch (type.id) {
    case rondoFloat8e4m3:
    case rondoFloat8e5m2:
    case rondoFloat16:
    case rondoBfloat16:
      return "MPI has no type like " + std::string(type.name) +
             " to reduce; choose other types with --type, or time Rondo alone";
    default:
      break;
  }
  if (mpiOperator(op.id) == MPI_OP_NULL) {
    return "MPI has no operator like " + std::string(op.name) +
           "; choose another with --op, or time Rondo alone";
  }
  const bool bitwise = op.id == rondoBitAnd || op.id == rondoBitOr || op.id == rondoBitXor;
  if (type.kind == NumberKind::kBool && bitwise) {
    return "MPI has no " + std::string(op.name) +
           " of bool; choose a logical operator with --op, or time Rondo alone";
  }
  return "";
}

}  // namespace rondo::bench
