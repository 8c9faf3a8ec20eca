// Operators made at run time.

#include <cstdint>

#include "api/argument_checks.h"
#include "api/comm_create.h"
#include "api/types.h"
#include "base/error.h"
#include "p2p/cuda_device.h"

namespace {

rondoResult_t refuse(rondoComm_t comm, const char* call, const std::string& what) {
  const int rank = comm->impl->place().rank;
  return rondo::fail(comm, rondoInvalidArgument,
                     rondo::format("%s: rank %d: %s", call, rank, what.c_str()));
}

}  // namespace

rondoResult_t rondoRedOpCreatePreMulSum(rondoRedOp_t* op, const void* scalar,
                                        rondoDataType_t datatype, rondoScalarResidence_t residence,
                                        rondoComm_t comm) {
  const char* call = "rondoRedOpCreatePreMulSum";
  const rondo::Use use(comm, call);
  if (use.result() != rondoSuccess) return use.result();
  if (op == nullptr) return refuse(comm, call, "argument op is NULL; allowed: where to write it");
  if (scalar == nullptr) {
    return refuse(comm, call, "argument scalar is NULL; allowed: one element of datatype");
  }
  if (!rondo::opDefined(datatype, rondoSum)) {
    return refuse(comm, call,
                  rondo::format("argument datatype is %d (%s); allowed: a type that rondoSum is "
                                "defined for",
                                datatype, rondo::typeName(datatype)));
  }
  if (residence != rondoScalarDevice && residence != rondoScalarHostImmediate) {
    return refuse(comm, call,
                  rondo::format("argument residence is %d; allowed: 0 (rondoScalarDevice), 1 "
                                "(rondoScalarHostImmediate)",
                                residence));
  }
  const bool immediate = residence == rondoScalarHostImmediate;
  const rondo::PointerKind kind = rondo::pointerKind(scalar);
  if (kind.memory == rondo::PointerKind::kGone) {
    return refuse(comm, call,
                  rondo::format("argument scalar (%p) is %s; allowed: one element of datatype",
                                scalar, rondo::goneText(kind).c_str()));
  }
  if (immediate && kind.memory == rondo::PointerKind::kDevice) {
    return refuse(comm, call,
                  rondo::format("argument scalar (%p) is device memory, which this call would read "
                                "on the host; allowed with rondoScalarHostImmediate: host or "
                                "managed memory",
                                scalar));
  }
  // Kernels read it as a whole, but for types that they multiply byte by byte.
  const bool asWhole = rondo::typeClass(datatype) == rondo::TypeClass::kFloat;
  const size_t alignment = asWhole ? rondo::typeSize(datatype) : 1;
  if (!immediate && kind.onDevice() && reinterpret_cast<uintptr_t>(scalar) % alignment != 0) {
    return refuse(comm, call,
                  rondo::format("argument scalar is %p; allowed for %s on a device: a multiple of "
                                "%zu",
                                scalar, rondo::typeName(datatype), alignment));
  }
  const bool onDevice = !immediate && kind.memory == rondo::PointerKind::kDevice;
  if (onDevice && comm->impl->deviceRunner() == nullptr) {
    return rondo::fail(comm, rondoUnsupported,
                       std::string(call) +
                           ": argument scalar is device memory, which collectives "
                           "on host memory cannot read, and the communicator has no device; "
                           "allowed: host or managed memory");
  }
  return rondo::guarded(comm, call, [&] {
    rondo::ScaledOps& ops = comm->impl->scaledOps();
    const rondoRedOp_t made = ops.make(datatype, scalar, rondo::typeSize(datatype), immediate);
    ops.find(made)->onDevice = onDevice;
    *op = made;
  });
}

rondoResult_t rondoRedOpDestroy(rondoRedOp_t op, rondoComm_t comm) {
  const char* call = "rondoRedOpDestroy";
  const rondo::Use use(comm, call);
  if (use.result() != rondoSuccess) return use.result();
  if (comm->impl->scaledOps().find(op) == nullptr) {
    return refuse(comm, call,
                  rondo::format("argument op is %d; allowed: an operator of "
                                "rondoRedOpCreatePreMulSum on this communicator that is not "
                                "destroyed",
                                op));
  }
  comm->impl->scaledOps().destroy(op);
  return rondoSuccess;
}
