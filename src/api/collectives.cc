// The collective calls of the C API with even counts: each states its buffers.

#include "api/comm_create.h"
#include "api/group.h"
#include "api/run_collective.h"
#include "base/error.h"

using rondo::Collective;
using rondo::CollectiveArgs;
using rondo::publicCall;

namespace {

/// The usual arguments; what differs is set afterwards.
CollectiveArgs usual(const char* call, const void* send, void* recv, size_t count,
                     rondoDataType_t type, rondoComm_t comm, rondoStream_t stream) {
  return {call, send, recv, count, type, comm, stream};
}

size_t ranksOf(rondoComm_t comm) { return static_cast<size_t>(comm->impl->place().size); }
int rankOf(rondoComm_t comm) { return comm->impl->place().rank; }

/// `rank` blocks of `count` elements, for in-place rules; what overflows is refused elsewhere.
ptrdiff_t blocks(int rank, size_t count) {
  return static_cast<ptrdiff_t>(static_cast<size_t>(rank) * count);
}

/// An average over 1, 2, 3 ... ranks would be another operator at every rank.
rondoResult_t refuseAverage(const CollectiveArgs& args) {
  if (const rondoResult_t bad = rondo::checkType(args)) return bad;
  if (const rondoResult_t bad = rondo::checkOp(args, rondoAvg)) return bad;
  return rondo::refuseCall(
      args, rondoInvalidArgument,
      rondo::format("argument op is %d (avg); allowed: any operator of the datatype but this one, "
                    "which is not defined for scans",
                    rondoAvg));
}

}  // namespace

rondoResult_t rondoAllReduce(const void* sendbuff, void* recvbuff, size_t count,
                             rondoDataType_t datatype, rondoRedOp_t op, rondoComm_t comm,
                             rondoStream_t stream) {
  return publicCall(comm, "rondoAllReduce", [&]() -> rondoResult_t {
    CollectiveArgs args =
        usual("rondoAllReduce", sendbuff, recvbuff, count, datatype, comm, stream);
    return rondo::runCollective(args, {Collective::AllReduce, true, op});
  });
}

rondoResult_t rondoBroadcast(const void* sendbuff, void* recvbuff, size_t count,
                             rondoDataType_t datatype, int root, rondoComm_t comm,
                             rondoStream_t stream) {
  return publicCall(comm, "rondoBroadcast", [&]() -> rondoResult_t {
    CollectiveArgs args =
        usual("rondoBroadcast", sendbuff, recvbuff, count, datatype, comm, stream);
    args.usesSend = root == rankOf(comm);
    return rondo::runCollective(args, {Collective::Broadcast, false, rondoSum, true, root});
  });
}

rondoResult_t rondoReduce(const void* sendbuff, void* recvbuff, size_t count,
                          rondoDataType_t datatype, rondoRedOp_t op, int root, rondoComm_t comm,
                          rondoStream_t stream) {
  return publicCall(comm, "rondoReduce", [&]() -> rondoResult_t {
    CollectiveArgs args = usual("rondoReduce", sendbuff, recvbuff, count, datatype, comm, stream);
    args.usesRecv = root == rankOf(comm);
    return rondo::runCollective(args, {Collective::Reduce, true, op, true, root});
  });
}

rondoResult_t rondoAllGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                             rondoDataType_t datatype, rondoComm_t comm, rondoStream_t stream) {
  return publicCall(comm, "rondoAllGather", [&]() -> rondoResult_t {
    CollectiveArgs args =
        usual("rondoAllGather", sendbuff, recvbuff, sendcount, datatype, comm, stream);
    args.countName = "sendcount";
    args.recvBlocks = ranksOf(comm);
    args.alias = blocks(rankOf(comm), sendcount);
    return rondo::runCollective(args, {Collective::AllGather});
  });
}

