#pragma once
// A megaword sent round the ring of the ranks, into memory of any kind.

#include <cstdint>

#include "coll/memory_registry.h"
#include "gpu/cases.h"

namespace rondo::test {

constexpr uint64_t kPassed = 1u << 20;  ///< Words.

MemoryRegistry& registryOf(RankEnv& env);

/// Says what went wrong, and gives 1.
uint64_t fail(RankEnv& env, const char* what);

/// Whether it is so on all ranks.
bool everywhere(RankEnv& env, bool here);

/// Word `i` of what `rank` sends.
uint32_t word(int rank, uint64_t i, uint32_t seed);

/// What is sent, and something else in the `bytes` of `memory`, which are as long or longer.
void loadPass(RankEnv& env, void* memory, uint64_t bytes, uint32_t seed);
void enqueuePass(RankEnv& env, void* memory);
/// Words that are not the previous rank's.
uint64_t wrongPass(RankEnv& env, const void* memory, uint32_t seed);
/// All of it.
uint64_t passOn(RankEnv& env, void* memory, uint64_t bytes, uint32_t seed);

}  // namespace rondo::test
