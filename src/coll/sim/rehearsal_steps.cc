// How long a simulation itself takes, in steps, and how many periods it has.

#include <algorithm>
#include <set>

#include "coll/sim/rehearsal.h"
#include "coll/sim/shorten.h"

namespace rondo::sim {
namespace {

/// That many take a tenth of a second.
constexpr double kFewSteps = 1e5;
/// What takes as long as a step does, 1.5 us (2026-11-30, on two shared cores): 200 steps that are
/// recorded but not simulated, and 250 nodes that are looked at for a way between hosts.
constexpr double kRecordedStep = 1.0 / 200, kVisitedNode = 1.0 / 250;
/// Of what a rank sends to several others one after the other, all flows are under way at the same
/// time, and share links anew whenever one ends: on host memory, where ranks are not in step, a
/// message takes a step more for each 50 of them (4 MiB on 64 ranks of 4 hosts by twoshot, 4 s;
/// from all to all of 128 on 8 hosts, 47 s). Flows of a put to everyone end together: a step more
/// for each 16 ranks (4 MiB on 128 and 256 ranks by oneshot, 6 and 45 s).
constexpr double kFlowsOfStep = 50, kRanksOfStep = 16;
/// Shorter messages are gone before they pile up.
constexpr double kPilesUp = 128;

bool sends(const Step& step) {
  return (step.bits & algo::kSend) != 0 || step.kind == StepKind::Signal;
}
bool toAll(const Step& step) { return sends(step) && step.to < 0; }

/// Messages that a step sends or reads, but one at least.
double messagesOf(const Step& step, int ranks) {
  const bool all = step.kind == StepKind::Reduce || toAll(step);
  return all ? std::max(ranks - 1, 1) : 1;
}

/// Ranks that make a call together.
struct Crowd {
  bool device;
  int partRanks;
  int programs;  ///< Lanes of all ranks.
  const RankGroups& groups;

  void addFar(const std::vector<Step>& program, int rank, std::set<int>* peers) const {
    for (const Step& step : program) {
      for (int to = 0; toAll(step) && to < partRanks; ++to) {
        if (groups.far(rank, to)) peers->insert(to);
      }
      if (sends(step) && step.to >= 0 && groups.far(rank, step.to)) peers->insert(step.to);
    }
  }

  /// In simulated steps, of a rank's program.
  double workOf(const std::vector<Step>& program, int rank) const {
    double work = 0, piled = 0;
    size_t most = 0;
    std::set<int> peers;  // on other hosts, to whom it sends one after the other
    for (const Step& step : program) {
      work += messagesOf(step, partRanks) * (toAll(step) ? 1 + partRanks / kRanksOfStep : 1);
      if (step.from >= 0 || step.kind == StepKind::Wait)
        peers.clear();
      else if (sends(step) && step.to >= 0 && groups.far(rank, step.to))
        peers.insert(step.to);
      if (peers.size() < 2) continue;
      most = std::max(most, peers.size());
      piled += std::min(1.0, static_cast<double>(step.count) / kPilesUp);
    }
    return work + (device ? 0 : piled * static_cast<double>(most) * programs / kFlowsOfStep);
  }
};

}  // namespace

/// Whether some ranks' rows of steps are alike, so that all may be.
bool Rehearsal::alike(const Algorithm& algorithm, const algo::Geometry& geometry, int root) const {
  if (settings_.repeats == 0) return false;
  const auto shapeOf = [&](int rank) {
    std::vector<std::vector<RowShape>> shapes;
    const algo::Group group{rank, partRanks_, root, groups_[0].placement()};
    for (const LaneProgram& lane : recordPlan(algorithm, group, geometry).lanes) {
      shapes.push_back(shorten(lane.full, 0).shape);
      shapes.push_back(shorten(lane.last, 0).shape);
    }
    return shapes;
  };
  const auto first = shapeOf(0);
  for (const int rank : {1, partRanks_ / 2, partRanks_ - 1}) {
    if (rank < partRanks_ && shapeOf(rank) != first) return false;
  }
  return true;
}

Count Rehearsal::keptPeriods(const Algorithm& algorithm, const algo::Geometry& geometry,
                             int root) const {
  if (!settings_.wholeIfKept || settings_.periods == 0) return settings_.periods;
  const double whole = stepsOfPeriods(algorithm, geometry, root, 0, true);
  return whole <= settings_.mostKept ? 0 : settings_.periods;
}

Count Rehearsal::enoughPeriods(const Algorithm& algorithm, const algo::Geometry& geometry,
                               int root) const {
  if (!settings_.wholeIfKept || settings_.periods == 0) return settings_.periods;
  const double usual = stepsOfPeriods(algorithm, geometry, root, settings_.periods, false);
  return settings_.periods *
         std::max<Count>(1, static_cast<Count>(kFewSteps / std::max(usual, 1.0)));
}

double Rehearsal::stepsOf(const Algorithm& algorithm, const algo::Geometry& geometry, int root,
                          bool record) const {
  const Count periods =
      record ? keptPeriods(algorithm, geometry, root) : static_cast<Count>(settings_.periods);
  return stepsOfPeriods(algorithm, geometry, root, periods, record);
}

/// `of` says what a lane's program comes to.
template <class Of>
double Rehearsal::sumOf(const Algorithm& algorithm, const algo::Geometry& geometry, int root,
                        Count most, const Of& of) const {
  double full = 0, last = 0;
  const algo::Group group{std::min(1, partRanks_ - 1), partRanks_, root, groups_[0].placement()};
  for (const LaneProgram& lane : recordPlan(algorithm, group, geometry).lanes) {
    full += of(lane.full);
    last += of(lane.last);
  }
  const Count all = geometry.fullPeriods();
  const Count periods = most == 0 ? all : std::min(most, all);
  return (full * static_cast<double>(periods) + last) * ranks();
}

double Rehearsal::stepsOfPeriods(const Algorithm& algorithm, const algo::Geometry& geometry,
                                 int root, Count most, bool record) const {
  const Count repeats = !record && alike(algorithm, geometry, root) ? settings_.repeats : 0;
  return sumOf(algorithm, geometry, root, most, [&](const std::vector<Step>& program) {
    double steps = 0;
    for (const Step& step : shorten(program, repeats).steps) steps += messagesOf(step, partRanks_);
    return steps;
  });
}

double Rehearsal::workOf(const Algorithm& algorithm, const algo::Geometry& geometry,
                         int root) const {
  const Crowd crowd{device_, partRanks_, ranks() * geometry.lanes, groups_[0]};
  const Count repeats = alike(algorithm, geometry, root) ? settings_.repeats : 0;
  const int rank = std::min(1, partRanks_ - 1);
  const double steps =
      sumOf(algorithm, geometry, root, settings_.periods, [&](const std::vector<Step>& program) {
        return crowd.workOf(shorten(program, repeats).steps, rank);
      });
  // Algorithms go round all blocks, also where a short call leaves most of them empty.
  const double rounds = 2.0 * geometry.blocks * geometry.lanes;
  double recorded = 0;
  std::set<int> far;
  const algo::Group group{rank, partRanks_, root, groups_[0].placement()};
  for (const LaneProgram& lane : recordPlan(algorithm, group, geometry).lanes) {
    recorded += static_cast<double>(lane.full.size() + lane.last.size());
    for (const auto* program : {&lane.full, &lane.last}) crowd.addFar(*program, rank, &far);
  }
  const double ways = static_cast<double>(far.size()) * static_cast<double>(graph_.nodes().size());
  return steps + (std::max(recorded, rounds) * kRecordedStep + ways * kVisitedNode) * ranks();
}

}  // namespace rondo::sim
