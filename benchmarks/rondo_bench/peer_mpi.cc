#include "peer_mpi.h"

#include <climits>

#include "errors.h"
#include "sizes.h"

namespace rondo::bench {
namespace {

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

}  // namespace

void requireMpiCan(const Options& options) {
  for (const ElementType* type : options.types) {
    if (mpiType(type->id) == MPI_DATATYPE_NULL) {
      throw UsageError(std::string("--peer mpi: MPI has no type like ") + type->name +
                       "; choose other types with --type, or leave out --peer");
    }
    if (options.maxBytes / type->size > INT_MAX) {
      throw UsageError("--peer mpi: MPI counts at most " + std::to_string(INT_MAX) +
                       " elements, and --max " + formatSize(options.maxBytes) + " of " +
                       type->name + " is more; lower --max, or leave out --peer");
    }
  }
  for (const Operator* op : options.ops) {
    if (mpiOperator(op->id) == MPI_OP_NULL) {
      throw UsageError(std::string("--peer mpi: MPI has no operator like ") + op->name +
                       "; choose another with --op, or leave out --peer");
    }
  }
}

Contender mpiAllReduce(MPI_Comm comm) {
  return {"mpi", [comm](const CallArgs& args) {
            const void* send = args.send == args.recv ? MPI_IN_PLACE : args.send;
            if (MPI_Allreduce(send, args.recv, static_cast<int>(args.count), mpiType(args.type),
                              mpiOperator(args.op), comm) != MPI_SUCCESS) {
              throw RunError("MPI_Allreduce failed");
            }
          }};
}

}  // namespace rondo::bench
