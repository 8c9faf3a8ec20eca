#include "coll/sim/choices.h"

#include <cstring>

#include "base/error.h"
#include "coll/sim/output.h"
#include "p2p/channel_view.h"

namespace rondo::sim {
namespace {

/// A device's channels as they are; the simulation puts them together to fewer, wider ones.
struct Cut {
  int channels;
  uint64_t chunk;
};

/// Of what Rehearsal::planned() plans.
constexpr uint64_t kPlannedElement = 4;

Cut cutOf(const Rehearsal& on, const algo::Geometry& g) {
  if (!on.onDevice() || on.settings().lanes > 0 || on.settings().chunk > 0) {
    return {g.lanes, g.chunk};
  }
  return {kRingLanes, g.chunk * static_cast<uint64_t>(g.lanes) / kRingLanes};
}

}  // namespace

const char* protocolOf(const Rehearsal& on, const Algorithm& algorithm) {
  if (on.onDevice()) return std::strstr(algorithm.header, "window") != nullptr ? "LL" : "Simple";
  return on.graph().hosts().size() > 1 ? "network" : "memory";
}

uint64_t stepsOfRank(const Rehearsal& on, const Algorithm& algorithm,
                     const algo::Geometry& geometry, int root) {
  const Job job = on.jobOf(algorithm, geometry, root);
  uint64_t steps = 0;
  for (const LaneProgram& lane : job.plan(0).lanes) {
    steps += lane.full.size() * geometry.fullPeriods() + lane.last.size();
  }
  return steps;
}

std::string choicesHead() {
  return format("%-14s %13s %-10s %-8s %8s %9s %9s %13s %10s\n", "collective", "bytes", "algorithm",
                "protocol", "channels", "chunk", "steps", "us", "bus GB/s");
}

std::string choiceLine(Rehearsal& on, const CallShape& call) {
  const Outcome& best = on.best(call);
  const DeviceChoice planned = on.planned(*best.algorithm, best.geometry.count);
  const bool isPlanned = planned.algorithm != nullptr;
  const Cut cut = isPlanned ? Cut{planned.geometry.lanes, planned.geometry.chunk * kPlannedElement}
                            : cutOf(on, best.geometry);
  algo::Geometry geometry = planned.geometry;
  if (!isPlanned) {
    geometry = best.geometry;
    geometry.lanes = cut.channels;
    geometry.chunk = cut.chunk;
  }
  const uint64_t bytes = call.collective == Collective::Barrier ? 0 : call.bytes;
  const Time time = best.result.picoseconds;
  std::string how;
  if (best.fewerHosts > 0) {
    how = format("  drawn on from %d and %d hosts: too long to be simulated", best.fewerHosts / 2,
                 best.fewerHosts);
  } else if (best.predicted) {
    how = "  as the planner predicts: too long to be simulated";
  } else if (!best.result.seenFull) {
    how = "  its pipeline was not seen full";
  }
  return format(
      "%-14s %13llu %-10s %-8s %8d %9llu %9llu %13.2f %10.2f%s\n", collectiveName(call.collective),
      static_cast<unsigned long long>(bytes), best.algorithm->name,
      isPlanned ? protocolName(planned.protocol) : protocolOf(on, *best.algorithm), cut.channels,
      static_cast<unsigned long long>(cut.chunk),
      static_cast<unsigned long long>(stepsOfRank(on, *best.algorithm, geometry, call.root)),
      static_cast<double>(time) * 1e-6,
      busBandwidth(call.collective, on.partRanks(), bytes, time) * 1e-9, how.c_str());
}

}  // namespace rondo::sim
