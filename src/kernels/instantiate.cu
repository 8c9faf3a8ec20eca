// The list of kernels: what the seven files beside this one make of the algorithms' headers, and
// nothing else.

#include "kernels/impl/entry.h"

namespace rondo {

const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> rows = [] {
    std::vector<Kernel> all = allReduceKernels();
    for (const Kernel& row : windowKernels()) all.push_back(row);
    for (const Kernel& row : rankedKernels()) all.push_back(row);
    for (const Kernel& row : ringKernels()) all.push_back(row);
    for (const Kernel& row : scanKernels()) all.push_back(row);
    for (const Kernel& row : scaledKernels()) all.push_back(row);
    for (const Kernel& row : jointKernels()) all.push_back(row);
    return all;
  }();
  return rows;
}

}  // namespace rondo
