#pragma once
// One communicator's calls on different streams: NCCL runs them one after another, and so does this
// library, as they share the communicator's memory.

#include <span>

#include "drop_in/nccl/driver.h"

namespace rondo::nccl {

/// before() and after() stand around what is enqueued on one stream, or on several in a group; then
/// the library orders the group's calls among themselves. A stream of an earlier call is not
/// touched again, because the program may have destroyed it, which ends neither its work nor well
/// for those who ask about it. Calls in a capture and others are apart: neither can wait for the
/// other, and the program says what a graph runs after.
class StreamOrder {
 public:
  StreamOrder() = default;
  StreamOrder(const StreamOrder&) = delete;
  StreamOrder& operator=(const StreamOrder&) = delete;
  ~StreamOrder() { reset(); }

  /// Throws Error.
  void before(CUstream_st* stream, const Place& place) {
    if (place.context == nullptr) return;
    captured_ = captureOf(stream, place);
    if (captured_ == 0 && eager_.used && eager_.stream == stream) [[likely]]
      return;
    turnTo({&stream, 1}, place);
  }
  void before(std::span<CUstream_st* const> streams, const Place& place) {
    if (streams.size() == 1) return before(streams[0], place);
    if (place.context == nullptr) return;
    captured_ = captureOf(streams, place);
    turnTo(streams, place);
  }
  /// The same streams. Throws Error.
  void after(std::span<CUstream_st* const> streams, const Place& place) {
    if (several_ && place.context != nullptr) [[unlikely]]
      mark(streams, place);
  }

  /// Waits for what was enqueued outside of captures. Throws Error.
  void drain(const Place& place) const;
  void reset();
  /// Forgets the events without destroying them: their context may be gone.
  void abandon() {
    mark_ = graphMark_ = nullptr;
    reset();
  }

 private:
  /// The legacy stream is that of the communicator's context.
  static uint64_t captureOf(CUstream_st* stream, const Place& place) {
    if (stream != nullptr && stream != kLegacy) [[likely]]
      return nccl::captureOf(stream);
    const InContext context(place.context);
    return nccl::captureOf(stream);
  }
  static uint64_t captureOf(std::span<CUstream_st* const> streams, const Place& place);

  struct Last {
    bool used = false;
    CUstream_st* stream = nullptr;
  };
  void turnTo(std::span<CUstream_st* const> streams, const Place& place);
  void waitForEager(std::span<CUstream_st* const> streams, const Place& place);
  void mark(std::span<CUstream_st* const> streams, const Place& place);

  Last eager_;
  Last inGraph_;           ///< Of the capture below.
  uint64_t graph_ = 0;     ///< Which capture that is.
  uint64_t captured_ = 0;  ///< That of the call under way; 0: none.
  bool several_ = false;   ///< Streams so far: from the second one on each call leaves a mark.
  bool marked_ = false;
  CUevent_st* mark_ = nullptr;       ///< After the last call outside of captures.
  CUevent_st* graphMark_ = nullptr;  ///< For edges of a graph.
};

}  // namespace rondo::nccl
