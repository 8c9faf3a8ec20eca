#pragma once
// What the device planner expects of a kernel: its time in a graph, from the way its work is cut.

#include <vector>

#include "coll/algo/base.h"
#include "coll/device_costs.h"

namespace rondo {

/// How a kernel follows the one before it (coll/close_launch.h).
enum class Close : uint8_t {
  kNot,
  kAtItsEnd,  ///< Of more than half of the communicator's blocks, or behind one of these, or where
              ///< others have the device, too.
  kBeside     ///< Of fewer: the one before it has let it come.
};
/// Of a kernel of so many blocks; `closeLanes`: DeviceFacts::closeLanes().
constexpr Close closeOf(int blocks, int closeLanes) {
  return closeLanes < 0 ? Close::kNot : blocks <= closeLanes ? Close::kBeside : Close::kAtItsEnd;
}

/// One-shot, two-shot and direct kernels.
struct WindowWork {
  int ranks;
  int exchanges;
  bool copiesOwn;       ///< Each rank copies a block that it keeps, beside what it sends.
  bool oneWay;          ///< A rank sends or receives, and does not both.
  bool linesOf128;      ///< LL128; else LL.
  int lanes;            ///< CUDA blocks.
  int threads;          ///< Of a block.
  algo::Count packets;  ///< Of a lane in its longest period, for one peer: threads there could be.
  algo::Count blockBytes;  ///< The data in them.
  algo::Count periods;
  algo::Count slotBytes;    ///< Of the call's slot.
  algo::Count sentBytes;    ///< What a rank sends, all exchanges and peers together.
  algo::Count foldedBytes;  ///< What a reduce-scatter reduces and keeps.
  Close close;              ///< DeviceFacts::closeOf()
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
  /// ... but reduces with its own: of the first period, in which all ranks send at once, and then
  /// all reduce. Later ones overlap.
  algo::Count foldedBytes;
  bool straight = false;  ///< DeviceChoice::straightRing
  Close close = Close::kNot;
};
uint64_t ringTime(const RingWork& work, const DeviceCosts& costs);
/// Whether what going straight saves is more than what asking about it takes.
bool straightIsQuicker(const RingWork& work, const DeviceCosts& costs);

/// Copy engines that write from each rank to all others, `sentBytes` in all, with meetings around.
uint64_t copiesTime(int ranks, algo::Count sentBytes, const DeviceCosts& costs);

/// Sends and receives of a rank in one launch, where 128-byte lines arrive whole.
class ExchangeWork {
 public:
  /// `pairLanes`: the most that a pair of ranks has in each direction. `closeLanes`:
  /// DeviceFacts::closeLanes() (what a rank copies to itself is not counted here).
  explicit ExchangeWork(int pairLanes, int closeLanes = -1)
      : pairLanes_(pairLanes), cut_(pairLanes), closeLanes_(closeLanes) {}
  /// As ExchangeHead::cut; before the first add().
  void cutTo(int lanes) { cut_ = lanes; }
  /// Transfers with one peer in one direction follow each other.
  void add(int peer, bool sends, algo::Count bytes);

  /// The most that one transfer has.
  int lanes() const;

  /// `ahead`: launches follow each other without an answer, so that peers may be a launch ahead.
  uint64_t time(const DeviceCosts& costs, bool ahead) const;

  /// Of long ones, whose receivers say where they go, when nobody was ahead.
  uint64_t straightTime(const DeviceCosts& costs) const;

 private:
  struct Sum {
    algo::Count lanes, longest;
  };
  Sum sum() const;
  struct Queue {
    int peer;
    bool sends;
    algo::Count lanes, longest;  ///< Of bytes that a lane moves.
  };
  uint64_t launch(const DeviceCosts& costs, algo::Count lanes) const;
  int pairLanes_, cut_, closeLanes_;
  std::vector<Queue> queues_;
  algo::Count sent_ = 0, received_ = 0;
};

}  // namespace rondo
