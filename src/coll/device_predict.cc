#include "coll/device_predict.h"

#include <algorithm>

#include "kernels/direct_call.h"

namespace rondo {
namespace {

using algo::Count;

/// Threads that a block has before each more of them is felt.
constexpr Count kFreeThreads = 128;

Count per(Count bytes, uint64_t perKiB) { return bytes * perKiB / 1024; }
Count divideUp(Count a, Count b) { return (a + b - 1) / b; }

/// One that comes at the end of the one before it saves three quarters of what others do (0.26 of
/// 0.35 us; 2 x H200, 2026-11-30).
uint64_t launchOf(const DeviceCosts& costs, Close close) {
  const uint64_t saved = close == Close::kNot      ? 0
                         : close == Close::kBeside ? costs.close
                                                   : costs.close / 4 * 3;
  return costs.launch - std::min(costs.launch, saved);
}

/// What a ring of so many lanes takes for a KiB. DeviceCosts::ringPerKiB is that of 96.
Count ringRate(Count lanes, const DeviceCosts& costs) {
  constexpr Count kMeasured = 96;
  const Count rate = costs.ringPerKiB + costs.ringSpreadPerKiB / lanes;
  const Count most = costs.ringSpreadPerKiB / kMeasured;
  return std::max(rate - std::min(rate, most), costs.ringLanePerKiB / lanes);
}

/// All-reduces and all-gathers of 512 MiB and more had 363 GB/s, 348 is the model's for slots (4 x
/// H200, 2026-11-29). Of two ranks slots are nearly as quick: straight broadcasts took 5.2 us more
/// at 8 MiB and 13 less at 512, all-reduces 7 more from 64 to 256 MiB and as long at 512 (2 x H200,
/// 2026-11-30).
Count straightSaves(const RingWork& work, const DeviceCosts& costs) {
  const bool twoHops = !work.pipeline && work.hops == 2;
  const Count part = work.ranks > 2 ? 24 : twoHops ? 192 : 48;
  return per(work.sentBytes, ringRate(static_cast<Count>(work.lanes), costs) / part);
}

}  // namespace

uint64_t windowTime(const WindowWork& work, const DeviceCosts& costs) {
  const auto peers = static_cast<Count>(std::max(work.ranks - 1, 0));
  const Count furtherPeers = peers > 1 ? peers - 1 : 0;
  const auto exchanges = static_cast<Count>(work.exchanges);
  const auto lanes = static_cast<Count>(work.lanes), threads = static_cast<Count>(work.threads);
  // Its warps do half of the work.
  const Count ways = work.oneWay ? 1 : 2;
  // A period of a lane, until its data have come.
  Count period = work.linesOf128 ? costs.flagLL128 : costs.flagLL;
  // Of a root's data nobody waits for several peers, or it alone.
  const bool waitsForAll = work.linesOf128 && !work.oneWay;
  period += furtherPeers * (waitsForAll ? costs.flagPeerLL128 : costs.flagPeer);
  period += (exchanges - 1) * (costs.further + furtherPeers * costs.furtherPeer);
  if (threads > kFreeThreads) {
    period += exchanges * peers * (threads - kFreeThreads) * costs.thread * ways / 2;
  }
  period += exchanges * (divideUp(work.packets, threads) - 1) *
            (exchanges > 1 ? costs.overlappedRound : costs.round);
  Count begin = launchOf(costs, work.close);
  begin += lanes * (work.linesOf128 ? costs.lane : costs.laneLL) * ways / 2;
  if (work.copiesOwn) begin += costs.own + per(work.slotBytes, costs.ownPerKiB);
  Count data = 0;
  // Most of it is done while others' data come, and all of it where there is one other.
  if (peers > 1) data += per(work.foldedBytes, costs.foldPerKiB) / 4;
  // Of LL each 8 bytes in 16 are a flag. Of LL128 warps store all of their lines, however few data
  // the last one has.
  if (!work.linesOf128) {
    data += per(work.sentBytes * 2, costs.wireLLPerKiB);
  } else {
    uint64_t perKiB = exchanges > 1 ? costs.overlapPerKiB : costs.wirePerKiB;
    if (peers <= 1) perKiB = exchanges > 1 ? costs.pairOverlapPerKiB : costs.onePeerPerKiB;
    const Count stored = work.packets * 16;
    data += per(work.sentBytes * stored / std::max<Count>(work.blockBytes, 1), perKiB);
  }
  // While a lane is in a period others are in theirs; few lanes do not fill the links.
  const Count further = static_cast<Count>(std::max(work.periods, Count{1})) - 1;
  return begin + period + further * costs.period + std::max(data, further * period);
}

uint64_t ringTime(const RingWork& work, const DeviceCosts& costs) {
  const auto lanes = static_cast<Count>(work.lanes), hops = static_cast<Count>(work.hops);
  const Count further = hops > 0 ? hops - 1 : 0;
  const Count way = work.pipeline ? costs.pipeHop + further * costs.pipeFurther
                                  : costs.ringStart + hops * costs.ringHop;
  const Count slots = per(work.sentBytes, ringRate(lanes, costs));
  const Count sent =
      work.straight ? slots - straightSaves(work, costs) + costs.straightRing : slots;
  return launchOf(costs, work.close) + lanes * costs.lane + way + sent +
         per(work.keptBytes, costs.keepPerKiB) + per(work.foldedBytes, costs.foldPerKiB);
}

bool straightIsQuicker(const RingWork& work, const DeviceCosts& costs) {
  return straightSaves(work, costs) > costs.straightRing;
}

uint64_t copiesTime(int ranks, Count sentBytes, const DeviceCosts& costs) {
  return costs.copies + static_cast<Count>(ranks - 2) * costs.copiesPeer +
         per(sentBytes, costs.copiesPerKiB);
}

void ExchangeWork::add(int peer, bool sends, Count bytes) {
  if (bytes == 0) return;
  (sends ? sent_ : received_) += bytes;
  PairView pairs{};
  pairs.lanes = pairLanes_;
  pairs.lines = 1;
  const TransferCut cut = cutTransfer(pairs, cut_, bytes);
  const auto lanes = static_cast<Count>(cut.lanes);
  auto queue = std::find_if(queues_.begin(), queues_.end(), [&](const Queue& known) {
    return known.peer == peer && known.sends == sends;
  });
  if (queue == queues_.end()) queue = queues_.insert(queue, Queue{peer, sends, 0, 0});
  queue->lanes = std::max(queue->lanes, lanes);
  queue->longest += std::min<Count>(cut.perLane, bytes);
}

int ExchangeWork::lanes() const {
  Count most = 0;
  for (const Queue& queue : queues_) most = std::max(most, queue.lanes);
  return static_cast<int>(most);
}

ExchangeWork::Sum ExchangeWork::sum() const {
  Sum sum{};
  for (const Queue& queue : queues_) {
    sum.lanes += queue.lanes;
    sum.longest = std::max(sum.longest, queue.longest);
  }
  return sum;
}

uint64_t ExchangeWork::launch(const DeviceCosts& costs, Count lanes) const {
  return launchOf(costs, closeOf(static_cast<int>(lanes), closeLanes_));
}

uint64_t ExchangeWork::time(const DeviceCosts& costs, bool ahead) const {
  if (queues_.empty()) return 0;
  const auto [lanes, longest] = sum();
  const uint64_t data =
      std::max({per(longest, costs.exchangeLanePerKiB), per(received_, costs.exchangeInPerKiB),
                per(sent_, costs.exchangeOutPerKiB)});
  return launch(costs, lanes) + costs.exchange + (ahead ? 0 : costs.exchangeAlone) +
         lanes * costs.exchangeLane + data;
}

uint64_t ExchangeWork::straightTime(const DeviceCosts& costs) const {
  if (queues_.empty()) return 0;
  const auto [lanes, longest] = sum();
  const uint64_t data = std::max(per(longest, costs.exchangeLanePerKiB),
                                 per(std::max(sent_, received_), costs.straightPerKiB));
  return launch(costs, lanes) + costs.exchange + costs.exchangeAlone + costs.straight +
         lanes * costs.exchangeLane + data;
}

}  // namespace rondo
