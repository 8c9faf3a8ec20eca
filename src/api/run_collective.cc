#include "api/run_collective.h"

#include "api/comm_create.h"
#include "api/group.h"
#include "base/error.h"

namespace rondo {
namespace {

rondoResult_t report(const CollectiveArgs& args, RunResult result) {
  rondoComm* comm = args.comm;
  if (result == RunResult::SpinBound) {
    comm->broken = format("communicator \"%s\" waited longer than RONDO_SPIN_BOUND_MS for a peer",
                          comm->impl->name().c_str());
  } else {
    breakComm(comm, *comm->impl);
    if (result == RunResult::Mismatch && comm->brokenCode != rondoInvalidUsage) {
      comm->broken = "a message of another call came: the ranks make different calls";
      comm->brokenCode = rondoInvalidUsage;
    }
  }
  // What this rank knows, the others may not: they are told by the abort word, and compare calls.
  if (result == RunResult::Mismatch) comm->impl->abort();
  return fail(comm, comm->brokenCode, std::string(args.call) + ": " + comm->broken);
}

rondoResult_t runDevice(const CollectiveArgs& args, const CollectiveKind& kind) {
  switch (kind.collective) {
    case Collective::AllReduce:
    case Collective::AllGather:
    case Collective::ReduceScatter:
    case Collective::AllToAll:
    case Collective::Reduce:
    case Collective::Broadcast:
      break;
    default:
      return refuseDevice(args);
  }
  return guarded(args.comm, args.call, [&] {
    args.comm->impl->deviceRunner()->run({args.call, kind.collective, args.send, args.recv,
                                          args.count, args.type, kind.op, kind.root, args.stream});
  });
}

}  // namespace

rondoResult_t refuseDevice(const CollectiveArgs& args) {
  return fail(args.comm, rondoUnsupported,
              std::string(args.call) +
                  ": the buffers are device memory; allowed so far: host memory (device memory: "
                  "rondoAllReduce, rondoAllGather, rondoReduceScatter, rondoAllToAll, rondoReduce "
                  "and rondoBroadcast)");
}

rondoResult_t runHost(const CollectiveArgs& args, const HostRequest& request,
                      std::shared_ptr<UnevenSlots> uneven) {
  try {
    Communicator& comm = *args.comm->impl;
    if (groupOpen() || !comm.idle()) [[unlikely]] {
      Operation operation{args.call, request, std::move(uneven), {}};
      if (!groupOpen()) return runAlone(args.comm, std::move(operation));
      addToGroup(args.comm, std::move(operation));
      return rondoSuccess;
    }
    const RunResult result = comm.run(request);
    if (result == RunResult::Ok) [[likely]]
      return rondoSuccess;
    return report(args, result);
  } catch (...) {
    return guarded(args.comm, args.call, [] { throw; });
  }
}

rondoResult_t runCollective(const CollectiveArgs& args, const CollectiveKind& kind) {
  if (const rondoResult_t bad = checkBuffers(args)) return bad;
  if (kind.reduces) {
    if (const rondoResult_t bad = checkOp(args, kind.op)) return bad;
  }
  if (kind.rooted) {
    if (const rondoResult_t bad = checkRank(args, "root", kind.root)) return bad;
  }
  if (args.count == 0) return rondoSuccess;
  bool onDevice = false;
  if (const rondoResult_t bad = checkMemory(args, &onDevice)) return bad;
  if (onDevice) [[unlikely]] {
    if (groupOpen()) {
      return fail(args.comm, rondoUnsupported,
                  std::string(args.call) +
                      ": the buffers are device memory; allowed in a group so "
                      "far: host memory");
    }
    return runDevice(args, kind);
  }
  const PlanKey key{args.count, args.type, kind.op, kind.root, kind.collective};
  return runHost(args, {key, args.send, args.recv});
}

}  // namespace rondo
