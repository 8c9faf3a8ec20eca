// Collectives, sends and receives: NCCL's arguments checked, and Rondo's call made.

#include "drop_in/nccl/failure.h"
#include "drop_in/nccl/group.h"

namespace rondo::nccl {
namespace {

/// What NCCL's codes depend on beside the communicator.
struct Asked {
  const char* name;
  size_t count;
  ncclDataType_t type;
  ncclRedOp_t op = rondoSum;
  int root = 0;  ///< Or peer.
  const char* rootName = nullptr;
};

ncclResult_t refuseType(ncclComm_t comm, const Asked& asked) {
  return fail(
      comm, ncclInvalidArgument,
      format("%s: argument datatype is %d; allowed: 0 to %d", asked.name, asked.type, kTypes - 1));
}

ncclResult_t refuseOp(ncclComm_t comm, const Asked& asked) {
  return fail(comm, ncclInvalidArgument,
              format("%s: argument op is %d; allowed: 0 to %d, or one of "
                     "ncclRedOpCreatePreMulSum",
                     asked.name, asked.op, kOwnOperators - 1));
}

/// Rondo's operators that NCCL does not have lie between NCCL's and those that are made.
constexpr ncclRedOp_t kFirstMade = 1024;
bool isOp(ncclRedOp_t op) { return (op >= 0 && op < kOwnOperators) || op >= kFirstMade; }

/// A call without elements is nothing, and nobody waits for it; its arguments must be right.
ncclResult_t doNothing(ncclComm_t comm, const Asked& asked) {
  if (asked.rootName == nullptr) return ncclSuccess;
  int ranks = 0;
  rondoCommCount(comm->inner, &ranks);
  if (asked.root >= 0 && asked.root < ranks) return ncclSuccess;
  return fail(comm, ncclInvalidArgument,
              format("%s: argument %s is %d; allowed: 0 to %d", asked.name, asked.rootName,
                     asked.root, ranks - 1));
}

template <class Call>
ncclResult_t run(ncclComm_t comm, cudaStream_t stream, const Asked& asked, const Call& call) {
  if (const ncclResult_t bad = usable(comm, asked.name)) [[unlikely]]
    return failInGroup(bad);
  if (static_cast<unsigned>(asked.type) >= kTypes) [[unlikely]]
    return failInGroup(refuseType(comm, asked));
  if (!isOp(asked.op)) [[unlikely]]
    return failInGroup(refuseOp(comm, asked));
  if (asked.count == 0) [[unlikely]] {
    const ncclResult_t result = doNothing(comm, asked);
    return result == ncclSuccess ? result : failInGroup(result);
  }
  return guarded(asked.name, [&]() -> ncclResult_t {
    const bool alone = !groupOpen();
    if (alone) {
      comm->order.before(stream, comm->place);
    } else {
      noteInGroup(comm, stream);
    }
    const rondoResult_t result = call(comm->inner);
    if (result != rondoSuccess) [[unlikely]]
      return failAs(comm, asked.name, result);
    if (alone) comm->order.after({&stream, 1}, comm->place);
    return ncclSuccess;
  });
}

}  // namespace
}  // namespace rondo::nccl

using rondo::nccl::run;

RONDO_NCCL_CALL(ncclResult_t, ncclAllReduce,
                (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                 ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)) {
  return run(comm, stream, {"ncclAllReduce", count, datatype, op}, [&](rondoComm_t inner) {
    return rondoAllReduce(sendbuff, recvbuff, count, datatype, op, inner, stream);
  });
}

RONDO_NCCL_CALL(ncclResult_t, ncclBroadcast,
                (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                 int root, ncclComm_t comm, cudaStream_t stream)) {
  return run(comm, stream, {"ncclBroadcast", count, datatype, rondoSum, root, "root"},
             [&](rondoComm_t inner) {
               return rondoBroadcast(sendbuff, recvbuff, count, datatype, root, inner, stream);
             });
}

RONDO_NCCL_CALL(ncclResult_t, ncclBcast,
                (void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                 cudaStream_t stream)) {
  return run(comm, stream, {"ncclBcast", count, datatype, rondoSum, root, "root"},
             [&](rondoComm_t inner) {
               return rondoBroadcast(buff, buff, count, datatype, root, inner, stream);
             });
}

RONDO_NCCL_CALL(ncclResult_t, ncclReduce,
                (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                 ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)) {
  return run(comm, stream, {"ncclReduce", count, datatype, op, root, "root"},
             [&](rondoComm_t inner) {
               return rondoReduce(sendbuff, recvbuff, count, datatype, op, root, inner, stream);
             });
}

RONDO_NCCL_CALL(ncclResult_t, ncclAllGather,
                (const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
                 ncclComm_t comm, cudaStream_t stream)) {
  return run(comm, stream, {"ncclAllGather", sendcount, datatype}, [&](rondoComm_t inner) {
    return rondoAllGather(sendbuff, recvbuff, sendcount, datatype, inner, stream);
  });
}

RONDO_NCCL_CALL(ncclResult_t, ncclReduceScatter,
                (const void* sendbuff, void* recvbuff, size_t recvcount, ncclDataType_t datatype,
                 ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)) {
  return run(comm, stream, {"ncclReduceScatter", recvcount, datatype, op}, [&](rondoComm_t inner) {
    return rondoReduceScatter(sendbuff, recvbuff, recvcount, datatype, op, inner, stream);
  });
}

RONDO_NCCL_CALL(ncclResult_t, ncclAlltoAll,
                (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                 ncclComm_t comm, cudaStream_t stream)) {
  return run(comm, stream, {"ncclAlltoAll", count, datatype}, [&](rondoComm_t inner) {
    return rondoAllToAll(sendbuff, recvbuff, count, datatype, inner, stream);
  });
}

RONDO_NCCL_CALL(ncclResult_t, ncclGather,
                (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                 int root, ncclComm_t comm, cudaStream_t stream)) {
  return run(comm, stream, {"ncclGather", count, datatype, rondoSum, root, "root"},
             [&](rondoComm_t inner) {
               return rondoGather(sendbuff, recvbuff, count, datatype, root, inner, stream);
             });
}

RONDO_NCCL_CALL(ncclResult_t, ncclScatter,
                (const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                 int root, ncclComm_t comm, cudaStream_t stream)) {
  return run(comm, stream, {"ncclScatter", count, datatype, rondoSum, root, "root"},
             [&](rondoComm_t inner) {
               return rondoScatter(sendbuff, recvbuff, count, datatype, root, inner, stream);
             });
}

RONDO_NCCL_CALL(ncclResult_t, ncclSend,
                (const void* sendbuff, size_t count, ncclDataType_t datatype, int peer,
                 ncclComm_t comm, cudaStream_t stream)) {
  return run(
      comm, stream, {"ncclSend", count, datatype, rondoSum, peer, "peer"},
      [&](rondoComm_t inner) { return rondoSend(sendbuff, count, datatype, peer, inner, stream); });
}

RONDO_NCCL_CALL(ncclResult_t, ncclRecv,
                (void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                 cudaStream_t stream)) {
  return run(
      comm, stream, {"ncclRecv", count, datatype, rondoSum, peer, "peer"},
      [&](rondoComm_t inner) { return rondoRecv(recvbuff, count, datatype, peer, inner, stream); });
}
