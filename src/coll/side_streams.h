#pragma once
// Streams of Rondo's own beside that of a call, for what goes on at once.

#include <array>
#include <utility>

#include "kernels/direct_call.h"
#include "kernels/launch.h"

namespace rondo {

/// A stream that has joined a capture stays in it until it ends, and what is enqueued at once must
/// not meet it there. So there are some of both kinds. Calls on it come from one thread at a time,
/// in the device's context; those that return an int return a cudaError_t.
template <size_t kEach>
class SideStreams {
 public:
  using Streams = std::array<CUstream_st*, kEach>;

  SideStreams() = default;
  SideStreams(const SideStreams&) = delete;
  SideStreams& operator=(const SideStreams&) = delete;

  int prepare() {
    int error = event_ == nullptr ? makeEvent(&event_) : 0;
    for (Streams* const some : {&now_, &captured_}) {
      for (CUstream_st*& stream : *some) {
        if (error != 0 || stream != nullptr) continue;
        error = makeStream(&stream);
        // The first launch on a stream may wait for kernels that run: that is now.
        if (error == 0) error = copyByKernel(nullptr, nullptr, 0, stream);
      }
    }
    return error;
  }
  void free() {
    freeEvent(std::exchange(event_, nullptr));
    for (Streams* const some : {&now_, &captured_}) {
      for (CUstream_st*& stream : *some) freeStream(std::exchange(stream, nullptr));
    }
  }
  /// After prepare().
  bool ready() const { return captured_.back() != nullptr; }

  /// Those for a call on `stream`. While another graph is being captured with them a captured call
  /// has none: it is its own stream in their place.
  Streams beside(CUstream_st* stream) const {
    const uint64_t capture = captureId(stream);
    if (capture == 0) return now_;
    const uint64_t other = captureId(captured_.back());  // some calls use that alone
    if (other == 0 || other == capture) return captured_;
    Streams alone;
    alone.fill(stream);
    return alone;
  }

  /// What is enqueued on `later` from now on waits for what is on `first` by now.
  int order(CUstream_st* first, CUstream_st* later) const {
    return orderStreams(first, later, event_);
  }

 private:
  Streams now_{};
  Streams captured_{};
  CUevent_st* event_ = nullptr;
};

}  // namespace rondo
