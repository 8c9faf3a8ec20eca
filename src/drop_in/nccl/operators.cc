// Operators that a program makes.

#include "drop_in/nccl/comm.h"
#include "drop_in/nccl/failure.h"

using rondo::nccl::failAs;
using rondo::nccl::usable;

RONDO_NCCL_CALL(ncclResult_t, ncclRedOpCreatePreMulSum,
                (ncclRedOp_t * op, void* scalar, ncclDataType_t datatype,
                 ncclScalarResidence_t residence, ncclComm_t comm)) {
  const char* name = "ncclRedOpCreatePreMulSum";
  if (const ncclResult_t bad = usable(comm, name)) return bad;
  if (datatype < 0 || datatype >= rondo::nccl::kTypes) {
    return rondo::nccl::fail(comm, ncclInvalidArgument,
                             rondo::format("%s: argument datatype is %d; allowed: 0 to %d", name,
                                           datatype, rondo::nccl::kTypes - 1));
  }
  const rondoResult_t result = rondoRedOpCreatePreMulSum(
      op, scalar, datatype, static_cast<rondoScalarResidence_t>(residence), comm->inner);
  return result == rondoSuccess ? ncclSuccess : failAs(comm, name, result);
}

RONDO_NCCL_CALL(ncclResult_t, ncclRedOpDestroy, (ncclRedOp_t op, ncclComm_t comm)) {
  const char* name = "ncclRedOpDestroy";
  if (const ncclResult_t bad = usable(comm, name)) return bad;
  const rondoResult_t result = rondoRedOpDestroy(op, comm->inner);
  return result == rondoSuccess ? ncclSuccess : failAs(comm, name, result);
}
