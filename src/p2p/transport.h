#pragma once
// What moves messages between ranks. Two small interfaces, nine virtual functions; what kind of
// memory or network is behind one is decided when the communicator is made.

#include <cstddef>
#include <cstdint>

namespace rondo {

class StagingWay;

/// A message as its reader sees it: valid until release().
struct Message {
  const void* data;
  size_t bytes;
  uint32_t stamp;  ///< Of the call that posted it; see Channels::stamp.
  void*
      landing;  ///< Where in its own memory the sender takes the answer to this; nullptr: nowhere.
  uint32_t left = 0;  ///< Messages of the same run that follow; see Run.
  bool wide = false;  ///< It comes from a cache that sender and reader share; see staging_way.h.
};

/// Messages posted as one, `stride` bytes apart: data and landing both. Each is peeked and released
/// by itself.
struct Run {
  uint32_t blocks = 1;
  uint64_t stride = 0;
};

/// The writing end of a first-in-first-out channel to one reader, or to several that all read the
/// same messages.
class SendPort {
 public:
  virtual ~SendPort() = default;
  /// Space for the next message, at most `bytes` long, or nullptr while the channel is full. Asking
  /// again before post() is allowed and gives up the first space.
  virtual void* tryAcquire(size_t bytes) = 0;
  /// Makes the acquired space, filled by now, the next message. `landing`, if not nullptr, is
  /// memory that the reader can write (reaches() says so) and may, until this rank reads its
  /// answer.
  virtual void post(size_t bytes, void* landing) = 0;
  /// Posts memory of this rank as the next message, or, where all readers address the same memory
  /// (Channels::isFar says not), a run of them, without copying it. False
  /// while the channel is full. Only if reaches() says so; the memory must stay unchanged until the
  /// readers have released it. With 0 bytes it only says that something is done.
  virtual bool tryPostInPlace(const void* data, size_t bytes, void* landing, Run run) = 0;
  /// Whether the readers can read and write this rank's [data, data + bytes) where it is.
  virtual bool reaches(const void* data, size_t bytes) const = 0;
  /// Whether the readers have released every message that was posted in place.
  virtual bool drained() = 0;
  /// Messages that all readers had released when drained() last looked: whoever only waits for them
  /// sees by it whether they read. 0: this port does not know.
  virtual uint64_t released() const { return 0; }

  /// What tells how the acquired space is to be written, and is to be told how long that took;
  /// nullptr where only writing it through the caches makes sense.
  StagingWay* way() const { return way_; }

 protected:
  StagingWay* way_ = nullptr;  ///< Set by tryAcquire().
};

/// A reading end.
class RecvPort {
 public:
  virtual ~RecvPort() = default;
  /// The oldest unreleased message; false while there is none.
  virtual bool tryPeek(Message* message) = 0;
  /// Ends the reading of that message; its space may be written again.
  virtual void release() = 0;
};

}  // namespace rondo
