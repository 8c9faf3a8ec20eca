#pragma once
// What rehearsals of several ranks said in their splits: a rule that parts ranks otherwise than the
// program does cannot be told from one rank's color, but it can from two.

#include <cstdint>
#include <string>
#include <vector>

namespace rondo {

/// One split as a rank met it.
struct SplitNote {
  size_t split;             ///< Of those that took a rule, in their order.
  std::vector<int> parent;  ///< The communicator's ranks, as the machine numbers them.
  std::string rule;
  int rank;  ///< The program's, as the machine numbers it.
  int color, key;
};

/// By the rule: the place of a rank's part among the parts, and its place in it; negative: none.
struct RulePlace {
  int part, at;
};

/// Looks what other ranks' rehearsals have noted of the same split in the file, and notes this one.
/// `places` is by rank of the machine. Notes of the same split of the same communicator by another
/// rule are forgotten. Throws Error: rondoInvalidArgument where a color or a key contradicts the
/// rule (nothing is noted then), rondoSystemError where the file cannot be written.
void noteSplit(const std::string& path, const SplitNote& note,
               const std::vector<RulePlace>& places);

}  // namespace rondo
