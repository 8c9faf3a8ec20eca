// Send and receive.

#include <initializer_list>

#include "api/comm_create.h"
#include "api/group.h"
#include "api/run_collective.h"
#include "api/types.h"
#include "base/error.h"

namespace rondo {
namespace {

Transfer transferOf(const CollectiveArgs& args, int peer) {
  void* data = args.usesSend ? const_cast<void*>(args.send) : args.recv;
  return {peer, args.usesSend, static_cast<char*>(data), args.count * typeSize(args.type)};
}

/// Checks one buffer and its peer.
rondoResult_t check(const CollectiveArgs& args, const char* peerName, int peer) {
  if (const rondoResult_t bad = checkBuffers(args)) return bad;
  if (const rondoResult_t bad = checkRank(args, peerName, peer)) return bad;
  if (args.count == 0) return rondoSuccess;
  bool onDevice = false;
  if (const rondoResult_t bad = checkMemory(args, &onDevice)) return bad;
  return onDevice ? refuseDevice(args) : rondoSuccess;
}

rondoResult_t run(const CollectiveArgs& args, std::initializer_list<Transfer> transfers) {
  return runTransfers(args, {transfers.begin(), transfers.size()});
}

}  // namespace
}  // namespace rondo

using rondo::CollectiveArgs;

rondoResult_t rondoSend(const void* sendbuff, size_t count, rondoDataType_t datatype, int peer,
                        rondoComm_t comm, rondoStream_t stream) {
  return rondo::publicCall(comm, "rondoSend", [&]() -> rondoResult_t {
    CollectiveArgs args{"rondoSend", sendbuff, nullptr, count, datatype, comm, stream};
    args.usesRecv = false;
    if (const rondoResult_t bad = rondo::check(args, "peer", peer)) return bad;
    return rondo::run(args, {rondo::transferOf(args, peer)});
  });
}

rondoResult_t rondoRecv(void* recvbuff, size_t count, rondoDataType_t datatype, int peer,
                        rondoComm_t comm, rondoStream_t stream) {
  return rondo::publicCall(comm, "rondoRecv", [&]() -> rondoResult_t {
    CollectiveArgs args{"rondoRecv", nullptr, recvbuff, count, datatype, comm, stream};
    args.usesSend = false;
    if (const rondoResult_t bad = rondo::check(args, "peer", peer)) return bad;
    return rondo::run(args, {rondo::transferOf(args, peer)});
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
    if (const rondoResult_t bad = rondo::check(out, "dest", dest)) return bad;
    if (const rondoResult_t bad = rondo::check(in, "source", source)) return bad;
    CollectiveArgs both = out;
    both.recv = recvbuff;
    both.usesRecv = true;
    both.alias = 1;  // no address is in place
    if (const rondoResult_t bad = rondo::checkSpans(both, sendcount, recvcount)) return bad;
    return rondo::run(out, {rondo::transferOf(out, dest), rondo::transferOf(in, source)});
  });
}
