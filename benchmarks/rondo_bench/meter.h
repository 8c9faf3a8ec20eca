#pragma once
// How long one size is measured: checks, warm-up, and as many rounds as the budget holds.

#include <string>
#include <vector>

#include "environment.h"
#include "output.h"
#include "timing.h"

namespace rondo::bench {

/// How many iterations one size gets by default.
struct Iterations {
  int warmup;
  int timed;
};
Iterations defaultIterations(size_t bytes, bool device);

/// Times the trial's libraries; a library's samples at its place. `bytes` are those of a call, for
/// the default numbers of iterations. Shows its progress and tells of lost cores in `output`.
/// Collective.
std::vector<Samples> measure(const Environment& environment, const Trial& trial, size_t bytes,
                             const std::string& what, Output& output);

}  // namespace rondo::bench
