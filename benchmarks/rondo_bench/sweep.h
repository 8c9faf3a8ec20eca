#pragma once
// Goes through types, operators and sizes, measures each, and hands the rows to the reports.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collective.h"
#include "environment.h"

namespace rondo::bench {

/// What a subcommand brings. Contenders: Rondo first, then the peer, if any.
struct Subject {
  std::string name;
  std::vector<Contender> contenders;
  std::function<std::unique_ptr<Collective>(const ElementType&, const Operator&)> collective;
};

/// Returns the exit status: 1 if any element was wrong.
int runSweep(const Environment& environment, const Subject& subject);

/// How many iterations one size gets by default.
struct Iterations {
  int warmup;
  int timed;
};
Iterations defaultIterations(size_t bytes, bool device);

}  // namespace rondo::bench
