#include "coll/registry.h"

#include "coll/recorder.h"

namespace rondo {
const char* collectiveName(Collective collective) {
  static const char* const names[kCollectives] = {
      "allreduce", "broadcast", "barrier", "reduce", "allgather", "reducescatter",
      "alltoall",  "gather",    "scatter", "scan",   "exscan"};
  const auto index = static_cast<size_t>(collective);
  return index < kCollectives ? names[index] : "?";
}

SlotUse slotUse(Collective collective, int rank, int root) {
  const bool isRoot = rank == root;
  switch (collective) {
    case Collective::AllReduce:
    case Collective::Scan:
      return {Slots::One, Slots::One};
    case Collective::Broadcast:
      return {isRoot ? Slots::One : Slots::None, Slots::One};
    case Collective::Barrier:
      return {Slots::None, Slots::None};
    case Collective::Reduce:
      return {Slots::One, isRoot ? Slots::One : Slots::None};
    case Collective::AllGather:
      return {Slots::Mine, Slots::All};
    case Collective::ReduceScatter:
      return {Slots::All, Slots::Mine};
    case Collective::AllToAll:
      return {Slots::All, Slots::All};
    case Collective::Gather:
      return {Slots::Mine, isRoot ? Slots::All : Slots::None};
    case Collective::Scatter:
      return {isRoot ? Slots::All : Slots::None, Slots::Mine};
    case Collective::Exscan:
      return {Slots::One, rank > 0 ? Slots::One : Slots::None};
  }
  return {Slots::None, Slots::None};
}

bool hasSlots(Collective collective) {
  const SlotUse use = slotUse(collective, 0, 0);
  return use.src == Slots::All || use.dst == Slots::All;
}

bool isReduction(Collective collective) {
  return collective == Collective::AllReduce || collective == Collective::Reduce ||
         collective == Collective::ReduceScatter || collective == Collective::Scan ||
         collective == Collective::Exscan;
}

bool isRooted(Collective collective) {
  return collective == Collective::Broadcast || collective == Collective::Reduce ||
         collective == Collective::Gather || collective == Collective::Scatter;
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

const Algorithm* findAlgorithm(Collective collective, const std::string& name) {
  for (const Algorithm& row : registry()) {
    if (row.collective == collective && name == row.name) return &row;
  }
  return nullptr;
}

namespace {

GroupShape shapeOf(int ranks, const RankGroups& groups) {
  return {ranks, groups.count(), groups.smallest(), groups.largest()};
}

bool isGrouped(const Algorithm& algorithm, const RankGroups& groups) {
  return algorithm.hierarchy != nullptr && groups.count() > 1;
}

}  // namespace

int blocksOf(const Algorithm& algorithm, int ranks, const RankGroups& groups) {
  if (!isGrouped(algorithm, groups)) return algorithm.blocks(ranks);
  return algorithm.hierarchy->blocks(shapeOf(ranks, groups));
}

int fillOf(const Algorithm& algorithm, int ranks, const RankGroups& groups) {
  if (!isGrouped(algorithm, groups)) return algorithm.fill(ranks);
  return algorithm.hierarchy->fill(shapeOf(ranks, groups));
}

Plan recordPlan(const Algorithm& algorithm, const algo::Group& group,
                const algo::Geometry& geometry) {
  // The plan outlives the facts that the placement lies in, and says no more of it than its steps.
  Plan plan{&algorithm, {group.rank, group.size, group.root}, geometry, {}};
  plan.lanes.resize(static_cast<size_t>(geometry.lanes));
  const bool full = geometry.fullPeriods() > 0;
  const bool last = geometry.count % geometry.period() != 0 || geometry.count == 0;
  for (int lane = 0; lane < geometry.lanes; ++lane) {
    LaneProgram& program = plan.lanes[static_cast<size_t>(lane)];
    if (full) {
      program.full.reserve(4 * static_cast<size_t>(group.size));
      Recorder recorder(program.full, group.size);
      algorithm.record(recorder, group, algo::fullPart(geometry, lane));
      recorder.finish();
    }
    if (last) {
      Recorder recorder(program.last, group.size);
      algorithm.record(recorder, group, algo::lastPart(geometry, lane));
      recorder.finish();
    }
  }
  return plan;
}

}  // namespace rondo
