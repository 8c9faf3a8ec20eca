#pragma once
// rondo-tune --memory device over several hosts: times the ways that a call may go there, fits what
// is chosen by, and shows what choices are worth.

#include <string>
#include <vector>

#include "tune_levels_fit.h"

namespace rondo::tune {

/// As RONDO_TUNE: sends all calls of the collectives that may go in levels that way, or none.
std::string levelsRules(bool inLevels);

/// What is timed to be fitted, each both ways: all-reduces from 8 bytes to `most`, the other
/// collectives at fewer sizes, whole elements for each place. Every second size is held out. Calls
/// that cannot go in levels are not among them.
std::vector<LevelsObservation> levelsTrials(const LevelsFacts& facts, uint64_t most);
/// What is timed to see what choices are worth: all-reduces of every power of two, and the others.
std::vector<LevelsObservation> levelsCheckTrials(const LevelsFacts& facts, uint64_t most);

/// What the ranks of MPI_COMM_WORLD choose by.
struct LevelsJob {
  LevelsFacts facts;  ///< Without rules for device memory.
  std::string costs;  ///< Which.
};
/// Collective; throws the same Error(rondoInvalidArgument) on all ranks where a rank has no device,
/// or calls have only one way.
LevelsJob levelsJob();

/// Times them on new communicators over MPI_COMM_WORLD, in graphs of some calls each, both ways in
/// turn, for about so many seconds, or longer where few calls take that; the same times on all
/// ranks. Rank 0 says when a turn has ended, and if `verbose` what it saw of each call.
void timeLevels(std::vector<LevelsObservation>* trials, double seconds, bool verbose);

/// Prints calls with their predictions, errors before and after, what choices are worth before and
/// after, and the costs.
void printLevelsFit(const std::vector<LevelsObservation>& trials, const LevelsFacts& facts,
                    const DeviceCosts& before, const DeviceFit& after);
/// Prints of each call both ways' times and predictions, which one is chosen and which is best.
void printLevelsCheck(const std::vector<LevelsObservation>& trials, const LevelsFacts& facts);

}  // namespace rondo::tune
