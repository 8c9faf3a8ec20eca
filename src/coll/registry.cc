#include "coll/registry.h"

#include "coll/algo/ring.h"
#include "coll/algo/scan.h"
#include "coll/algo/window.h"
#include "coll/algo/window_slots.h"
#include "coll/recorder.h"

namespace rondo {
namespace {

int oneBlock(int) { return 1; }
int blockPerRank(int ranks) { return ranks; }
int noFill(int) { return 0; }
int chainFill(int ranks) { return ranks > 2 ? ranks - 2 : 0; }

}  // namespace

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

const std::vector<Algorithm>& registry() {
  using C = Collective;
  static const char* const window = "coll/algo/window.h";
  static const char* const slots = "coll/algo/window_slots.h";
  static const char* const ring = "coll/algo/ring.h";
  static const char* const scan = "coll/algo/scan.h";
  static const std::vector<Algorithm> rows = {
      {"oneshot", C::AllReduce, oneBlock, algo::allReduceOneShot<Recorder>, false, noFill, true,
       window, true},
      {"twoshot", C::AllReduce, blockPerRank, algo::allReduceTwoShot<Recorder>, true, noFill, false,
       window, true},
      {"ring", C::AllReduce, blockPerRank, algo::allReduceRing<Recorder>, true, noFill, true, ring},
      {"ring", C::Broadcast, oneBlock, algo::broadcastRing<Recorder>, true, chainFill, false, ring},
      {"oneshot", C::Broadcast, oneBlock, algo::broadcastOneShot<Recorder>, true, noFill, false,
       window},
      {"oneshot", C::Barrier, oneBlock, algo::barrierOneShot<Recorder>, true, noFill, false,
       window},
      {"oneshot", C::Reduce, oneBlock, algo::reduceOneShot<Recorder>, true, noFill, false, window,
       true},
      {"twoshot", C::Reduce, blockPerRank, algo::reduceTwoShot<Recorder>, true, noFill, false,
       window, true},
      {"ring", C::Reduce, oneBlock, algo::reduceRing<Recorder>, true, chainFill, false, ring},
      {"direct", C::AllGather, oneBlock, algo::allGatherDirect<Recorder>, true, noFill, false,
       slots, false, true},
      {"ring", C::AllGather, oneBlock, algo::allGatherRing<Recorder>, true, noFill, false, ring,
       false, true},
      {"direct", C::ReduceScatter, oneBlock, algo::reduceScatterDirect<Recorder>, true, noFill,
       false, slots, true, true},
      {"ring", C::ReduceScatter, oneBlock, algo::reduceScatterRing<Recorder>, true, noFill, false,
       ring, false, true},
      {"direct", C::AllToAll, oneBlock, algo::allToAllDirect<Recorder>, false, noFill, false, slots,
       false, true},
      {"direct", C::Gather, oneBlock, algo::gatherDirect<Recorder>, true, noFill, false, slots,
       false, true},
      {"direct", C::Scatter, oneBlock, algo::scatterDirect<Recorder>, true, noFill, false, slots,
       false, true},
      {"oneshot", C::Scan, oneBlock, algo::scanOneShot<Recorder>, false, noFill, false, scan, true},
      {"chain", C::Scan, oneBlock, algo::scanChain<Recorder>, true, chainFill, false, scan},
      {"oneshot", C::Exscan, oneBlock, algo::exscanOneShot<Recorder>, false, noFill, false, scan,
       true},
      {"chain", C::Exscan, oneBlock, algo::exscanChain<Recorder>, true, chainFill, false, scan},
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
