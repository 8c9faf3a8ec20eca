#pragma once
// One communicator's calls on different streams: NCCL runs them one after another, and so does this
// library, as they share the communicator's memory.

#include <span>
#include <vector>

#include "drop_in/nccl/driver.h"

namespace rondo::nccl {

class StreamOrder {
 public:
  StreamOrder() = default;
  StreamOrder(const StreamOrder&) = delete;
  StreamOrder& operator=(const StreamOrder&) = delete;
  ~StreamOrder() { reset(); }

  /// Before a call on `stream`: what was called on others is waited for there. Throws Error.
  void use(CUstream_st* stream, const Place& place) {
    if (only_ && last_ == stream) [[likely]]
      return;
    turnTo({&stream, 1}, place);
  }
  /// Before a group of calls on `streams`, which the library orders among themselves.
  void use(std::span<CUstream_st* const> streams, const Place& place) {
    if (streams.size() == 1) return use(streams[0], place);
    turnTo(streams, place);
  }

  /// Waits for the streams' work, unless they are being captured. Throws Error.
  void drain(const Place& place) const;
  void reset();

 private:
  void turnTo(std::span<CUstream_st* const> streams, const Place& place);
  void order(CUstream_st* first, CUstream_st* later) const;

  bool only_ = false;                  ///< last_ is all there is.
  CUstream_st* last_ = nullptr;        ///< Of the last call.
  std::vector<CUstream_st*> streams_;  ///< Of the last call or group, each once.
  CUevent_st* event_ = nullptr;
};

}  // namespace rondo::nccl
