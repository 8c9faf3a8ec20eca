#pragma once
// What NVML knows of NVLinks, loaded at run time: no header of it is needed, nor the library where
// there are no GPUs.

#include <string>
#include <vector>

#include "topo/graph.h"

namespace rondo::topo {

struct NvLinkEnd {
  std::string busId;  ///< Of the GPU or switch at the other end; may be empty.
  bool isSwitch;
  uint64_t bytesPerSecond;
};

struct NvmlGpu {
  std::string busId;  ///< "0000:1b:00.0"
  std::string model;
  int capability;  ///< 90 is 9.0; 0: unknown.
  std::vector<NvLinkEnd> links;
};

/// Empty where there is no NVML or no GPU. `library` is for tests.
std::vector<NvmlGpu> readNvml(const char* library = "libnvidia-ml.so.1");

/// Adds what hwloc does not know: NVLinks, models, and GPUs that it has not seen (in containers).
void addNvLinks(Graph& graph, int host, const std::vector<NvmlGpu>& gpus);

}  // namespace rondo::topo
