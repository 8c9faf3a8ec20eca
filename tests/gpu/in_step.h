#pragma once
// Ranks under a tool that does not let copies of one rank run beside kernels of another.

#include <cstdlib>

namespace rondo::test {

/// compute-sanitizer (RONDO_GPU_TESTS_IN_STEP=1): ranks that share a GPU have all loaded, or read,
/// before any of them launches. Otherwise they come as late as they like.
inline bool inStep() {
  static const bool asked = std::getenv("RONDO_GPU_TESTS_IN_STEP") != nullptr;
  return asked;
}

}  // namespace rondo::test
