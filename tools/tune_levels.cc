#include "tune_levels.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "base/error.h"
#include "tune_fit.h"

namespace rondo::tune {
namespace {

constexpr uint64_t kKi = 1024, kMi = 1024 * kKi;

/// A hierarchy's name asks for levels, any other for host memory.
struct Way {
  Collective collective;
  const char *levels, *host;
};
constexpr Way kWays[] = {
    {Collective::AllReduce, "stripes", "ring"},  {Collective::AllGather, "hier", "ring"},
    {Collective::ReduceScatter, "hier", "ring"}, {Collective::Broadcast, "hier", "ring"},
    {Collective::Reduce, "hier", "ring"},
};

/// Bytes of a slot; every second one is held out.
constexpr uint64_t kSizes[] = {8,         kKi, 8 * kKi, 32 * kKi, 64 * kKi, 128 * kKi, 256 * kKi,
                               512 * kKi, kMi, 2 * kMi, 4 * kMi,  8 * kMi,  16 * kMi};
constexpr uint64_t kSizesOfOthers[] = {8 * kKi, 32 * kKi, 128 * kKi, 512 * kKi, 2 * kMi};

void add(const LevelsFacts& facts, Collective collective, uint64_t bytes, bool heldOut,
         std::vector<LevelsObservation>* out) {
  const auto places = static_cast<uint64_t>(facts.places);
  // A rest is a call of its own.
  const uint64_t count = bytes / kLevelsElement / places * places;
  if (count == 0) return;
  if (LevelsChoice(facts).forecast(collective, count, kLevelsElement).why != nullptr) return;
  for (const bool inLevels : {false, true}) {
    out->push_back({collective, count, inLevels, heldOut});
  }
}

void addOthers(const LevelsFacts& facts, uint64_t most, std::vector<LevelsObservation>* out) {
  for (const Way& way : kWays) {
    if (way.collective == Collective::AllReduce) continue;
    bool heldOut = false;
    for (const uint64_t bytes : kSizesOfOthers) {
      if (bytes <= most) add(facts, way.collective, bytes, heldOut, out);
      heldOut = !heldOut;
    }
  }
}

}  // namespace

std::string levelsRules(bool inLevels) {
  std::string rules;
  for (const Way& way : kWays) {
    const char* const algorithm = inLevels ? way.levels : way.host;
    rules += format("%s%s:device:0-:%s", rules.empty() ? "" : ",", collectiveName(way.collective),
                    algorithm);
  }
  return rules;
}

std::vector<LevelsObservation> levelsTrials(const LevelsFacts& facts, uint64_t most) {
  std::vector<LevelsObservation> out;
  bool heldOut = false;
  for (const uint64_t bytes : kSizes) {
    if (bytes <= most) add(facts, Collective::AllReduce, bytes, heldOut, &out);
    heldOut = !heldOut;
  }
  addOthers(facts, most, &out);
  return out;
}

std::vector<LevelsObservation> levelsCheckTrials(const LevelsFacts& facts, uint64_t most) {
  std::vector<LevelsObservation> out;
  for (uint64_t bytes = kSizes[0]; bytes <= most; bytes *= 2) {
    add(facts, Collective::AllReduce, bytes, false, &out);
  }
  addOthers(facts, most, &out);
  return out;
}

namespace {

const char* wayOf(bool inLevels) { return inLevels ? "levels" : "host"; }
double micro(double picoseconds) { return picoseconds * 1e-6; }

void printCalls(const std::vector<LevelsObservation>& trials, LevelsFacts facts,
                const DeviceCosts& before, const DeviceCosts& after) {
  facts.costs = before;
  LevelsChoice old(facts);
  facts.costs = after;
  LevelsChoice now(facts);
  std::printf("\n%-26s %9s %13s %13s %7s %9s\n", "call (* not in the fit)", "bytes", "measured, us",
              "predicted, us", "error", "before");
  std::vector<double> fitted, heldOut, was;
  for (const LevelsObservation& o : trials) {
    if (o.picoseconds <= 0) continue;
    const auto predicted = static_cast<double>(predictionOf(o, now));
    const double error = predicted / o.picoseconds - 1;
    was.push_back(static_cast<double>(predictionOf(o, old)) / o.picoseconds - 1);
    (o.heldOut ? heldOut : fitted).push_back(error);
    const std::string what =
        format("%s %s%s", collectiveName(o.collective), wayOf(o.inLevels), o.heldOut ? " *" : "");
    std::printf("%-26s %9llu %13.2f %13.2f %+6.0f%% %+8.0f%%\n", what.c_str(),
                static_cast<unsigned long long>(o.count * kLevelsElement), micro(o.picoseconds),
                micro(predicted), 100 * error, 100 * was.back());
  }
  printErrors(was, fitted, heldOut);
}

}  // namespace

void printLevelsFit(const std::vector<LevelsObservation>& trials, const LevelsFacts& facts,
                    const DeviceCosts& before, const DeviceFit& after) {
  printCalls(trials, facts, before, after.costs);
  printChoices("before", regretOf(pairsOf(trials, facts, before)));
  printChoices("after", regretOf(pairsOf(trials, facts, after.costs)));
  std::printf("\n%-28s %12s %12s  %-10s %s\n", "cost", "ns", "before", "from", "of");
  const auto fields = deviceCostFields();
  for (size_t i = 0; i < fields.size(); ++i) {
    if (!isFarCost(fields[i])) continue;
    std::printf("device_%-21s %12.3f %12.3f  %-10s %s\n", fields[i].name,
                static_cast<double>(after.costs.*fields[i].at) * 1e-3,
                static_cast<double>(before.*fields[i].at) * 1e-3,
                after.measured[i] ? "this run" : "before", fields[i].meaning);
  }
}

void printLevelsCheck(const std::vector<LevelsObservation>& trials, const LevelsFacts& facts) {
  const std::vector<LevelsPair> pairs = pairsOf(trials, facts, facts.costs);
  std::printf("%-14s %9s  %10s %10s %6s  %10s %10s %6s  %-7s %-7s %6s\n", "call", "bytes",
              "host, us", "predicted", "error", "levels, us", "predicted", "error", "chosen",
              "best", "ratio");
  std::vector<double> errors;
  for (const LevelsPair& pair : pairs) {
    const auto host = static_cast<double>(pair.forecast.host);
    const auto levels = static_cast<double>(pair.forecast.levels);
    const double hostError = host / pair.host - 1, levelsError = levels / pair.levels - 1;
    errors.insert(errors.end(), {hostError, levelsError});
    std::printf("%-14s %9llu  %10.2f %10.2f %+5.0f%%  %10.2f %10.2f %+5.0f%%  %-7s %-7s %6.2f%s\n",
                collectiveName(pair.collective),
                static_cast<unsigned long long>(pair.count * kLevelsElement), micro(pair.host),
                micro(host), 100 * hostError, micro(pair.levels), micro(levels), 100 * levelsError,
                wayOf(pair.forecast.byLevels), wayOf(pair.levelsAreBest()), pair.ratio(),
                pair.ratio() > 1.05 ? " *" : "");
  }
  const Errors found = errorsOf(errors);
  std::printf("Errors without sign: median %.0f %%, worst %.0f %%.\n", 100 * found.median,
              100 * found.worst);
  for (int c = 0; c < kCollectives; ++c) {
    std::vector<LevelsPair> mine;
    std::copy_if(pairs.begin(), pairs.end(), std::back_inserter(mine), [&](const LevelsPair& pair) {
      return pair.collective == static_cast<Collective>(c);
    });
    if (!mine.empty()) {
      printChoices(format("of %s", collectiveName(static_cast<Collective>(c))), regretOf(mine));
    }
  }
}

}  // namespace rondo::tune
