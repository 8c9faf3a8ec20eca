#include "coll/registry.h"

#include "coll/algo/ring.h"
#include "coll/algo/window.h"
#include "coll/recorder.h"

namespace rondo {
namespace {

int oneBlock(int) { return 1; }
int blockPerRank(int ranks) { return ranks; }
int noFill(int) { return 0; }
int chainFill(int ranks) { return ranks > 2 ? ranks - 2 : 0; }

}  // namespace

const char* collectiveName(Collective collective) {
  switch (collective) {
    case Collective::AllReduce:
      return "allreduce";
    case Collective::Broadcast:
      return "broadcast";
    case Collective::Barrier:
      return "barrier";
  }
  return "?";
}

const char* stepKindName(StepKind kind) {
  switch (kind) {
    case StepKind::Move:
      return "move";
    case StepKind::Put:
      return "put";
    case StepKind::Signal:
      return "signal";
    case StepKind::Wait:
      return "wait";
    case StepKind::Reduce:
      return "reduce";
    case StepKind::Fetch:
      return "fetch";
    case StepKind::Barrier:
      return "barrier";
  }
  return "?";
}

const std::vector<Algorithm>& registry() {
  static const std::vector<Algorithm> rows = {
      {"oneshot", Collective::AllReduce, oneBlock, algo::allReduceOneShot<Recorder>, false, noFill,
       true, "coll/algo/window.h"},
      {"twoshot", Collective::AllReduce, blockPerRank, algo::allReduceTwoShot<Recorder>, true,
       noFill, false, "coll/algo/window.h"},
      {"ring", Collective::AllReduce, blockPerRank, algo::allReduceRing<Recorder>, true, noFill,
       true, "coll/algo/ring.h"},
      {"ring", Collective::Broadcast, oneBlock, algo::broadcastRing<Recorder>, true, chainFill,
       false, "coll/algo/ring.h"},
      {"oneshot", Collective::Broadcast, oneBlock, algo::broadcastOneShot<Recorder>, true, noFill,
       false, "coll/algo/window.h"},
      {"oneshot", Collective::Barrier, oneBlock, algo::barrierOneShot<Recorder>, true, noFill,
       false, "coll/algo/window.h"},
  };
  return rows;
}

const Algorithm* findAlgorithm(Collective collective, const std::string& name) {
  for (const Algorithm& row : registry()) {
    if (row.collective == collective && name == row.name) return &row;
  }
  return nullptr;
}

Plan recordPlan(const Algorithm& algorithm, const algo::Group& group,
                const algo::Geometry& geometry) {
  Plan plan{&algorithm, group, geometry, {}};
  plan.lanes.resize(static_cast<size_t>(geometry.lanes));
  const bool full = geometry.fullPeriods() > 0;
  const bool last = geometry.count % geometry.period() != 0 || geometry.count == 0;
  for (int lane = 0; lane < geometry.lanes; ++lane) {
    LaneProgram& program = plan.lanes[static_cast<size_t>(lane)];
    if (full) {
      program.full.reserve(static_cast<size_t>(4 * group.size));
      Recorder recorder(program.full);
      algorithm.record(recorder, group, algo::fullPart(geometry, lane));
      recorder.finish();
    }
    if (last) {
      Recorder recorder(program.last);
      algorithm.record(recorder, group, algo::lastPart(geometry, lane));
      recorder.finish();
    }
  }
  return plan;
}

}  // namespace rondo
