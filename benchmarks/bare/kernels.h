#pragma once
// All-reduce of two processes without a library around it: rulers for what the machine can do.

#include <cstddef>
#include <vector>

#include "pair.h"

namespace rondo::bare {

/// One float32 sum of `count` elements on the buffers of `pair`.
struct Kernel {
  const char* name;
  bool direct;  ///< Needs memory that both processes map; else only the pair's staging.
  void (*run)(Pair& pair, size_t count);
};

const std::vector<Kernel>& kernels();

}  // namespace rondo::bare
