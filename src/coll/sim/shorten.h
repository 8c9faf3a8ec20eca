#pragma once
// Symmetry: in a ring all ranks take the same step thousands of times in a row. A part of them is
// simulated, and the last of these stands for the others.

#include <cstdint>
#include <vector>

#include "coll/plan.h"

namespace rondo::sim {

/// A row of equal moves that was cut short.
struct Run {
  uint32_t half, end;  ///< Of what is left of it: the last step of its first half, and of all.
  Count left;          ///< Steps that are left out.
};

/// A row of equal steps, as the ranks compare theirs: whom it talks to is each rank's own.
struct RowShape {
  StepKind kind;
  uint8_t bits;
  Count count, length;
  bool operator==(const RowShape&) const = default;
};

struct Shortened {
  std::vector<Step> steps;
  std::vector<Count> times;  ///< By step: how many it stands for.
  std::vector<Run> runs;
  std::vector<RowShape> shape;
};

/// Keeps `most` of each row of equal moves that is longer than twice that; 0: all.
Shortened shorten(const std::vector<Step>& steps, Count most);

}  // namespace rondo::sim
