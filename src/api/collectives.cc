// The collective calls of the C API: check, plan, run.

#include "api/argument_checks.h"
#include "api/comm_create.h"
#include "base/error.h"

namespace rondo {
namespace {

rondoResult_t report(const CollectiveArgs& args, RunResult result) {
  rondoComm* comm = args.comm;
  if (result == RunResult::Aborted) {
    comm->broken = abortSentence(*comm->impl);
  } else {
    comm->broken = format("communicator \"%s\" waited longer than RONDO_SPIN_BOUND_MS for a peer",
                          comm->impl->name().c_str());
  }
  return fail(comm, rondoRemoteError, std::string(args.call) + ": " + comm->broken);
}

rondoResult_t runHost(const CollectiveArgs& args, const PlanKey& key) {
  try {
    const RunResult result = args.comm->impl->run({key, args.send, args.recv});
    if (result == RunResult::Ok) [[likely]]
      return rondoSuccess;
    return report(args, result);
  } catch (...) {
    return guarded(args.comm, args.call, [] { throw; });
  }
}

rondoResult_t allReduceOnDevice(const CollectiveArgs& args, rondoRedOp_t op) {
  return guarded(args.comm, args.call, [&] {
    args.comm->impl->deviceRunner()->allReduce(args.send, args.recv, args.count, args.type, op,
                                               args.stream);
  });
}

}  // namespace
}  // namespace rondo

using rondo::CollectiveArgs;

rondoResult_t rondoAllReduce(const void* sendbuff, void* recvbuff, size_t count,
                             rondoDataType_t datatype, rondoRedOp_t op, rondoComm_t comm,
                             rondoStream_t stream) {
  const rondo::Use use(comm, "rondoAllReduce");
  if (use.result() != rondoSuccess) return use.result();
  const CollectiveArgs args{"rondoAllReduce", sendbuff, recvbuff, count, datatype, comm, stream};
  if (const rondoResult_t bad = rondo::checkBuffers(args)) return bad;
  if (const rondoResult_t bad = rondo::checkOp(args, op)) return bad;
  if (count == 0) return rondoSuccess;
  bool onDevice = false;
  if (const rondoResult_t bad = rondo::checkMemory(args, &onDevice)) return bad;
  if (onDevice) [[unlikely]]
    return rondo::allReduceOnDevice(args, op);
  return rondo::runHost(args, {count, datatype, op, 0, rondo::Collective::AllReduce});
}

rondoResult_t rondoBroadcast(const void* sendbuff, void* recvbuff, size_t count,
                             rondoDataType_t datatype, int root, rondoComm_t comm,
                             rondoStream_t stream) {
  const rondo::Use use(comm, "rondoBroadcast");
  if (use.result() != rondoSuccess) return use.result();
  const bool isRoot = root == comm->impl->place().rank;
  const CollectiveArgs args{"rondoBroadcast", sendbuff, recvbuff, count,
                            datatype,         comm,     stream,   isRoot};
  if (const rondoResult_t bad = rondo::checkBuffers(args)) return bad;
  if (const rondoResult_t bad = rondo::checkRoot(args, root)) return bad;
  if (count == 0) return rondoSuccess;
  bool onDevice = false;
  if (const rondoResult_t bad = rondo::checkMemory(args, &onDevice)) return bad;
  if (onDevice) {
    return rondo::fail(comm, rondoUnsupported,
                       "rondoBroadcast: the buffers are device memory; allowed so far: host memory "
                       "(device memory: "
                       "rondoAllReduce only)");
  }
  return rondo::runHost(args, {count, datatype, rondoSum, root, rondo::Collective::Broadcast});
}

rondoResult_t rondoBarrier(rondoComm_t comm, rondoStream_t stream) {
  const rondo::Use use(comm, "rondoBarrier");
  if (use.result() != rondoSuccess) return use.result();
  const CollectiveArgs args{"rondoBarrier", nullptr, nullptr, 0, rondoInt8, comm, stream, false};
  if (stream != nullptr) {
    return rondo::fail(
        comm, rondoInvalidArgument,
        rondo::format(
            "rondoBarrier: argument stream is %p; allowed: NULL (the barrier is one of host "
            "threads)",
            static_cast<void*>(stream)));
  }
  return rondo::runHost(args, {0, rondoInt8, rondoSum, 0, rondo::Collective::Barrier});
}
