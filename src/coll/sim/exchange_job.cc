#include "coll/sim/exchange_job.h"

#include <algorithm>
#include <iterator>

#include "coll/algo/verbs.h"

namespace rondo::sim {
namespace {

/// A long transfer is cut into this many messages at most.
constexpr uint64_t kMostMessages = 256;

}  // namespace

ExchangeJob::ExchangeJob(const Rehearsal& on, int rank, const std::vector<PeerTransfer>& transfers)
    : on_(on), ranks_{rank} {
  const Algorithm& any = registry().front();
  const uint64_t usual = on.geometryOf(any, {any.collective, 1}).chunk;
  for (const PeerTransfer& t : transfers) {
    if (t.peer == rank) continue;  // a copy, or none
    auto at = std::find(ranks_.begin(), ranks_.end(), t.peer);
    if (at == ranks_.end()) at = ranks_.insert(at, t.peer);
    const int peer = static_cast<int>(at - ranks_.begin());
    auto lane = std::find_if(lanes_.begin(), lanes_.end(), [&](const Lane& known) {
      return known.peer == peer && known.sends == t.sends;
    });
    if (lane == lanes_.end()) {
      lanes_.push_back(Lane{peer, t.sends, {}});
      lane = std::prev(lanes_.end());
    }
    const uint64_t chunk = std::max(usual, (t.bytes + kMostMessages - 1) / kMostMessages);
    uint64_t left = t.bytes;
    do {
      lane->messages.push_back(std::min(left, chunk));
      left -= lane->messages.back();
    } while (left > 0);
  }
}

Job ExchangeJob::job(bool record) const {
  const Algorithm& any = registry().front();
  Job job = on_.jobOf(any, on_.geometryOf(any, {any.collective, 1}), 0);
  job.parts = {};
  job.places.clear();
  for (const int rank : ranks_) job.places.push_back(on_.places()[static_cast<size_t>(rank)]);
  job.record = record;
  job.plan = [this, &any](int number) {
    Plan plan{&any, {number, static_cast<int>(ranks_.size()), 0}, {}, {}};
    plan.geometry = {0, std::max(static_cast<int>(lanes_.size()), 1), 1, 1, 1};
    plan.lanes.resize(static_cast<size_t>(plan.geometry.lanes));
    for (size_t l = 0; l < lanes_.size(); ++l) {
      const Lane& lane = lanes_[l];
      if (number != 0 && number != lane.peer) continue;
      const bool sends = (number == 0) == lane.sends;
      const int other = number == 0 ? lane.peer : 0;
      Count offset = 0;
      for (const Count bytes : lane.messages) {
        const int bits = sends ? algo::kSrc | algo::kSend : algo::kRecv | algo::kDst;
        plan.lanes[l].last.push_back({StepKind::Move, static_cast<uint8_t>(bits), Room::Pair,
                                      sends ? -1 : other, sends ? other : -1, offset, bytes});
        offset += bytes;
      }
    }
    return plan;
  };
  return job;
}

}  // namespace rondo::sim
