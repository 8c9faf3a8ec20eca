#pragma once
// What the ranks of a host have called on a communicator's device memory, as their flight records
// say: who is behind, and whose calls differ. A kernel knows that it waits, but not for whom.

#include <cstdint>
#include <string>
#include <vector>

#include "coll/flight_view.h"

namespace rondo {

/// One rank's last calls on device memory.
struct DeviceCalls {
  int rank = 0;
  std::string who;            ///< "rank 3 (host "a", pid 14)".
  std::string process;        ///< "stopped (SIGSTOP, or a terminal's)"; empty: not known.
  bool left = false;          ///< It has let go of the communicator, or finalized it.
  int64_t kernelWaits = -1;   ///< When a kernel of it last said that it waits; -1: never.
  std::vector<FlightOp> ops;  ///< The oldest first.

  /// So many collectives, those before `ops` among them.
  uint64_t collectives() const;
  /// Some were captured into a graph: what runs is not what was called.
  bool captured() const;
};

/// Of communicator `id`, by rank: ranks of this host whose record can be read. `over`, by rank:
/// have finalized it, as was known before: whoever does so meanwhile may have called once more.
std::vector<DeviceCalls> readDeviceCalls(uint64_t id, const std::vector<bool>& over = {});
/// Those of `all` that are `over` have left.
void noteOver(const std::vector<bool>& over, std::vector<DeviceCalls>* all);

/// A rank that has left without having made the last collective of rank `me`; -1: none.
int deviceDeserter(const std::vector<DeviceCalls>& all, int me);

/// Two ranks whose calls differ in the same place, as a sentence; empty: none that can be seen.
/// `name`: the communicator's.
std::string deviceMismatch(const std::vector<DeviceCalls>& all, const std::string& name);

/// What is known of the wait of a kernel of rank `me`: its last call, and who has not made that.
/// `now`: as the times of FlightOp.
std::string deviceStall(const std::vector<DeviceCalls>& all, int me, const std::string& name,
                        double seconds, int64_t now);

}  // namespace rondo
