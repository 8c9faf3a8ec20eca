#include "api/argument_checks.h"

#include "api/comm_create.h"
#include "api/types.h"
#include "base/error.h"
#include "p2p/cuda_device.h"

namespace rondo {
namespace {

rondoResult_t refuse(const CollectiveArgs& args, const std::string& what) {
  return fail(args.comm, rondoInvalidArgument, std::string(args.call) + ": " + what);
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
  return format("%s memory of device %d",
                kind.memory == PointerKind::kManaged ? "managed" : "device", kind.device);
}

rondoResult_t checkNull(const CollectiveArgs& args) {
  if (args.usesSend && args.send == nullptr) {
    return refuse(
        args, format("argument sendbuff is NULL with count %zu; allowed: memory of count elements",
                     args.count));
  }
  return refuse(
      args, format("argument recvbuff is NULL with count %zu; allowed: memory of count elements",
                   args.count));
}

rondoResult_t refusePast(const CollectiveArgs& args, const char* name, const void* at,
                         size_t bytes) {
  return refuse(args, format("argument %s is %p, and %zu bytes from there pass the end of the "
                             "address space; allowed: memory of count elements",
                             name, at, bytes));
}

}  // namespace

rondoResult_t checkBuffers(const CollectiveArgs& args) {
  const size_t element = typeSize(args.type);
  if (element == 0) [[unlikely]] {
    return refuse(args,
                  format("argument datatype is %d; allowed: %s", args.type, typeList().c_str()));
  }
  if (args.count > PTRDIFF_MAX / element) [[unlikely]] {
    return refuse(
        args,
        format(
            "argument count is %zu elements of %s; allowed: at most %zu, so that the buffer fits "
            "the address space",
            args.count, typeName(args.type), static_cast<size_t>(PTRDIFF_MAX / element)));
  }
  if (args.count == 0) return rondoSuccess;
  if ((args.usesSend && args.send == nullptr) || args.recv == nullptr) [[unlikely]]
    return checkNull(args);
  const size_t bytes = args.count * element;
  const auto send = reinterpret_cast<uintptr_t>(args.send),
             recv = reinterpret_cast<uintptr_t>(args.recv);
  if (args.usesSend && send > UINTPTR_MAX - bytes) [[unlikely]]
    return refusePast(args, "sendbuff", args.send, bytes);
  if (recv > UINTPTR_MAX - bytes) [[unlikely]]
    return refusePast(args, "recvbuff", args.recv, bytes);
  if (args.usesSend && send != recv && send < recv + bytes && recv < send + bytes) [[unlikely]] {
    return refuse(args, format("arguments sendbuff (%p) and recvbuff (%p) of %zu bytes overlap; "
                               "allowed: the same address (in "
                               "place) or no overlap",
                               args.send, args.recv, bytes));
  }
  return rondoSuccess;
}

rondoResult_t checkMemory(const CollectiveArgs& args, bool* onDevice) {
  const PointerKind recv = pointerKind(args.recv);
  const PointerKind send = args.usesSend ? pointerKind(args.send) : recv;
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
            "call returns; allowed: NULL",
            static_cast<void*>(args.stream)));
  }
  const Communicator& comm = *args.comm->impl;
  if (comm.deviceRunner() == nullptr) {
    return fail(
        args.comm, rondoUnsupported,
        format("%s: argument recvbuff (%p) is %s, but communicator \"%s\" has host memory only: %s",
               args.call, args.recv, describe(recv).c_str(), comm.name().c_str(),
               comm.whyNoDevice().c_str()));
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
  return refuse(args, format("argument op is %d (%s); allowed for datatype %s: %s", op, opName(op),
                             typeName(args.type), opList(args.type).c_str()));
}

rondoResult_t checkRoot(const CollectiveArgs& args, int root) {
  const int size = args.comm->impl->place().size;
  if (root >= 0 && root < size) return rondoSuccess;
  return refuse(args, format("argument root is %d; allowed: 0 to %d", root, size - 1));
}

}  // namespace rondo
