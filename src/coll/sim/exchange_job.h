#pragma once
// Sends and receives of one rank as plans of the few ranks they concern.

#include <vector>

#include "coll/sim/rehearsal.h"

namespace rondo::sim {

/// What `rank` sends and receives at once, its peers being there at the same time and doing nothing
/// else. Those of one pair and direction follow each other.
class ExchangeJob {
 public:
  ExchangeJob(const Rehearsal& on, int rank, const std::vector<PeerTransfer>& transfers);

  /// Its ranks are numbers in ranks().
  Job job(bool record) const;
  const std::vector<int>& ranks() const { return ranks_; }

 private:
  struct Lane {
    int peer;  ///< In ranks().
    bool sends;
    std::vector<Count> messages;
  };
  const Rehearsal& on_;
  std::vector<int> ranks_;  ///< The rank itself first.
  std::vector<Lane> lanes_;
};

}  // namespace rondo::sim
