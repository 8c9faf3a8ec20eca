#include "tune_levels_fit.h"

#include <algorithm>
#include <utility>

namespace rondo::tune {

uint64_t predictionOf(const LevelsObservation& observation, LevelsChoice& choice) {
  const LevelsForecast forecast =
      choice.forecast(observation.collective, observation.count, kLevelsElement);
  return observation.inLevels ? forecast.levels : forecast.host;
}

DeviceFit fitLevelsCosts(const std::vector<LevelsObservation>& observations,
                         const LevelsFacts& facts, const DeviceCosts& prior) {
  LevelsChoice choice(facts);
  std::vector<const LevelsObservation*> used;
  std::vector<double> measured;
  for (const LevelsObservation& o : observations) {
    if (o.heldOut || o.picoseconds <= 0 || predictionOf(o, choice) == 0) continue;
    used.push_back(&o);
    measured.push_back(o.picoseconds);
  }
  const PredictByCosts predictionsOf = [&](const DeviceCosts& costs) {
    choice.setCosts(costs);
    std::vector<double> out;
    for (const LevelsObservation* o : used) {
      out.push_back(static_cast<double>(predictionOf(*o, choice)));
    }
    return out;
  };
  return fitFields(measured, predictionsOf, prior);
}

std::vector<LevelsPair> pairsOf(const std::vector<LevelsObservation>& observations,
                                LevelsFacts facts, const DeviceCosts& costs) {
  std::erase_if(facts.tune, [](const TuneRule& rule) { return rule.device; });
  facts.costs = costs;
  LevelsChoice choice(facts);
  std::vector<LevelsPair> out;
  for (const LevelsObservation& host : observations) {
    if (host.inLevels || host.picoseconds <= 0) continue;
    const auto levels =
        std::find_if(observations.begin(), observations.end(), [&](const LevelsObservation& other) {
          return other.inLevels && other.picoseconds > 0 && other.collective == host.collective &&
                 other.count == host.count;
        });
    if (levels == observations.end()) continue;
    out.push_back({host.collective, host.count,
                   choice.forecast(host.collective, host.count, kLevelsElement), host.picoseconds,
                   levels->picoseconds});
  }
  return out;
}

Regret regretOf(const std::vector<LevelsPair>& pairs) {
  std::vector<double> ratios;
  for (const LevelsPair& pair : pairs) ratios.push_back(pair.ratio());
  return regretOf(std::move(ratios));
}

}  // namespace rondo::tune
