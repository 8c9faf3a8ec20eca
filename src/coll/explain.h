#pragma once
// Plans as text: the step table of one period, and what a call adds up to.

#include <string>
#include <vector>

#include "coll/plan.h"

namespace rondo {

/// What one rank does in a whole call. Elements and messages to everyone count once per reader.
struct RankTotals {
  Count steps = 0;
  Count messages = 0;  ///< Sent.
  Count sent = 0;      ///< Elements.
  Count received = 0;  ///< Elements.
  Count reduced = 0;   ///< Two-operand reductions of an element.
};
RankTotals totalsOf(const Plan& plan);

struct ExplainOptions {
  int lane = 0;
  bool last = false;          ///< The shorter last period instead of a full one.
  std::vector<int> ranks;     ///< Columns; empty: all.
  unsigned elementBytes = 1;  ///< For the totals in bytes.
  std::string groups;         ///< For the heading: RankGroups::text().
};

/// The table: a row a step, a column a rank, blocks as "b3" (the lane's block number in the
/// period), "4> b3 >1" being received from rank 4 and sent to rank 1; then the totals of the whole
/// call. `plans` are those of all ranks. Throws Error if a lane or rank in `options` does not
/// exist, or if the call has no such period.
std::string explainTable(const std::vector<Plan>& plans, const ExplainOptions& options = {});

/// The ranks that `options` shows; throws as explainTable does.
std::vector<int> shownRanks(const std::vector<Plan>& plans, const ExplainOptions& options);

/// The program that `options` shows of one rank.
const std::vector<Step>& shownSteps(const Plan& plan, const ExplainOptions& options);

/// The generated part of docs/algorithms.md.
std::string algorithmsDoc();

}  // namespace rondo
