#pragma once
// Which pairs of type and operator a benchmark goes through.

#include <vector>

#include "benchmark.h"
#include "options.h"

namespace rondo::bench {

struct Kind {
  const ElementType* type;
  const Operator* op;
  bool peer;  ///< The peer, if there is one, has it too.
};

/// Throws UsageError for a pair that the command line names and that is not to be had; what "all"
/// brings in is left out instead, or timed without the peer.
std::vector<Kind> kindsOf(const Benchmark& benchmark, const Options& options, int ranks);

}  // namespace rondo::bench
