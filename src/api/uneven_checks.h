#pragma once
// Counts and displacements of the v-collectives.

#include "api/argument_checks.h"

namespace rondo {

/// One array of counts and its displacements, as the caller gave them.
struct UnevenArgs {
  const char* countsName;
  const size_t* counts;
  const char* displsName;
  const size_t* displs;  ///< nullptr: blocks follow each other.
  bool written;          ///< Blocks must not overlap.
};

/// The blocks as checked: elements, one entry a rank, and where the last one ends.
struct UnevenBlocks {
  std::vector<uint64_t> counts, displs;
  uint64_t extent = 0;
  uint64_t total = 0;
};

/// Null, overflow and overlap; writes *blocks, whose vectors keep their memory. On failure they are
/// unfinished.
rondoResult_t checkUneven(const CollectiveArgs& args, const UnevenArgs& uneven,
                          UnevenBlocks* blocks);

/// What this rank gives itself must be what it takes: `mine` (argument `name`) is the entry of its
/// rank.
rondoResult_t checkMine(const CollectiveArgs& args, const char* name, size_t mine,
                        const char* countsName, uint64_t entry);

}  // namespace rondo
