#include "api/argument_checks.h"

#include <algorithm>

#include "api/comm_create.h"
#include "api/types.h"
#include "base/error.h"
#include "p2p/cuda_device.h"

namespace rondo {
namespace {

rondoResult_t refuse(const CollectiveArgs& args, const std::string& what) {
  return refuseCall(args, rondoInvalidArgument, what);
}

std::string typeList() {
  std::string names;
  for (const rondoDataType_t type : kAllTypes) {
    names += (names.empty() ? "" : ", ") + format("%d (%s)", type, typeName(type));
  }
  return names;
}

std::string opList(rondoDataType_t type) {
  std::string names;
  for (const rondoRedOp_t op : kAllOps) {
    if (opDefined(type, op))
      names += (names.empty() ? "" : ", ") + format("%d (%s)", op, opName(op));
  }
  return names;
}

std::string describe(const PointerKind& kind) {
  if (kind.memory == PointerKind::kHost) return "host memory";
  if (kind.memory == PointerKind::kGone) return goneText(kind);
  return format("%s memory of device %d",
                kind.memory == PointerKind::kManaged ? "managed" : "device", kind.device);
}

/// One of a call's buffers.
struct Span {
  const char* name;
  const void* begin;
  size_t blocks;
  bool used;
  uintptr_t address() const { return reinterpret_cast<uintptr_t>(begin); }
};

/// What the buffer must hold. Blocks of uneven lengths have no formula: then where the last one
/// ends.
std::string extentText(const CollectiveArgs& args, const Span& span, size_t bytes) {
  const size_t elements = bytes / typeSize(args.type);
  if (elements != args.count * span.blocks) return format("%zu elements", elements);
  return span.blocks == 1 ? format("%s elements", args.countName)
                          : format("%zu x %s elements", span.blocks, args.countName);
}

rondoResult_t checkSpan(const CollectiveArgs& args, const Span& span, size_t bytes) {
  if (span.begin == nullptr) [[unlikely]] {
    const size_t elements = bytes / typeSize(args.type);
    const std::string with = elements != args.count * span.blocks
                                 ? format("blocks that end at %zu elements", elements)
                                 : format("%s %zu", args.countName, args.count);
    return refuse(args, format("argument %s is NULL with %s; allowed: memory of %s", span.name,
                               with.c_str(), extentText(args, span, bytes).c_str()));
  }
  if (span.address() > UINTPTR_MAX - bytes) [[unlikely]] {
    return refuse(args,
                  format("argument %s is %p, and %zu bytes from there pass the end of the "
                         "address space; allowed: memory of %s",
                         span.name, span.begin, bytes, extentText(args, span, bytes).c_str()));
  }
  return rondoSuccess;
}

rondoResult_t refuseOverlap(const CollectiveArgs& args, size_t sendBytes, size_t recvBytes) {
  if (!args.hasPlace) {
    return refuse(args, format("arguments sendbuff (%p, %zu bytes) and recvbuff (%p, %zu bytes) "
                               "overlap; allowed: no overlap",
                               args.send, sendBytes, args.recv, recvBytes));
  }
  const std::string place =
      !args.mayAlias    ? "the same address with equal counts and displacements"
      : args.alias == 0 ? "the same address"
                        : format("sendbuff %zu elements %s recvbuff",
                                 static_cast<size_t>(args.alias > 0 ? args.alias : -args.alias),
                                 args.alias > 0 ? "after" : "before");
  if (sendBytes == recvBytes) {
    return refuse(args, format("arguments sendbuff (%p) and recvbuff (%p) of %zu bytes overlap; "
                               "allowed: %s (in place) or no overlap",
                               args.send, args.recv, sendBytes, place.c_str()));
  }
  return refuse(args, format("arguments sendbuff (%p, %zu bytes) and recvbuff (%p, %zu bytes) "
                             "overlap; allowed: %s (in place) or no overlap",
                             args.send, sendBytes, args.recv, recvBytes, place.c_str()));
}

}  // namespace

rondoResult_t refuseCall(const CollectiveArgs& args, rondoResult_t code, const std::string& what) {
  const int rank = args.comm->impl->place().rank;
  return fail(args.comm, code, format("%s: rank %d: %s", args.call, rank, what.c_str()));
}

std::string countText(size_t count) {
  if (count <= PTRDIFF_MAX) return std::to_string(count);
  return format("%zu (%td if it was signed)", count, static_cast<ptrdiff_t>(count));
}

rondoResult_t checkType(const CollectiveArgs& args) {
  if (typeSize(args.type) != 0) [[likely]]
    return rondoSuccess;
  return refuse(args,
                format("argument datatype is %d; allowed: %s", args.type, typeList().c_str()));
}

rondoResult_t checkBuffers(const CollectiveArgs& args) {
  if (const rondoResult_t bad = checkType(args)) [[unlikely]]
    return bad;
  const size_t element = typeSize(args.type);
  const size_t most = PTRDIFF_MAX / element / std::max(args.sendBlocks, args.recvBlocks);
  if (args.count > most) [[unlikely]] {
    return refuse(
        args,
        format("argument %s is %s elements of %s; allowed: at most %zu, so that the buffer fits "
               "the address space",
               args.countName, countText(args.count).c_str(), typeName(args.type), most));
  }
  if (args.count == 0) return rondoSuccess;
  return checkSpans(args, args.count * args.sendBlocks, args.count * args.recvBlocks);
}

rondoResult_t checkSpans(const CollectiveArgs& args, size_t sendElements, size_t recvElements) {
  const size_t element = typeSize(args.type);
  const size_t sendBytes = sendElements * element, recvBytes = recvElements * element;
  const Span send{"sendbuff", args.send, args.sendBlocks, args.usesSend && sendBytes > 0};
  const Span recv{"recvbuff", args.recv, args.recvBlocks, args.usesRecv && recvBytes > 0};
  if (send.used) {
    if (const rondoResult_t bad = checkSpan(args, send, sendBytes)) return bad;
  }
  if (recv.used) {
    if (const rondoResult_t bad = checkSpan(args, recv, recvBytes)) return bad;
  }
  if (!send.used || !recv.used) return rondoSuccess;
  const uintptr_t a = send.address(), b = recv.address();
  const auto distance = static_cast<uintptr_t>(args.alias) * element;  // may wrap: so may a - b
  const bool inPlace = args.mayAlias && a - b == distance;
  if (!inPlace && a < b + recvBytes && b < a + sendBytes) [[unlikely]]
    return refuseOverlap(args, sendBytes, recvBytes);
  return rondoSuccess;
}

namespace {

/// Of a buffer that nobody can read.
rondoResult_t refuseGone(const CollectiveArgs& args, const PointerKind& send,
                         const PointerKind& recv) {
  const bool isSend = args.usesSend && send.memory == PointerKind::kGone;
  const PointerKind& kind = isSend ? send : recv;
  const Communicator& comm = *args.comm->impl;
  const std::string devices =
      comm.deviceRunner() == nullptr
          ? ""
          : format(", or memory of the communicator's device %d", comm.device());
  return refuseCall(
      args, kind.error == 0 ? rondoInvalidArgument : rondoUnhandledCudaError,
      format("argument %s (%p) is %s; allowed: host memory%s", isSend ? "sendbuff" : "recvbuff",
             isSend ? args.send : args.recv, describe(kind).c_str(), devices.c_str()));
}

}  // namespace

rondoResult_t checkMemory(const CollectiveArgs& args, bool* onDevice) {
  *onDevice = false;
  if (args.comm->rehearsal != nullptr) return rondoSuccess;  // whatever it is, nobody touches it
  const PointerKind recv = pointerKind(args.usesRecv ? args.recv : args.send);
  const bool another = args.usesSend && args.send != (args.usesRecv ? args.recv : args.send);
  const PointerKind send = another ? pointerKind(args.send) : recv;
  if (send.memory == PointerKind::kGone || recv.memory == PointerKind::kGone) [[unlikely]]
    return refuseGone(args, send, recv);
  const bool host = recv.memory == PointerKind::kHost;
  *onDevice = !host;
  if ((send.memory == PointerKind::kHost) != host) [[unlikely]] {
    return refuse(
        args,
        format(
            "argument sendbuff (%p) is %s and recvbuff (%p) is %s; allowed: host memory both, or "
            "device memory both",
            args.send, describe(send).c_str(), args.recv, describe(recv).c_str()));
  }
  if (host) {
    if (args.stream == nullptr) [[likely]]
      return rondoSuccess;
    return refuse(
        args,
        format(
            "argument stream is %p, but the buffers are host memory, which is done with when the "
            "call returns, or device memory that was freed; allowed: NULL, or device memory",
            static_cast<void*>(args.stream)));
  }
  const Communicator& comm = *args.comm->impl;
  if (comm.deviceRunner() == nullptr) {
    return refuseCall(
        args, rondoUnsupported,
        format("argument %s (%p) is %s, but communicator \"%s\" has host memory only: %s",
               args.usesRecv ? "recvbuff" : "sendbuff", args.usesRecv ? args.recv : args.send,
               describe(recv).c_str(), comm.name().c_str(), comm.whyNoDevice().c_str()));
  }
  const auto foreign = [&comm](const PointerKind& kind) {
    return kind.memory == PointerKind::kDevice && kind.device != comm.device();
  };
  if (foreign(send) || foreign(recv)) {
    const bool isSend = foreign(send) && args.usesSend;
    return refuse(args,
                  format("argument %s (%p) is %s; allowed: memory of the communicator's device %d",
                         isSend ? "sendbuff" : "recvbuff", isSend ? args.send : args.recv,
                         describe(isSend ? send : recv).c_str(), comm.device()));
  }
  return rondoSuccess;
}

rondoResult_t checkOp(const CollectiveArgs& args, rondoRedOp_t op) {
  if (opDefined(args.type, op)) [[likely]]
    return rondoSuccess;
  if (const ScaledOp* scaled = args.comm->impl->scaledOps().find(op)) {
    if (scaled->type == args.type) return rondoSuccess;
    return refuse(args, format("argument op is %d, made by rondoRedOpCreatePreMulSum for datatype "
                               "%s, and argument datatype is %s; allowed: the same datatype",
                               op, typeName(scaled->type), typeName(args.type)));
  }
  return refuse(args, format("argument op is %d (%s); allowed for datatype %s: %s", op, opName(op),
                             typeName(args.type), opList(args.type).c_str()));
}

rondoResult_t checkRank(const CollectiveArgs& args, const char* name, int rank) {
  const int size = args.comm->impl->place().size;
  if (rank >= 0 && rank < size) return rondoSuccess;
  return refuse(args, format("argument %s is %d; allowed: 0 to %d", name, rank, size - 1));
}

}  // namespace rondo
