#include "coll/device_predict.h"

#include <algorithm>

namespace rondo {
namespace {

using algo::Count;

/// Threads that a block has before each more of them is felt.
constexpr Count kFreeThreads = 128;

Count per(Count bytes, uint64_t perKiB) { return bytes * perKiB / 1024; }
Count divideUp(Count a, Count b) { return (a + b - 1) / b; }

}  // namespace

uint64_t windowTime(const WindowWork& work, const DeviceCosts& costs) {
  const auto peers = static_cast<Count>(std::max(work.ranks - 1, 0));
  const Count furtherPeers = peers > 1 ? peers - 1 : 0;
  const auto exchanges = static_cast<Count>(work.exchanges);
  const auto lanes = static_cast<Count>(work.lanes), threads = static_cast<Count>(work.threads);
  // Its warps do half of the work.
  const Count ways = work.oneWay ? 1 : 2;
  Count time = costs.launch + (work.linesOf128 ? costs.flagLL128 : costs.flagLL);
  time += furtherPeers * (work.linesOf128 ? costs.flagPeerLL128 : costs.flagPeer);
  time += lanes * (work.linesOf128 ? costs.lane : costs.laneLL) * ways / 2;
  time += (exchanges - 1) * (costs.further + furtherPeers * costs.furtherPeer);
  time += (work.periods - 1) * costs.period;
  if (work.copiesOwn) time += costs.own + per(work.slotBytes, costs.ownPerKiB);
  if (threads > kFreeThreads) {
    time += exchanges * peers * (threads - kFreeThreads) * costs.thread * ways / 2;
  }
  time += exchanges * (divideUp(work.packets, threads) - 1) *
          (exchanges > 1 ? costs.overlappedRound : costs.round);
  time += per(work.foldedBytes, costs.foldPerKiB);
  // Of LL each 8 bytes in 16 are a flag, of LL128 each line has the rest of its 128.
  if (!work.linesOf128) return time + per(work.sentBytes * 2, costs.wireLLPerKiB);
  uint64_t perKiB = exchanges > 1 ? costs.overlapPerKiB : costs.wirePerKiB;
  if (peers <= 1) perKiB = exchanges > 1 ? costs.pairOverlapPerKiB : costs.onePeerPerKiB;
  return time + per(work.sentBytes * 128 / static_cast<Count>(work.lineBytes), perKiB);
}

uint64_t ringTime(const RingWork& work, const DeviceCosts& costs) {
  const auto lanes = static_cast<Count>(work.lanes), hops = static_cast<Count>(work.hops);
  const Count way = work.pipeline ? hops * costs.pipeHop : costs.ringStart + hops * costs.ringHop;
  const uint64_t perKiB = std::max<uint64_t>(costs.ringPerKiB, costs.ringLanePerKiB / lanes);
  return costs.launch + lanes * costs.lane + way + per(work.sentBytes, perKiB) +
         per(work.keptBytes, work.folds ? costs.foldPerKiB : costs.keepPerKiB);
}

}  // namespace rondo
