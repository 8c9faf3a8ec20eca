#pragma once
// Chooses the kernel and the cutting of a device collective: a pure function of what the ranks
// agreed on and of the call's agreed arguments.

#include <string>
#include <string_view>
#include <vector>

#include "coll/device_costs.h"
#include "coll/device_predict.h"
#include "coll/device_way.h"
#include "coll/planner.h"
#include "kernels/launch.h"

namespace rondo {

/// What the ranks of a communicator know of their devices together.
struct DeviceFacts {
  int ranks = 1;
  int lanes = 1;                    ///< Blocks that fit on every rank's share of its device.
  bool lineStores = false;          ///< 128-byte stores arrive whole at every peer (NVLink).
  WindowShape windowLL = kShapeLL;  ///< What there is memory for.
  WindowShape windowLL128 = kShapeLL128;
  int ringLanes = kRingLanes;
  bool straight = true;    ///< Long sends between any two ranks may go straight into user memory.
  DeviceCosts costs = {};  ///< Of rank 0.
  /// How close in graphs kernels come behind those before them, at best (coll/close_launch.h): as
  /// it was on all ranks when the communicator was made.
  Close close = Close::kNot;
  int pairs = 0;  ///< Lanes of a pair of ranks that there is memory for; 0: pairLanes().

  int lanesOfPair() const { return pairs > 0 ? pairs : pairLanes(ranks, lanes); }
  /// Of how many blocks those are that let the next one come before they end, at most; below 0:
  /// none comes close.
  int closeLanes() const {
    return close == Close::kBeside ? lanes / 2 : close == Close::kAtItsEnd ? 0 : -1;
  }
  /// Of a kernel of so many.
  Close closeOf(int blocks) const { return rondo::closeOf(blocks, closeLanes()); }
};

struct DeviceRequest {
  Collective collective;
  Count count;  ///< Of a slot.
  uint32_t elementBytes;
  Reduces reduces;  ///< What a kernel must be able to do.
};

/// What a call becomes.
struct DeviceChoice {
  const char* algorithm;  ///< As in the registry; nullptr: nothing serves the request.
  Protocol protocol;
  algo::Geometry geometry;
  int threads;           ///< Of a CUDA block, which is a lane.
  const Kernel* kernel;  ///< nullptr in a build without CUDA.
  uint64_t picoseconds;  ///< Predicted: in a graph, from kernel to kernel.
  /// Sends and receives do the same, and are quicker or the only way (but not in place).
  bool byTransfers = false;
  /// Of an all-to-all, not 0: it is quicker, and takes so long, as sends and receives that go
  /// straight to where they shall be (but not in place).
  uint64_t straight = 0;
  /// Of a ring: ranks ask each other whether blocks can go straight into the next one's result.
  bool straightRing = false;
};

constexpr bool isScan(Collective collective) {
  return collective == Collective::Scan || collective == Collective::Exscan;
}

/// Whether such a kernel is instantiated, as a build without CUDA can say it too (tests hold this
/// against the table of kernels).
bool hasDeviceKernel(const DeviceRequest& request, std::string_view algorithm, Protocol protocol,
                     int ranks);

/// The first rule that is for such requests; nullptr: none.
const TuneRule* findRule(const DeviceRequest& request, const std::vector<TuneRule>& rules);

/// The best candidate; with a matching rule, the best of those that it allows.
DeviceChoice chooseDevice(const DeviceRequest& request, const DeviceFacts& facts,
                          const std::vector<TuneRule>& rules);

/// What a flight record says of a call that becomes this.
DeviceServed servedBy(Collective collective, const DeviceChoice& choice);

/// Gather and scatter, which are sends and receives in one launch: `algorithm` is nullptr for other
/// collectives, and where 128-byte lines do not arrive whole, which was not measured.
DeviceChoice chooseExchange(const DeviceRequest& request, const DeviceFacts& facts);

/// The best candidate of each algorithm and protocol as lines of text: first what runs, then the
/// others, the best one first.
std::string explainDevice(const DeviceRequest& request, const DeviceFacts& facts,
                          const std::vector<TuneRule>& rules);

}  // namespace rondo
