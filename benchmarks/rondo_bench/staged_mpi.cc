#include "staged_mpi.h"

#include <algorithm>

#include "library_mpi.h"

namespace rondo::bench {
namespace {

/// A stretch of the device's memory and its copy on the host.
struct Stretch {
  const char* begin = nullptr;
  size_t bytes = 0;
  char* host = nullptr;

  bool there() const { return bytes > 0; }
  template <class T>
  T* copyOf(T* pointer) const {
    return reinterpret_cast<T*>(host + (static_cast<const char*>(pointer) - begin));
  }
};

CuPointer address(const void* pointer) { return reinterpret_cast<CuPointer>(pointer); }

/// A call may leave parts of its result as they are.
bool leavesSome(const Layout& layout) {
  return std::any_of(layout.recv.begin(), layout.recv.end(),
                     [](const Piece& piece) { return piece.values == Values::kUntouched; });
}

size_t lines(size_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

StagedMpi::~StagedMpi() {
  if (room_ != nullptr) device_.cuda().memFreeHost(room_);
}

char* StagedMpi::room(size_t bytes) {
  const CudaDriver& cuda = device_.cuda();
  if (bytes > roomBytes_) {
    if (room_ != nullptr) cuda.check(cuda.memFreeHost(room_), "cuMemFreeHost");
    room_ = nullptr;
    cuda.check(cuda.memAllocHost(&room_, bytes), "cuMemAllocHost");
    roomBytes_ = bytes;
  }
  return static_cast<char*>(room_);
}

void StagedMpi::call(const std::function<void(const CallArgs&)>& mpi, const CallArgs& args) {
  const CudaDriver& cuda = device_.cuda();
  device_.synchronize();  // the copy back of the call before reads the room
  Stretch send, recv;
  if (args.send != nullptr) {
    send = {static_cast<const char*>(args.send), args.layout->sendElements() * args.elementSize};
  }
  if (!args.layout->recv.empty()) {
    recv = {static_cast<const char*>(args.recv), args.layout->recvElements() * args.elementSize};
  }
  if (args.inPlace && send.there() && recv.there()) {  // one of them lies in the other
    const char* const begin = std::min(send.begin, recv.begin);
    const char* const end = std::max(send.begin + send.bytes, recv.begin + recv.bytes);
    send = recv = {begin, static_cast<size_t>(end - begin)};
  }
  const bool one = args.inPlace && send.there() && recv.there();
  char* const host = room(lines(send.bytes) + recv.bytes);
  send.host = host;
  recv.host = one ? host : host + lines(send.bytes);
  const auto fetch = [&](const Stretch& from) {
    cuda.check(cuda.copyToHostAsync(from.host, address(from.begin), from.bytes, args.stream),
               "cuMemcpyDtoHAsync");
  };
  if (send.there()) fetch(send);
  if (recv.there() && !one && leavesSome(*args.layout)) fetch(recv);
  device_.synchronize();
  CallArgs staged = args;
  if (send.there()) staged.send = send.copyOf(static_cast<const char*>(args.send));
  if (recv.there()) staged.recv = recv.copyOf(static_cast<char*>(args.recv));
  mpi(staged);
  if (!recv.there()) return;
  cuda.check(cuda.copyToDeviceAsync(address(recv.begin), recv.host, recv.bytes, args.stream),
             "cuMemcpyHtoDAsync");
}

Contender StagedMpi::contender(const Benchmark& benchmark, MPI_Comm comm) {
  Contender plain = mpiContender(benchmark, comm);
  return {plain.library,
          [this, mpi = std::move(plain.call)](const CallArgs& args) { call(mpi, args); }};
}

}  // namespace rondo::bench
