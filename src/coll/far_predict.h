#pragma once
// What a collective takes that a kernel and the progress threads carry through page-locked memory
// (kernels/far_call.h), from what its chunks cost. A pure function.

#include <cstdint>

namespace rondo {

/// Picoseconds of one chunk.
struct FarChunkTimes {
  uint64_t in = 0;    ///< The kernel's copy into page-locked memory, ...
  uint64_t call = 0;  ///< ... a thread's call on host memory, ...
  uint64_t out = 0;   ///< ... and the kernel's copy of what came.
};

struct FarCourse {
  uint64_t chunks;      ///< 1 or more.
  int lanes;            ///< Threads, each with every lanes-th chunk.
  FarChunkTimes each;   ///< Of all chunks but the last...
  FarChunkTimes last;   ///< ... which may be shorter.
  bool oneWay = false;  ///< A rank has chunks to put in or to take out, and not both.
};

/// Goes through the chunks in the order in which the kernel does: it copies one at a time and has
/// kFarSlots places, the threads run theirs beside it and beside each other.
uint64_t farCourseTime(const FarCourse& course);

}  // namespace rondo
