#pragma once
// Memory that the ranks of a test have registered.

#include <cstdint>

#include "coll/memory_registry.h"
#include "gpu/cases.h"
#include "gpu/pass_on.h"

namespace rondo::test {

constexpr size_t kAllBytes = (kMostElements + 2 * kGuard) * sizeof(float);

/// All of the ranks' dst that are `wanted`, while it lives.
class Registered {
 public:
  Registered(RankEnv& env, bool wanted, MemoryUse use) : env_(env) {
    env.sync();
    number_ = registryOf(env).addMemory(env.boot(), wanted ? env.dst : nullptr,
                                        wanted ? kAllBytes : 0, use);
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  ~Registered() { registryOf(env_).removeMemory(env_.boot(), number_); }

 private:
  RankEnv& env_;
  uint64_t number_;
};

}  // namespace rondo::test
