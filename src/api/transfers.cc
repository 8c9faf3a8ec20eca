// Send and receive.

#include <algorithm>
#include <initializer_list>

#include "api/comm_create.h"
#include "api/device_group.h"
#include "api/group.h"
#include "api/quick_checks.h"
#include "api/run_collective.h"
#include "api/types.h"
#include "base/error.h"
#include "p2p/cuda_device.h"

namespace rondo {
namespace {

Transfer transferOf(const CollectiveArgs& args, int peer) {
  void* data = args.usesSend ? const_cast<void*>(args.send) : args.recv;
  return {peer, args.usesSend, static_cast<char*>(data), args.count * typeSize(args.type)};
}

/// Nothing is sent to or from a device; on a host peers hear of it.
bool nothingOnDevice(const CollectiveArgs& args) {
  if (args.comm->impl->deviceRunner() == nullptr) return false;
  const void* data = args.usesSend ? args.send : args.recv;
  return args.stream != nullptr || pointerKind(data).onDevice();
}

/// Checks one buffer and its peer.
rondoResult_t check(const CollectiveArgs& args, const char* peerName, int peer, bool* onDevice) {
  CollectiveKind kind{};
  kind.rooted = true;
  kind.root = peer;
  if (plainlyRight(args, kind)) [[likely]]
    return rondoSuccess;
  if (const rondoResult_t bad = checkBuffers(args)) return bad;
  if (const rondoResult_t bad = checkRank(args, peerName, peer)) return bad;
  if (args.count > 0) return checkMemory(args, onDevice);
  *onDevice = nothingOnDevice(args);
  return rondoSuccess;
}

rondoResult_t run(const CollectiveArgs& args, std::initializer_list<Transfer> transfers,
                  bool onDevice) {
  const std::span<const Transfer> all{transfers.begin(), transfers.size()};
  if (onDevice && std::all_of(all.begin(), all.end(), [](const auto& t) { return t.bytes == 0; })) {
    return rondoSuccess;
  }
  if (onDevice) return runOnDevice(args.comm, {args.call, all, args.stream});
  return runTransfers(args, all);
}

rondoResult_t refuseMixed(const CollectiveArgs& args, bool sendOnDevice) {
  const char* const kinds[] = {"host memory", "device memory"};
  return refuseCall(
      args, rondoInvalidArgument,
      format("argument sendbuff (%p) is %s and recvbuff (%p) is %s; allowed: host "
             "memory both, or device memory both",
             args.send, kinds[sendOnDevice ? 1 : 0], args.recv, kinds[sendOnDevice ? 0 : 1]));
}

}  // namespace
}  // namespace rondo

using rondo::CollectiveArgs;

rondoResult_t rondoSend(const void* sendbuff, size_t count, rondoDataType_t datatype, int peer,
                        rondoComm_t comm, rondoStream_t stream) {
  return rondo::publicCall(comm, "rondoSend", [&]() -> rondoResult_t {
    CollectiveArgs args{"rondoSend", sendbuff, nullptr, count, datatype, comm, stream};
    args.usesRecv = false;
    bool onDevice = false;
    if (const rondoResult_t bad = rondo::check(args, "peer", peer, &onDevice)) return bad;
    return rondo::run(args, {rondo::transferOf(args, peer)}, onDevice);
  });
}

rondoResult_t rondoRecv(void* recvbuff, size_t count, rondoDataType_t datatype, int peer,
                        rondoComm_t comm, rondoStream_t stream) {
  return rondo::publicCall(comm, "rondoRecv", [&]() -> rondoResult_t {
    CollectiveArgs args{"rondoRecv", nullptr, recvbuff, count, datatype, comm, stream};
    args.usesSend = false;
    bool onDevice = false;
    if (const rondoResult_t bad = rondo::check(args, "peer", peer, &onDevice)) return bad;
    return rondo::run(args, {rondo::transferOf(args, peer)}, onDevice);
  });
}

rondoResult_t rondoSendRecv(const void* sendbuff, size_t sendcount, int dest, void* recvbuff,
                            size_t recvcount, int source, rondoDataType_t datatype,
                            rondoComm_t comm, rondoStream_t stream) {
  return rondo::publicCall(comm, "rondoSendRecv", [&]() -> rondoResult_t {
    CollectiveArgs out{"rondoSendRecv", sendbuff, nullptr, sendcount, datatype, comm, stream};
    CollectiveArgs in{"rondoSendRecv", nullptr, recvbuff, recvcount, datatype, comm, stream};
    out.usesRecv = false;
    out.countName = "sendcount";
    in.usesSend = false;
    in.countName = "recvcount";
    bool sendOnDevice = false, recvOnDevice = false;
    if (const rondoResult_t bad = rondo::check(out, "dest", dest, &sendOnDevice)) return bad;
    if (const rondoResult_t bad = rondo::check(in, "source", source, &recvOnDevice)) return bad;
    CollectiveArgs both = out;
    both.recv = recvbuff;
    both.usesRecv = true;
    both.mayAlias = both.hasPlace = false;
    if (const rondoResult_t bad = rondo::checkSpans(both, sendcount, recvcount)) return bad;
    if (sendOnDevice != recvOnDevice) {
      if (sendcount > 0 && recvcount > 0) return rondo::refuseMixed(both, sendOnDevice);
      // The one without elements goes with the other.
      sendOnDevice = sendcount > 0 ? sendOnDevice : recvOnDevice;
    }
    return rondo::run(out, {rondo::transferOf(out, dest), rondo::transferOf(in, source)},
                      sendOnDevice);
  });
}
