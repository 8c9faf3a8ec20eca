#pragma once
// Copies between GPUs and the host, timed by the CUDA driver, which is loaded at run time: no
// header of it is needed, nor the library where there are no GPUs.

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::topo {

/// What copies reached, one at a time, in bytes a second.
struct GpuCopies {
  struct Gpu {
    std::string busId;  ///< "0000:1b:00.0"
    uint64_t host = 0;  ///< From page-locked memory or to it, the slower of the two; 0: unknown.
    std::vector<uint64_t> peers;  ///< By number of the other one; 0: no peer access, or unknown.
  };
  std::vector<Gpu> gpus;
  std::vector<std::string> failures;  ///< What could not be measured and why, a sentence each.
};

/// Empty where there is no driver or no GPU. Takes some 30 ms a GPU and 10 ms a pair.
/// `library` is for tests.
GpuCopies measureGpuCopies(const char* library = "libcuda.so.1");

}  // namespace rondo::topo
