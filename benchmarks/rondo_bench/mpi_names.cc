#include "mpi_names.h"

namespace rondo::bench {

MPI_Datatype mpiType(rondoDataType_t type) {
  switch (type) {
    case rondoInt8:
      return MPI_INT8_T;
    case rondoUint8:
      return MPI_UINT8_T;
    case rondoInt16:
      return MPI_INT16_T;
    case rondoUint16:
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
    default:
      return MPI_OP_NULL;
  }
}

}  // namespace rondo::bench
