#pragma once
// Several short collectives of one kind as one kernel: each has a few lanes of its own.

#include "kernels/launch.h"

namespace rondo {

/// Calls of one launch; they fit a kernel's 4 KiB of parameters.
constexpr int kMostJoined = 64;

struct JointItem {
  const unsigned char* src;
  unsigned char* dst;
  uint32_t count;    ///< Elements of a slot.
  uint32_t perLane;  ///< Of them.
  uint32_t chunk;    ///< What one exchange of a lane carries.
  uint32_t elementBytes;
  Reduction reduction;
};

/// The argument of a joint kernel. What differs between the calls is not in `args`.
struct JointWindowCall {
  WindowView window;
  CallArgs args;
  int32_t firstLane;  ///< Of item 0.
  int32_t lanes;      ///< Of each item.
  int32_t srcSlots;   ///< Not 0: src has a slot for each rank.
  int32_t dstSlots;
  JointItem item[kMostJoined];
};
static_assert(sizeof(JointWindowCall) <= 4096);

/// What the table of kernels has in the place of an algorithm's name.
constexpr const char* kJoint = "joint";

}  // namespace rondo
