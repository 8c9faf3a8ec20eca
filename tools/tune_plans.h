#pragma once
// Which calls rondo-tune times: on one host, and over several.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "coll/registry.h"

namespace rondo::tune {

/// A call that is timed: its rule's algorithm, and whether it only checks the fit.
struct TimedPlan {
  Collective collective;
  const char* algorithm;
  const char* cut;  ///< "/LANES/CHUNK", or "" for what the planner takes.
  bool heldOut;
  int comm = -1;  ///< Plans of one number share a communicator; -1: it has its own.
};

/// What a run times.
struct Program {
  std::vector<TimedPlan> plans;
  std::span<const uint64_t> sizes;
  std::span<const uint64_t> heldOutSizes;
  uint64_t most;          ///< The longest call, unless the user says otherwise.
  uint64_t mostOfOthers;  ///< The longest one of collectives other than all-reduce.
  /// Short calls are timed several in a row: between hosts ranks do not leave a barrier at once.
  bool inARow;
};

/// Of the ranks of one host.
Program hostProgram();
/// Of a job over several hosts, where only the network's costs are looked for. `layered`: some host
/// has several ranks, so that there are hierarchies; these are held out, for it is them that the
/// costs are for.
Program networkProgram(bool layered);

/// As RONDO_TUNE: what forces a communicator to the plan, or to all of those that share it.
std::string ruleOf(const TimedPlan& plan);
std::string rulesOf(const Program& program, int comm);

}  // namespace rondo::tune