rondoResult_t rondoReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                                 rondoDataType_t datatype, rondoRedOp_t op, rondoComm_t comm,
                                 rondoStream_t stream) {
  return publicCall(comm, "rondoReduceScatter", [&]() -> rondoResult_t {
    CollectiveArgs args =
        usual("rondoReduceScatter", sendbuff, recvbuff, recvcount, datatype, comm, stream);
    args.countName = "recvcount";
    args.sendBlocks = ranksOf(comm);
    args.alias = -blocks(rankOf(comm), recvcount);
    return rondo::runCollective(args, {Collective::ReduceScatter, true, op});
  });
}

rondoResult_t rondoAllToAll(const void* sendbuff, void* recvbuff, size_t count,
                            rondoDataType_t datatype, rondoComm_t comm, rondoStream_t stream) {
  return publicCall(comm, "rondoAllToAll", [&]() -> rondoResult_t {
    CollectiveArgs args = usual("rondoAllToAll", sendbuff, recvbuff, count, datatype, comm, stream);
    args.sendBlocks = args.recvBlocks = ranksOf(comm);
    return rondo::runCollective(args, {Collective::AllToAll});
  });
}

rondoResult_t rondoGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                          rondoDataType_t datatype, int root, rondoComm_t comm,
                          rondoStream_t stream) {
  return publicCall(comm, "rondoGather", [&]() -> rondoResult_t {
    CollectiveArgs args =
        usual("rondoGather", sendbuff, recvbuff, sendcount, datatype, comm, stream);
    args.countName = "sendcount";
    args.usesRecv = root == rankOf(comm);
    args.recvBlocks = ranksOf(comm);
    args.alias = blocks(root, sendcount);
    return rondo::runCollective(args, {Collective::Gather, false, rondoSum, true, root});
  });
}

rondoResult_t rondoScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                           rondoDataType_t datatype, int root, rondoComm_t comm,
                           rondoStream_t stream) {
  return publicCall(comm, "rondoScatter", [&]() -> rondoResult_t {
    CollectiveArgs args =
        usual("rondoScatter", sendbuff, recvbuff, recvcount, datatype, comm, stream);
    args.countName = "recvcount";
    args.usesSend = root == rankOf(comm);
    args.sendBlocks = ranksOf(comm);
    args.alias = -blocks(root, recvcount);
    return rondo::runCollective(args, {Collective::Scatter, false, rondoSum, true, root});
  });
}

rondoResult_t rondoScan(const void* sendbuff, void* recvbuff, size_t count,
                        rondoDataType_t datatype, rondoRedOp_t op, rondoComm_t comm,
                        rondoStream_t stream) {
  return publicCall(comm, "rondoScan", [&]() -> rondoResult_t {
    CollectiveArgs args = usual("rondoScan", sendbuff, recvbuff, count, datatype, comm, stream);
    if (op == rondoAvg) return refuseAverage(args);
    return rondo::runCollective(args, {Collective::Scan, true, op});
  });
}

rondoResult_t rondoExscan(const void* sendbuff, void* recvbuff, size_t count,
                          rondoDataType_t datatype, rondoRedOp_t op, rondoComm_t comm,
                          rondoStream_t stream) {
  return publicCall(comm, "rondoExscan", [&]() -> rondoResult_t {
    CollectiveArgs args = usual("rondoExscan", sendbuff, recvbuff, count, datatype, comm, stream);
    args.usesRecv = rankOf(comm) > 0;
    if (op == rondoAvg) return refuseAverage(args);
    return rondo::runCollective(args, {Collective::Exscan, true, op});
  });
}

rondoResult_t rondoBarrier(rondoComm_t comm, rondoStream_t stream) {
  return publicCall(comm, "rondoBarrier", [&]() -> rondoResult_t {
    const CollectiveArgs args{"rondoBarrier", nullptr, nullptr, 0, rondoInt8, comm, stream, false};
    if (stream != nullptr) {
      return rondo::refuseCall(
          args, rondoInvalidArgument,
          rondo::format("argument stream is %p; allowed: NULL (the barrier is one of host threads)",
                        static_cast<void*>(stream)));
    }
    const rondo::PlanKey key{0, rondoInt8, rondoSum, 0, Collective::Barrier};
    return rondo::runHost(args, {key, nullptr, nullptr});
  });
}
