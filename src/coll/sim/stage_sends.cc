#include "coll/sim/stage_sends.h"

#include <algorithm>

#include "coll/algo/verbs.h"

namespace rondo::sim {
namespace {

/// A long send is cut into so many messages at most.
constexpr uint64_t kMostMessages = 32;

}  // namespace

Time stageSend(const Rehearsal& on, int stage, uint64_t bytes) {
  const int ranks = on.ranks();
  if (stage >= ranks || bytes == 0) return 0;
  const Algorithm& any = registry().front();
  const algo::Geometry usual = on.geometryOf(any, {any.collective, 1});
  const uint64_t chunk =
      std::max<uint64_t>(usual.chunk, (bytes + kMostMessages - 1) / kMostMessages);
  Job job = on.jobOf(any, usual, 0);
  job.record = false;
  job.plan = [=, &any](int rank) {
    Plan plan{&any, {rank, ranks, 0}, {0, 2, 1, 1, 1}, {}};
    plan.lanes.resize(2);
    // Stages take turns with the lanes, so that a rank's send does not wait for what it takes.
    const auto lane = [&](int sender) -> std::vector<Step>& {
      return plan.lanes[static_cast<size_t>(sender / stage % 2)].last;
    };
    for (Count at = 0; at < bytes; at += chunk) {
      const Count now = std::min<Count>(chunk, bytes - at);
      if (rank + stage < ranks) {
        lane(rank).push_back({StepKind::Move, static_cast<uint8_t>(algo::kSrc | algo::kSend),
                              Room::Pair, -1, rank + stage, at, now});
      }
      if (rank >= stage) {
        lane(rank - stage)
            .push_back({StepKind::Move, static_cast<uint8_t>(algo::kRecv | algo::kDst), Room::Pair,
                        rank - stage, -1, at, now});
      }
    }
    return plan;
  };
  const Result result = simulate(job);
  checkEnded(result);
  return result.picoseconds;
}

}  // namespace rondo::sim
