#pragma once
// One seeded ordeal: ranks work, one is killed, the others must learn of it, go on without it and
// leave nothing behind.

#include <random>

#include "chaos/job.h"

namespace rondo::chaos {

enum class Phase { Before, LargeAllReduce, Barrier, SendRecv, Requests, Mixed };
constexpr int kPhases = 6;
const char* phaseName(Phase phase);

struct Plan {
  uint64_t seed;
  int size;
  int victim;
  int second;  ///< Killed while the others shrink; -1: nobody.
  Phase phase;
  int calls;    ///< Before: the victim dies instead of so-manieth call.
  int delayUs;  ///< Else: after so long.
  int secondDelayUs;
  bool byExit = false;  ///< With status 3, instead of by SIGKILL.
};
Plan planOf(uint64_t seed);
std::string planText(const Plan& plan);

/// Body of one rank.
void endure(const Me& me, const Plan& plan);

/// Runs it; the sentence of what went wrong, or "".
std::string runOrdeal(const Plan& plan, Outcome* outcome);

}  // namespace rondo::chaos
