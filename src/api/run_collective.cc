#include "api/run_collective.h"

#include "api/comm_create.h"
#include "api/device_group.h"
#include "api/group.h"
#include "api/profile_range.h"
#include "api/quick_checks.h"
#include "api/types.h"
#include "api/virtual_comm.h"
#include "base/error.h"

namespace rondo {
namespace {

/// `why`: what is known of a mismatch beside the ranks' calls; may be empty.
rondoResult_t report(const CollectiveArgs& args, RunResult result, const std::string& why) {
  rondoComm* comm = args.comm;
  if (result == RunResult::SpinBound) {
    comm->broken = format("communicator \"%s\" waited longer than RONDO_SPIN_BOUND_MS for a peer",
                          comm->impl->name().c_str());
  } else {
    findBreak(comm, *comm->impl);
    if (result == RunResult::Mismatch && comm->brokenCode != rondoMismatch) {
      comm->broken = why.empty() ? comm->impl->differText() : why;
      comm->brokenCode = rondoMismatch;
    }
  }
  // What this rank knows, the others may not.
  if (result == RunResult::Mismatch) comm->impl->abortDiffering(comm->broken);
  comm->impl->noteBroken(comm->broken);
  return fail(comm, comm->brokenCode, std::string(args.call) + ": " + comm->broken);
}

rondoResult_t runDevice(const CollectiveArgs& args, const CollectiveKind& kind) {
  const bool made = kind.reduces && kind.op >= ScaledOps::kFirst;
  const ScaledOp* scaled = made ? args.comm->impl->scaledOps().find(kind.op) : nullptr;
  return runOnDevice(args.comm, {args.call, kind.collective, args.send, args.recv, args.count,
                                 args.type, kind.op, kind.root, args.stream, scaled});
}

}  // namespace

rondoResult_t checkScalar(const CollectiveArgs& args, rondoRedOp_t op) {
  if (op < ScaledOps::kFirst) [[likely]]
    return rondoSuccess;
  const ScaledOp* scaled = args.comm->impl->scaledOps().find(op);
  if (scaled == nullptr || !scaled->onDevice) return rondoSuccess;
  return refuseCall(
      args, rondoUnsupported,
      format("argument op is %d, whose scalar is device memory, and the buffers are host memory; "
             "allowed: device memory, or a scalar on the host",
             op));
}

rondoResult_t runHost(const CollectiveArgs& args, const HostRequest& request) {
  const ProfileRange range(args.call, [&]() -> RangePayload {
    const PlanKey& key = request.key;
    return {args.count * typeSize(args.type),
            args.count,
            isReduction(key.collective) ? key.op : -1,
            isRooted(key.collective) ? key.root : -1,
            -1,
            args.comm->impl ? args.comm->impl->place().rank : -1};
  });
  try {
    if (args.comm->rehearsal != nullptr) [[unlikely]]
      return runVirtual(args.comm, args.call, request);
    Communicator& comm = *args.comm->impl;
    if (groupOpen() || !comm.idle()) [[unlikely]] {
      if (!groupOpen()) return runAlone(args.comm, args.call, request);
      addToGroup(args.comm, args.call, request);
      return rondoSuccess;
    }
    const RunResult result = comm.run(request);
    if (result == RunResult::Ok) [[likely]]
      return rondoSuccess;
    return report(args, result, "");
  } catch (...) {
    return guarded(args.comm, args.call, [] { throw; });
  }
}

rondoResult_t runTransfers(const CollectiveArgs& args, std::span<const Transfer> transfers) {
  const ProfileRange range(
      args.call, [&] { return RangePayload::of(transfers, args.comm->impl->place().rank); });
  try {
    if (groupOpen()) {
      addToGroup(args.comm, args.call, transfers);
      return rondoSuccess;
    }
    Communicator& comm = *args.comm->impl;
    const std::string fault = Exchange::selfFault(comm.place().rank, transfers);
    if (!fault.empty()) {
      return fail(args.comm, rondoInvalidUsage, std::string(args.call) + ": " + fault);
    }
    if (args.comm->rehearsal != nullptr) [[unlikely]]
      return runVirtual(args.comm, args.call, transfers);
    if (!comm.idle()) [[unlikely]]
      return runAlone(args.comm, args.call, transfers);
    const RunResult result = comm.runExchange(transfers);
    if (result == RunResult::Ok) [[likely]]
      return rondoSuccess;
    return report(args, result, comm.exchangeMismatch());
  } catch (...) {
    return guarded(args.comm, args.call, [] { throw; });
  }
}

rondoResult_t runCollective(const CollectiveArgs& args, const CollectiveKind& kind) {
  const PlanKey key{args.count, args.type, kind.op, kind.root, kind.collective};
  if (plainlyRight(args, kind)) [[likely]]
    return runHost(args, {key, args.send, args.recv});
  if (const rondoResult_t bad = checkBuffers(args)) return bad;
  if (kind.reduces) {
    if (const rondoResult_t bad = checkOp(args, kind.op)) return bad;
  }
  if (kind.rooted) {
    if (const rondoResult_t bad = checkRank(args, "root", kind.root)) return bad;
  }
  // Peers learn of it: one that has another count waits for this rank.
  if (args.count == 0) return runHost(args, {key, args.send, args.recv});
  bool onDevice = false;
  if (const rondoResult_t bad = checkMemory(args, &onDevice)) return bad;
  if (onDevice) [[unlikely]]
    return runDevice(args, kind);
  if (kind.reduces) {
    if (const rondoResult_t bad = checkScalar(args, kind.op)) return bad;
  }
  return runHost(args, {key, args.send, args.recv});
}

}  // namespace rondo
