#pragma once
// All ranks' plans, small: channels by number instead of ranks.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "coll/sim/job.h"
#include "coll/sim/shorten.h"

namespace rondo::sim {

/// One direction between two ranks, of one lane and one room.
struct Channel {
  int from, to;
  int lane;
  bool toAll;
};

struct CompactStep {
  StepKind kind;
  uint8_t bits;
  bool toAll = false;  ///< It goes to everyone's All room.
  uint16_t reads = 0;  ///< Messages that a Reduce folds; it takes one of every other rank.
  uint32_t bytes = 0;
  int32_t in = -1;  ///< Channel. Reduce: first of Compact::groups that it reads.
  int32_t in2 = -1;
  int32_t out = -1;    ///< Channel; toAll: first of Compact::groups.
  uint32_t times = 1;  ///< Equal steps that it stands for; all of their bytes count.
};

/// Programs of all ranks' lanes: process = rank x lanes + lane.
struct Compact {
  int ranks = 0, lanes = 0;
  int partRanks = 0;  ///< Ranks of a part; all, if they are one.
  Count fullPeriods = 0;
  std::vector<std::vector<CompactStep>> full, last;
  /// By lane: rows of steps that were cut short, the same for all ranks.
  std::vector<std::vector<Run>> fullRuns, lastRuns;
  std::vector<Channel> channels;
  /// Channels of one process to, or from, all others of its part, partRanks - 1 each.
  std::vector<int32_t> groups;
};

/// Asks for every rank's plan once, or twice if Job::repeats is given and the ranks' steps are not
/// alike. Throws Error(rondoInvalidArgument) for steps above 4 GiB.
Compact compact(const Job& job);

}  // namespace rondo::sim
