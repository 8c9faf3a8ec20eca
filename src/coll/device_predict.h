#pragma once
// What the device planner expects of a kernel: its time in a graph, from the way its work is cut.

#include "coll/algo/base.h"
#include "coll/device_costs.h"

namespace rondo {

/// One-shot, two-shot and direct kernels.
struct WindowWork {
  int ranks;
  int exchanges;
  bool copiesOwn;       ///< Each rank copies a block that it keeps, beside what it sends.
  bool oneWay;          ///< A rank sends or receives, and does not both.
  bool linesOf128;      ///< LL128; else LL.
  int lineBytes;        ///< Data in a line of LL128.
  int lanes;            ///< CUDA blocks.
  int threads;          ///< Of a block.
  algo::Count packets;  ///< Of a lane in its longest period, for one peer: threads there could be.
  algo::Count periods;
  algo::Count slotBytes;    ///< Of the call's slot.
  algo::Count sentBytes;    ///< What a rank sends, all exchanges and peers together.
  algo::Count foldedBytes;  ///< What a reduce-scatter reduces and keeps.
};
uint64_t windowTime(const WindowWork& work, const DeviceCosts& costs);

/// Rings, and pipelines along all ranks.
struct RingWork {
  int ranks;
  int lanes;
  bool pipeline;
  int hops;               ///< That data take, one after the other.
  algo::Count sentBytes;  ///< What a rank sends.
  algo::Count keptBytes;  ///< What it receives and does not send on...
  bool folds;             ///< ... but reduces with its own.
};
uint64_t ringTime(const RingWork& work, const DeviceCosts& costs);

}  // namespace rondo
