#pragma once
// Messages between device buffers. They stay in MPI's matching: MPI sends and receives an image of
// the buffer on the host, and its request is the program's.

#include <mpi.h>

#include <atomic>
#include <memory>

#include "drop_in/mpi/image.h"

namespace rondo::drop_in {

/// A message under way, by a non-blocking call.
class Staged {
 public:
  Staged(const Elements& elements, bool receives) : image_(elements), receives_(receives) {}
  char* begin() { return image_.begin(); }
  /// MPI is done with it: what was received goes to the device, once. MPI_SUCCESS or a code,
  /// raised.
  int end();

 private:
  Image image_;
  bool receives_;
};
using HeldMessage = std::shared_ptr<Staged>;

/// Remembers `message` until its request has ended. A handle that was there before is one that MPI
/// uses again, so that its message is over.
void addStaged(MPI_Request request, const HeldMessage& message);
/// nullptr: the request is none of a device buffer.
HeldMessage findStaged(MPI_Request request);
/// The request has ended; its handle may be another message's already.
void removeStaged(MPI_Request request, const HeldMessage& message);

/// MPI_Request_free: *request is MPI_REQUEST_NULL then, but MPI's own lives until the message is
/// over, for what it receives has to go to the device.
void freeStaged(MPI_Request* request, const HeldMessage& message);
/// Messages whose requests the program has freed.
inline std::atomic<size_t> freedCount{0};
void endFreedNow();
/// Ends those of them that are over: after every call by which the program may have learned so.
inline void endFreed() {
  if (freedCount.load(std::memory_order_relaxed) != 0) [[unlikely]]
    endFreedNow();
}
/// In MPI_Finalize: waits for them a while, then cancels what has no sender.
void drainFreed();

}  // namespace rondo::drop_in
