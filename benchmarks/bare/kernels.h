#pragma once
// All-reduce of two processes without a library around it: rulers for what the machine can do.

#include <cstddef>
#include <vector>

#include "pair.h"

namespace rondo::bare {

enum class Memory {
  Staged,  ///< Only the pair's staging is both processes'.
  Direct,  ///< Needs buffers that both processes map.
  Alone,   ///< Meets nobody: a pass over the own buffers, below which no all-reduce can be.
};

/// One float32 sum of `count` elements on the buffers of `pair`.
struct Kernel {
  const char* name;
  Memory memory;
  void (*run)(Pair& pair, size_t count);
};

const std::vector<Kernel>& kernels();

}  // namespace rondo::bare
