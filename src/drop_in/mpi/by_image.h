#pragma once
// Calls of MPI's with buffers that may lie on a device: MPI is given a host image of each, with the
// type and the count of the program's.

#include <mpi.h>

#include <new>
#include <string>

#include "base/error.h"
#include "drop_in/mpi/device_memory.h"
#include "drop_in/mpi/failure.h"
#include "drop_in/mpi/staged.h"
#include "drop_in/mpi/stats.h"

namespace rondo::drop_in {

/// A call's buffer.
struct Buffer {
  const void* begin;
  int count;
  MPI_Datatype type;
  bool staged() const {
    return devicesOn && count > 0 && layoutOf(type).valid && liesOnDevice(begin, type);
  }
  Elements elements() const {
    return {static_cast<char*>(const_cast<void*>(begin)), static_cast<size_t>(count), type,
            layoutOf(type), true};
  }
};

/// Runs `body`, which copies to or from a device. What it throws is raised at `where`, a
/// communicator, a window or a file.
template <class Where, class Body>
int guarded(const Where& where, const char* call, const Body& body) {
  try {
    return body();
  } catch (const Error& error) {
    return raise(where, error.code(), std::string(call) + ": " + error.sentence());
  } catch (const std::bad_alloc&) {
    return raise(where, rondoOutOfMemory,
                 std::string(call) + ": no memory for a host copy of a device buffer");
  }
}

/// The same, and it does copy: the statistics count it.
template <class Where, class Body>
int copied(const Where& where, const char* call, const Body& body) {
  const StagedCall counted(call);
  return guarded(where, call, body);
}

/// MPI_Send and others: `mpis` does the call on the buffer that it is given.
template <class Where, class Mpis>
int send(const Where& where, const char* call, const Buffer& buffer, const Mpis& mpis) {
  if (!buffer.staged()) [[likely]]
    return mpis(buffer.begin);
  return copied(where, call, [&] { return mpis(Image(buffer.elements(), false).begin()); });
}

template <class Where, class Mpis>
int receive(const Where& where, const char* call, const Buffer& buffer, const Mpis& mpis) {
  if (!buffer.staged()) [[likely]] {
    const int code = mpis(const_cast<void*>(buffer.begin));
    endFreed();
    return code;
  }
  return copied(where, call, [&] {
    Image image(buffer.elements(), true);
    const int code = mpis(image.begin());
    image.bringBack();
    endFreed();
    return code;
  });
}

/// The non-blocking ones.
template <class Where, class Mpis>
int begin(const Where& where, const char* call, const Buffer& buffer, bool receives,
          MPI_Request* request, const Mpis& mpis) {
  if (!buffer.staged()) [[likely]]
    return mpis(const_cast<void*>(buffer.begin));
  return copied(where, call, [&] {
    const auto message = std::make_shared<StagedMessage>(buffer.elements(), receives);
    const int code = mpis(message->begin());
    if (code == MPI_SUCCESS) addStaged(*request, message);
    return code;
  });
}

}  // namespace rondo::drop_in
