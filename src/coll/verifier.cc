#include "coll/verifier.h"

#include "base/error.h"
#include "coll/verify/machine.h"

namespace rondo {
namespace {

using verify::Job;
using verify::Machine;
using verify::Program;
using verify::Round;

/// The periods that stand for all of a call: the first two, the last full one or two (so that the
/// number stays odd or even, as it is in the call), and the shorter last one. This is enough:
///  - Full periods have the same steps, and balanceFindings says that each program by itself reads
///    all it is sent. So message i of one period meets read i of the same period in every period,
///    and the values of one full period are those of all.
///  - A step waits for steps of the same period or of earlier ones, never of later ones (program
///    order, messages, and freed slots all point forward). A circle of waits would have to come
///    back to its period, so it lies inside one period, and all full periods wait alike.
///  - A place of a window is written again two active rounds later. Any three rounds that can
///  follow
///    each other in the call or across calls also do here. An order that holds here across full
///    periods passes from one of them to the next by some rank's program order; a further full
///    period put in there only lengthens it.
std::vector<Round> roundsOf(const std::vector<Plan>& plans, int lane, int calls,
                            bool allPeriods = false) {
  const Count full = plans[0].geometry.fullPeriods();
  std::vector<Count> periods;
  for (Count p = 0; p < full; ++p) {
    if (p == 2 && full > 4 && !allPeriods) p = full - (full % 2 == 0 ? 2 : 1);
    periods.push_back(p);
  }
  const auto active = [&](Program program) {
    for (const Plan& plan : plans) {
      if (!verify::stepsOf(plan, lane, program).empty()) return true;
    }
    return false;
  };
  // Executors count, for a place's parity, only the rounds in which the lane has something to do.
  const bool inFull = active(Program::Full), inLast = active(Program::Last);
  std::vector<Round> rounds;
  for (int call = 0; call < calls; ++call) {
    for (const Count p : periods) {
      if (inFull) rounds.push_back(Round{call, p, Program::Full});
    }
    if (inLast) rounds.push_back(Round{call, full, Program::Last});
  }
  return rounds;
}

Findings checkForm(const std::vector<Plan>& plans) {
  Findings out = verify::formFindings(plans);
  if (!out.empty()) return out;
  out = verify::memoryFindings(plans);
  const Findings balance = verify::balanceFindings(plans);
  out.insert(out.end(), balance.begin(), balance.end());
  return out;
}

/// Runs every lane by itself: lanes share nothing but src and dst, which memoryFindings has looked
/// at. What one lane's end tells another is left out, so that orders are shown without it.
Findings runLanes(const std::vector<Plan>& plans, Staging staging, const VerifyOptions& options) {
  Findings out;
  const bool strict = staging == Staging::Strict;
  const bool barrier = plans[0].algorithm->collective == Collective::Barrier;
  for (int lane = 0; lane < plans[0].geometry.lanes; ++lane) {
    auto rounds = roundsOf(plans, lane, strict ? 3 : 2, options.allPeriods);
    if (barrier && rounds.empty()) rounds.push_back(Round{0, 0, Program::Last});
    Machine machine(Job{&plans, lane, staging, options.depth, rounds, strict || barrier});
    Findings found = machine.run();
    if (found.empty() && strict) found = machine.races();
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

}  // namespace

Findings verifyStaging(const std::vector<Plan>& plans, Staging staging,
                       const VerifyOptions& options) {
  Findings out = checkForm(plans);
  return out.empty() ? runLanes(plans, staging, options) : out;
}

Findings verifyPlans(const std::vector<Plan>& plans, const VerifyOptions& options) {
  Findings out = verifyStaging(plans, Staging::Credits, options);
  // Slots of different lengths are the host's: there are credits.
  const bool strict = plans[0].algorithm->device && !plans[0].algorithm->deviceMeets;
  if (out.empty() && strict && plans[0].ended.empty()) {
    out = runLanes(plans, Staging::Strict, options);
  }
  return out;
}

namespace {

/// Runs one call, lane by lane, and asks the machine about each.
Findings afterOneCall(const std::vector<Plan>& plans, Findings (Machine::*ask)() const) {
  Findings out = checkForm(plans);
  for (int lane = 0; out.empty() && lane < plans[0].geometry.lanes; ++lane) {
    Machine machine(Job{&plans, lane, Staging::Credits, 2, roundsOf(plans, lane, 1), true});
    out = machine.run();
    if (out.empty()) out = (machine.*ask)();
  }
  return out;
}

}  // namespace

Findings zeroCopyInPlaceFindings(const std::vector<Plan>& plans) {
  return afterOneCall(plans, &Machine::overwrites);
}

Findings straightFindings(const std::vector<Plan>& plans) {
  return afterOneCall(plans, &Machine::straights);
}

bool zeroCopyInPlaceSafe(const Algorithm& algorithm, int ranks, const RankGroups& groups) {
  const Count blocks = static_cast<Count>(blocksOf(algorithm, ranks, groups));
  // A whole period, and shorter ones in which the last blocks are short or empty.
  for (const Count count : {2 * blocks, 2 * blocks - 1, blocks, blocks / 2 + 1, Count{1}}) {
    const algo::Geometry geometry{count, 1, 0, 2, 1};
    for (const int root : {0, ranks - 1}) {
      const auto plans = recordAllRanks(algorithm, ranks, root, geometry, groups);
      if (!zeroCopyInPlaceFindings(plans).empty()) return false;
    }
  }
  return true;
}

std::vector<Plan> recordAllRanks(const Algorithm& algorithm, int ranks, int root,
                                 algo::Geometry geometry, const RankGroups& groups) {
  geometry.blocks = blocksOf(algorithm, ranks, groups);
  std::vector<Plan> plans;
  plans.reserve(static_cast<size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const algo::Group group{rank, ranks, root, groups.placement()};
    plans.push_back(recordPlan(algorithm, group, geometry));
  }
  return plans;
}

std::vector<Plan> withoutSlots(std::vector<Plan> plans, const std::vector<bool>& ended) {
  for (Plan& plan : plans) {
    plan.ended = ended;
    const bool crossed = plan.algorithm->collective == Collective::AllToAll;
    const auto gone = [&](const Step& step) {
      const bool gives = (step.bits & algo::kSrc) != 0 || step.kind == StepKind::Signal;
      return ended[static_cast<size_t>(crossed && gives ? plan.group.rank : step.slot)];
    };
    for (LaneProgram& lane : plan.lanes) {
      for (auto* steps : {&lane.full, &lane.last}) std::erase_if(*steps, gone);
    }
  }
  return plans;
}

namespace {

/// Runs the first period of lane 0, and asks the machine what it saw.
template <class Ask>
auto afterOnePeriod(const std::vector<Plan>& plans, const char* what, Ask ask) {
  Findings found = checkForm(plans);
  if (found.empty()) {
    auto rounds = roundsOf(plans, 0, 1);
    if (rounds.size() > 1) rounds.erase(rounds.begin() + 1, rounds.end());
    Machine machine(Job{&plans, 0, Staging::Credits, 2, rounds, false});
    found = machine.run();
    if (found.empty()) return ask(machine);
  }
  throw Error(rondoInternalError,
              format("cannot count the %s of unsound plans: %s", what, found[0].c_str()));
}

}  // namespace

int countHops(const std::vector<Plan>& plans) {
  return afterOnePeriod(plans, "hops", [](const Machine& machine) { return machine.hops(); });
}

Roundings countRoundings(const std::vector<Plan>& plans) {
  return afterOnePeriod(plans, "roundings",
                        [](const Machine& machine) { return machine.roundings(); });
}

}  // namespace rondo
