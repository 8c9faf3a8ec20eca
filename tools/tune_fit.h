#pragma once
// Finds the costs with which the planner's own predictions come closest to measured times.

#include <string>
#include <vector>

#include "coll/costs_file.h"
#include "coll/planner.h"

namespace rondo::tune {

/// A call that was timed, with rules that leave one algorithm to it.
struct Observation {
  Request request;
  std::vector<TuneRule> rules;
  double picoseconds;
  bool heldOut = false;  ///< Takes no part in the fit: shows what it is worth.
};

/// Who measured.
struct Measured {
  CommFacts facts;
  bool acrossHosts = false;
};

/// What the planner predicts for the call if things cost `costs`; 0: nothing may run.
uint64_t predictionOf(const Observation& observation, const Measured& by, const HostCosts& costs);

/// By field: whether calls of this communicator can tell it. Over several hosts that is what the
/// network costs, and nothing of what lies inside a host.
std::vector<bool> measurable(const Measured& by);

/// Least squares of the predictions' relative errors, by Gauss-Newton over the logarithms of the
/// costs; those that the times say nothing of stay near `prior`, and outliers count less. Fields
/// that are not `free` are kept.
HostCosts fitCosts(const std::vector<Observation>& observations, const Measured& by,
                   const HostCosts& prior, const std::vector<bool>& free);

/// Values in ascending order, cut where one is so much more than the one before that it is of
/// another state.
std::vector<std::vector<uint64_t>> splitStates(std::vector<uint64_t> flags);

/// The states of a file after a run: those of the run, then those of the file before it that are of
/// none of them, which get what only this run could see (`free`) and no run before.
std::vector<CostsState> mergedStates(std::vector<CostsState> run, const CostsFile& before,
                                     const std::vector<bool>& free);

/// The first state's values of these fields to all states: a network is the same in all of them.
void giveToAll(const std::vector<bool>& free, std::vector<CostsState>* states);

/// Relative errors of the predictions: their median and the greatest, without sign.
struct Errors {
  double median = 0, worst = 0;
};
Errors errorsOf(const std::vector<double>& relative);
/// What choices are worth: of each call the time of the way that is chosen over that of the best.
struct Regret {
  size_t calls = 0, good = 0;  ///< Within 5 % of the best way.
  double median = 1, worst = 1;
};
Regret regretOf(std::vector<double> ratios);
void printChoices(const std::string& when, const Regret& regret);

/// Prints those of a table's predictions: before the fit, and after it.
void printErrors(const std::vector<double>& before, const std::vector<double>& fitted,
                 const std::vector<double>& heldOut);

}  // namespace rondo::tune
