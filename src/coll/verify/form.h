#pragma once
// What can be said of plans without executing them.

#include <vector>

#include "coll/verifier.h"

namespace rondo::verify {

/// The two programs of a lane are checked apart: every full period is the same.
enum class Program { Full, Last };

inline const std::vector<Step>& stepsOf(const Plan& plan, int lane, Program program) {
  const LaneProgram& both = plan.lanes[static_cast<size_t>(lane)];
  return program == Program::Full ? both.full : both.last;
}

/// Slots of the collective's buffers: the number of ranks, or 1.
int slotsOf(const Plan& plan);

/// Elements of a period (of one slot).
Count lengthOf(const algo::Geometry& geometry, Program program);

/// Whether the call has such a period.
bool has(const algo::Geometry& geometry, Program program);

/// "rank 1, lane 0, full period, step 3 (send [0,4) >1)".
std::string placeText(int rank, int lane, Program program, size_t index, const Step& step);

/// The plans belong together, each step's fields are allowed, ranks exist, blocks lie inside the
/// period and fit a slot. All that follows needs this to be empty.
Findings formFindings(const std::vector<Plan>& plans);

/// Each rank's steps, all lanes together, write every element of dst exactly once; none reads src
/// where dst was or may have been overwritten before, if src == dst.
Findings memoryFindings(const std::vector<Plan>& plans);

/// In each program by itself, what a rank sends to another is as many messages as the other reads,
/// and every signal is waited for.
Findings balanceFindings(const std::vector<Plan>& plans);

}  // namespace rondo::verify
