#pragma once
// Where a communicator has the memory from that it takes for the time of a call.

#include <utility>

#include "kernels/scale.h"

namespace rondo {

/// A pool of its own: of one that it shared with other communicators it might get what one of them
/// has given back behind a kernel that waits, and wait for that too. Where there are no pools the
/// device's usual one serves.
class StreamPool {
 public:
  StreamPool() = default;
  StreamPool(const StreamPool&) = delete;
  StreamPool& operator=(const StreamPool&) = delete;
  /// Both in the current context: without one CUDA's runtime would make that of its first device,
  /// and leave it to the caller's thread. Where the context is gone the pool went with it.
  void make() { makePool(&pool_); }
  void free() { freePool(std::exchange(pool_, nullptr)); }
  /// Given back by freeOnStream(). Returns a cudaError_t.
  int allocate(void** memory, size_t bytes, CUstream_st* stream) const {
    return allocateOnStream(memory, bytes, pool_, stream);
  }

 private:
  CUmemPoolHandle_st* pool_ = nullptr;
};

}  // namespace rondo
