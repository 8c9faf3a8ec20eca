#pragma once
// What all ranks of a communicator agree on when it is made. The planner chooses from these and
// from the call's own agreed arguments alone, so that every rank chooses the same.

#include <cstdint>

#include "coll/costs.h"
#include "coll/link_facts.h"
#include "coll/rank_groups.h"

namespace rondo {

/// Without hwloc's word on the last-level cache.
constexpr uint64_t kUsualL3 = 32u << 20;

struct CommFacts {
  int ranks = 1;
  int lanes = 1;            ///< Most lanes a plan may have.
  uint64_t chunkBytes = 0;  ///< Longest message of a channel.
  uint32_t cpus = 1;        ///< Processing units that the ranks of a node may use together.
  int localRanks = 0;       ///< Ranks that share them; 0: all.
  uint64_t l3Bytes = 0;
  bool reproducible = false;  ///< Reductions have one association.
  RankGroups groups;          ///< Which ranks lie close together.
  LinkFacts links;            ///< What lies between packages and between hosts.
  HostCosts costs;            ///< Set by setCosts() where there are links.
};

}  // namespace rondo
