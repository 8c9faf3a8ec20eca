// The first cost model: adds up a plan's steps, and the flags it waits for that no other lane's
// work covers.

#include <algorithm>

#include "coll/planner.h"

namespace rondo {
namespace {

struct ProgramCost {
  uint64_t busy = 0;  ///< Work of this rank.
  uint64_t hops = 0;  ///< Waits that follow a message of its own: the answer is a flag's way there
                      ///< and back... once.
};

ProgramCost costOf(const std::vector<Step>& steps, size_t elementBytes, const HostCosts& costs) {
  ProgramCost total;
  bool sent = true;  // the first wait is for peers that start when this rank does
  for (const Step& step : steps) {
    const uint64_t bytes = step.count * elementBytes;
    const auto per = [bytes](uint64_t perKiB) { return bytes * perKiB / 1024; };
    const bool receives = (step.bits & algo::kRecv) != 0, sends = (step.bits & algo::kSend) != 0;
    switch (step.kind) {
      case StepKind::Wait:
        total.hops += sent ? 1 : 0;
        sent = false;
        continue;
      case StepKind::Signal:
        continue;
      case StepKind::Barrier:
        total.hops += 1;
        break;
      case StepKind::Put:
        total.busy += per(costs.copyPerKiB);
        sent = true;
        break;
      case StepKind::Fetch:
        total.busy += per(costs.copyPerKiB);
        break;
      case StepKind::Reduce:
        total.busy += per(costs.reducePerKiB) * static_cast<uint64_t>(step.from2 - step.from) / 2;
        sent = sent || sends;
        break;
      case StepKind::Move: {
        const bool reduces = receives && (step.bits & (algo::kSrc | algo::kOwn)) != 0;
        total.busy += per(reduces ? costs.reducePerKiB : costs.copyPerKiB);
        if (step.from2 >= 0) total.busy += per(costs.reducePerKiB) / 2;  // one operand more
        if (receives && sent) total.hops += 1;
        if (receives) sent = false;
        if (sends) sent = true;
        break;
      }
    }
    total.busy += costs.step;
  }
  return total;
}

}  // namespace

uint64_t predict(const Plan& plan, size_t elementBytes, const CommFacts& facts) {
  const HostCosts& costs = facts.costs;
  const int n = plan.group.size;
  const uint64_t share = (static_cast<uint64_t>(n) + facts.cpus - 1) / facts.cpus;
  // Waiting on a crowded core means waiting for the others' turns.
  const uint64_t hop = costs.hop + (share > 1 ? costs.yield * (share - 1) : 0);

  uint64_t busy = 0, exposed = 0;
  const auto add = [&](bool full, uint64_t times) {
    uint64_t sum = 0, longestBusy = 0, longestWait = 0;
    for (const LaneProgram& lane : plan.lanes) {
      const ProgramCost cost = costOf(full ? lane.full : lane.last, elementBytes, costs);
      sum += cost.busy;
      longestBusy = std::max(longestBusy, cost.busy);
      longestWait = std::max(longestWait, cost.hops * hop);
    }
    // While a lane waits, the others work.
    const uint64_t covered = sum - longestBusy;
    busy += times * sum;
    exposed += times * (longestWait > covered ? longestWait - covered : 0);
  };
  add(true, plan.geometry.fullPeriods());
  add(false, 1);
  const uint64_t fill = static_cast<uint64_t>(plan.algorithm->fill(n)) *
                        (hop + std::min(plan.geometry.chunk, plan.geometry.count) * elementBytes *
                                   costs.copyPerKiB / 1024);
  return busy * share + exposed + fill;
}

}  // namespace rondo
