#pragma once
// How long a flag takes from one rank to another just now. A virtual machine's cores may share a
// cache at one time and none at another: then everything costs something else
// (docs/calibration.md).

#include <cstdint>

#include "coll/facts.h"
#include "coll/waiter.h"
#include "p2p/channels.h"

namespace rondo {

/// Two ranks of one host; -1: there are none.
struct FlagPair {
  int first = -1, second = -1;
};

/// The pair by which the state of the communicator's machine is told: rank 0 and the first rank of
/// its host, of its group if there is one. None where ranks wait for a core. `hostOf`: by rank.
FlagPair flagPairOf(const CommFacts& facts, const std::vector<int>& hostOf);

/// Short messages there and back for some 50 to 200 us, a few milliseconds where other work is in
/// the way, which the least of its times leaves out. Both ranks of the pair call it; to `first` it
/// gives a flag's way, to all others 0. Channels are as they were afterwards, unless the wait is
/// ended (not Ok).
RunResult measureFlag(Channels& channels, int rank, const FlagPair& pair, const WaitPolicy& policy,
                      uint64_t* picoseconds);

}  // namespace rondo
