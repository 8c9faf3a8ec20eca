#pragma once
// Device buffers in what MPI does by non-blocking calls: MPI gets a copy on the host, and its
// request is the program's. So messages stay in MPI's matching.

#include <mpi.h>

#include <atomic>
#include <memory>

#include "drop_in/mpi/image.h"

namespace rondo::drop_in {

/// What is under way, by a non-blocking call.
class Staged {
 public:
  Staged() = default;
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;
  virtual ~Staged() = default;
  /// MPI is done with it: what was received goes to the device, once. MPI_SUCCESS or a code,
  /// raised.
  int end();
  /// Its request is not null when it has ended, but inactive.
  virtual bool isPersistent() const { return false; }

 protected:
  void beginAgain() { ended_ = false; }

 private:
  virtual void bringBack() = 0;  ///< Throws Error.
  bool ended_ = false;
};
using HeldMessage = std::shared_ptr<Staged>;

class StagedMessage final : public Staged {
 public:
  StagedMessage(const Elements& elements, bool receives)
      : image_(elements, receives), receives_(receives) {}
  char* begin() { return image_.begin(); }

 private:
  void bringBack() override {
    if (receives_) image_.bringBack();
  }
  Image image_;
  bool receives_;
};

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
