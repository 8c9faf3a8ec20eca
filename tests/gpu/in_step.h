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

/// The same. Under compute-sanitizer a thread that finds its stream at its end stays in that call
/// of CUDA until the kernels that other threads have launched have ended, too, though they wait for
/// this thread's next one: seen, each call of FiftyCommunicators' ranks took the 20 s after which
/// kernels give up. So in step all ranks have launched a call before any of them waits for it, and
/// have waited for it before any launches the next. By asking: a thread that finds kernels
/// running holds nobody up.
inline cudaError_t waitFor(cudaStream_t stream) {
  return inStep() ? waitByAsking(stream) : cudaStreamSynchronize(stream);
}

}  // namespace rondo::test
