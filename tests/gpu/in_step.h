#pragma once
// Ranks under a tool that does not let copies of one rank run beside kernels of another.

#include <cuda_runtime.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace rondo::test {

/// compute-sanitizer (RONDO_GPU_TESTS_IN_STEP=1): ranks that share a GPU have all loaded, or read,
/// before any of them launches. Otherwise they come as late as they like.
inline bool inStep() {
  static const bool asked = std::getenv("RONDO_GPU_TESTS_IN_STEP") != nullptr;
  return asked;
}

/// Waits until all that was enqueued on `stream` has ended, by asking again and again.
inline cudaError_t waitByAsking(cudaStream_t stream) {
  for (;;) {
    const cudaError_t state = cudaStreamQuery(stream);
    if (state != cudaErrorNotReady) return state;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

/// The same. In step by asking: under compute-sanitizer a thread inside cudaStreamSynchronize is
/// believed to hold up launches of other threads, for which the kernel that it waits for may itself
/// wait (not shown; gpu_beside waits in both ways).
inline cudaError_t waitFor(cudaStream_t stream) {
  return inStep() ? waitByAsking(stream) : cudaStreamSynchronize(stream);
}

}  // namespace rondo::test
