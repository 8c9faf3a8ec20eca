#pragma once
// What things cost on device memory: the numbers that the device planner ranks and predicts by,
// apart from its code. `rondo-tune --memory device` measures them (docs/calibration.md).

#include <cstdint>
#include <span>

namespace rondo {

/// Integer picoseconds, so that every rank computes the same. Of calls in a CUDA graph, from kernel
/// to kernel. Where the defaults come from is said in deviceCostFields().
struct DeviceCosts {
  uint64_t launch = 900'000;    ///< A kernel of one block that does nothing.
  uint64_t close = 350'000;     ///< So much less takes one that comes close behind another.
  uint64_t laneLL = 17'600;     ///< Each block, to be started and waited for.
  uint64_t lane = 9'000;        ///< The same of LL128 and Simple.
  uint64_t flagLL = 1'475'000;  ///< Data from one rank to another, with all that is done to them.
  uint64_t flagLL128 = 1'505'000;
  uint64_t flagPeer = 150'000;         ///< Of LL more for each further peer...
  uint64_t flagPeerLL128 = 385'000;    ///< ... and of LL128.
  uint64_t further = 385'000;          ///< A second exchange that waits for the first...
  uint64_t furtherPeer = 268'000;      ///< ... and for each further peer.
  uint64_t own = 368'000;              ///< A block that a rank keeps, copied for itself...
  uint64_t ownPerKiB = 250;            ///< ... and its data.
  uint64_t thread = 410;               ///< Each peer's packet of a block's threads above 128.
  uint64_t round = 475'000;            ///< A further packet of a thread.
  uint64_t overlappedRound = 186'000;  ///< The same where two exchanges overlap.
  uint64_t period = 880'000;           ///< A further period: other lanes are in theirs.
  uint64_t wireLLPerKiB = 2'180;       ///< Stores of LL.
  uint64_t wirePerKiB = 3'035;         ///< Of LL128, to several peers...
  uint64_t overlapPerKiB = 2'965;      ///< ... where two exchanges overlap...
  uint64_t onePeerPerKiB = 2'690;      ///< ... to one peer alone...
  uint64_t pairOverlapPerKiB = 2'700;  ///< ... where two exchanges with it overlap.
  uint64_t ringStart = 4'250'000;      ///< Round a ring, however long it is...
  uint64_t ringHop = 1'030'000;        ///< ... and each hop.
  uint64_t pipeHop = 2'765'000;        ///< From a rank of a pipeline to the next, ...
  uint64_t pipeFurther = 600'000;      ///< ... and each hop more.
  uint64_t ringPerKiB = 2'945;         ///< What a ring of 96 lanes sends, ...
  uint64_t ringSpreadPerKiB = 45'600;  ///< ... of which n take more by this times 1/n - 1/96, ...
  uint64_t keepPerKiB = 80;            ///< ... what is received last, and kept, ...
  uint64_t foldPerKiB = 800;           ///< ... or reduced before anything more is sent...
  uint64_t ringLanePerKiB = 205'000;   ///< ... but no more than a lane can send, 5 GB/s.
  uint64_t exchange = 2'370'000;       ///< Sends and receives: data from one to the other, ...
  uint64_t exchangeAlone = 930'000;    ///< ... more where neither rank had been ahead...
  uint64_t exchangeLane = 9'100;       ///< ... and for each lane that a rank has at once.
  uint64_t exchangeLanePerKiB = 236'000;  ///< What one lane moves, 4.3 GB/s, ...
  uint64_t exchangeInPerKiB = 2'920;      ///< ... all that a rank receives...
  uint64_t exchangeOutPerKiB = 3'620;     ///< ... and all that it sends.
  uint64_t straight = 10'000'000;         ///< Asking where a long one goes...
  uint64_t straightPerKiB = 3'030;        ///< ... and what goes straight there, either way.
  uint64_t straightRing = 8'000'000;      ///< Ranks of a ring asking each other the same.
  uint64_t copies = 20'000'000;           ///< Copy engines, from each rank to all others, ...
  uint64_t copiesPeer = 7'500'000;        ///< ... each further one, ...
  uint64_t copiesPerKiB = 2'617;          ///< ... and what a rank sends.
  uint64_t farCall = 8'000'000;  ///< Between hosts: the call that a thread makes for a kernel, ...
  uint64_t farPerKiB = 60'000;   ///< ... and what goes to page-locked memory or comes from there.

  /// The same GPUs joined by links of another bandwidth, each direction.
  DeviceCosts onLinksOf(uint64_t bytesPerSecond) const;
  /// The same GPUs where their kernels meet in host memory, across PCIe.
  DeviceCosts throughHost() const;

  bool operator==(const DeviceCosts&) const = default;
};

/// One number of the costs, for files and tables.
struct DeviceCostField {
  const char* name;  ///< As in a file.
  uint64_t DeviceCosts::*at;
  const char* meaning;
  bool perKiB;
  uint64_t most() const { return perKiB ? 1'000'000'000 : 100'000'000'000; }
};
std::span<const DeviceCostField> deviceCostFields();

}  // namespace rondo
