#pragma once
// Device buffers in what MPI does by non-blocking calls: MPI gets a copy on the host, and its
// request is the program's. So messages stay in MPI's matching.

#include <mpi.h>

#include <atomic>
#include <memory>

#include "drop_in/mpi/image.h"

namespace rondo::drop_in {

/// How often a request begins what it is of: a persistent one at each of its starts.
enum class Starts : bool { Once, Often };

/// What is under way, by a non-blocking call.
class Staged {
 public:
  explicit Staged(Starts starts = Starts::Once) : starts_(starts) {}
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;
  virtual ~Staged() = default;
  /// MPI is done with it: what was received goes to the device, once. MPI_SUCCESS or a code,
  /// raised.
  int end();
  /// Its request is not null when it has ended, but inactive.
  bool isPersistent() const { return starts_ == Starts::Often; }
  /// A persistent one is about to start: MPI gets what the device has now. Throws Error. What is
  /// received into is filled too, as MPI may write a part of it only.
  void start() {
    refill();
    ended_ = false;
  }

 private:
  virtual void refill() {}
  virtual void bringBack() = 0;  ///< Throws Error.
  Starts starts_;
  bool ended_ = false;
};
using HeldMessage = std::shared_ptr<Staged>;

class StagedMessage final : public Staged {
 public:
  StagedMessage(const Elements& elements, bool receives, Starts starts = Starts::Once)
      : Staged(starts), image_(elements, receives, starts == Starts::Once), receives_(receives) {}
  char* begin() { return image_.begin(); }

 private:
  void refill() override { image_.refill(); }
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
