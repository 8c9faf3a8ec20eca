#pragma once
// Finds the costs of calls on device memory over several hosts: those with which the times
// predicted of both ways that a call may go, in levels or all of it by way of host memory, come
// closest to measured ones, since it is between these two that is chosen (coll/levels_choice.h).

#include <vector>

#include "coll/levels_choice.h"
#include "tune_device_fit.h"
#include "tune_fit.h"

namespace rondo::tune {

/// A call that was timed one way.
struct LevelsObservation {
  Collective collective;
  uint64_t count;  ///< Elements of a slot, of kLevelsElement bytes.
  bool inLevels;
  bool heldOut;            ///< Takes no part in the fit: shows what it is worth.
  double picoseconds = 0;  ///< 0: not timed.
};
constexpr uint32_t kLevelsElement = 4;

/// What `choice` predicts for the call if it goes that way; 0: it cannot.
uint64_t predictionOf(const LevelsObservation& observation, LevelsChoice& choice);

/// As fitFields(): of the far costs, because of other costs `facts` hold what is made of them.
DeviceFit fitLevelsCosts(const std::vector<LevelsObservation>& observations,
                         const LevelsFacts& facts, const DeviceCosts& prior);

/// A call that was timed both ways.
struct LevelsPair {
  Collective collective;
  uint64_t count;
  LevelsForecast forecast;  ///< Without rules.
  double host, levels;      ///< Measured, in picoseconds.

  bool levelsAreBest() const { return levels < host; }
  /// The time of the way that is chosen over that of the quicker one.
  double ratio() const {
    return (forecast.byLevels ? levels : host) / (levelsAreBest() ? levels : host);
  }
};
/// What is chosen if things cost `costs`.
std::vector<LevelsPair> pairsOf(const std::vector<LevelsObservation>& observations,
                                LevelsFacts facts, const DeviceCosts& costs);

Regret regretOf(const std::vector<LevelsPair>& pairs);

}  // namespace rondo::tune
