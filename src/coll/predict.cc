// The first cost model: adds up a plan's steps, and the flags it waits for that no other lane's
// work covers.

#include <algorithm>

#include "coll/planner.h"

namespace rondo {
namespace {

/// The part of a flag's way that is left where periods repeat: the peer is ahead as often as
/// behind.
constexpr uint64_t kSteadyPart = 16;

struct ProgramCost {
  uint64_t busy = 0;  ///< Work of this rank.
  uint64_t hops = 0;  ///< Waits that follow a message of its own: the answer is a flag's way there
                      ///< and back... once.
  uint64_t farHops = 0;  ///< Those of them that wait for another group.
};

/// Whether the Runner writes the results past the caches (Communicator::streamBytes_).
bool isPastCaches(const Plan& plan, size_t elementBytes, const CommFacts& facts) {
  const auto ranks =
      static_cast<uint64_t>(facts.localRanks > 0 ? facts.localRanks : plan.group.size);
  const uint64_t slots =
      hasSlots(plan.algorithm->collective) ? static_cast<uint64_t>(plan.group.size) : 1;
  const uint64_t l3 = facts.l3Bytes != 0 ? facts.l3Bytes : kUsualL3;
  return plan.geometry.count * elementBytes * slots >= l3 / (2 * ranks);
}

/// Adds up one program of one rank.
class Adder {
 public:
  Adder(const Plan& plan, size_t elementBytes, const CommFacts& facts)
      : rank_(plan.group.rank),
        n_(plan.group.size),
        elementBytes_(elementBytes),
        facts_(facts),
        pastPerKiB_(isPastCaches(plan, elementBytes, facts) ? facts.costs.pastPerKiB : 0) {}

  ProgramCost costOf(const std::vector<Step>& steps) {
    total_ = {};
    sent_ = true;  // the first wait is for peers that start when this rank does
    for (const Step& step : steps) add(step);
    return total_;
  }

 private:
  static uint64_t per(uint64_t bytes, uint64_t perKiB) { return bytes * perKiB / 1024; }

  void waits(bool far) {
    total_.hops += sent_ ? 1 : 0;
    total_.farHops += sent_ && far ? 1 : 0;
    sent_ = false;
  }
  bool far(int rank) const { return rank >= 0 && facts_.groups.far(rank_, rank); }

  /// `messages` that come from another group.
  void takeFar(int messages, uint64_t bytes) {
    total_.busy += static_cast<uint64_t>(messages) *
                   (facts_.costs.farMessage + per(bytes, facts_.costs.farPerKiB));
  }
  /// Of one that goes to `to`, or to everyone: a network takes it once for each reader.
  void sendFar(int to, uint64_t bytes) {
    const int readers = to == algo::kEveryone ? facts_.groups.farOf(rank_, 0, n_) : far(to) ? 1 : 0;
    total_.busy += static_cast<uint64_t>(readers) *
                   (facts_.costs.farSend + per(bytes, facts_.costs.farSendPerKiB));
  }
  void take(int from, uint64_t bytes) {
    if (from < 0) return;
    total_.busy += facts_.costs.message;
    if (far(from)) takeFar(1, bytes);
  }

  void add(const Step& step) {
    const HostCosts& costs = facts_.costs;
    const uint64_t bytes = step.count * elementBytes_;
    const bool sends = (step.bits & algo::kSend) != 0;
    switch (step.kind) {
      case StepKind::Wait:
        return waits(far(step.from));
      case StepKind::Signal:
        return;
      case StepKind::Barrier:
        total_.hops += 1;
        total_.farHops += facts_.groups.farOf(rank_, 0, n_) > 0 ? 1 : 0;
        total_.busy += costs.message * static_cast<uint64_t>(n_ - 1);
        takeFar(facts_.groups.farOf(rank_, 0, n_), 0);
        break;
      case StepKind::Put:
        total_.busy += per(bytes, costs.copyPerKiB);
        sent_ = true;
        break;
      case StepKind::Fetch:
        total_.busy += per(bytes, costs.copyPerKiB);
        take(step.from, bytes);
        break;
      case StepKind::Reduce:
        total_.busy += (per(bytes, costs.reducePerKiB) + costs.message) * received(step);
        if (sends) total_.busy += per(bytes, costs.handOnPerKiB + pastPerKiB_);
        takeFar(facts_.groups.farOf(rank_, step.from, step.from2), bytes);
        sent_ = sent_ || sends;
        break;
      case StepKind::Move:
        addMove(step, bytes);
        break;
    }
    if (sends || step.kind == StepKind::Barrier) {
      sendFar(step.kind == StepKind::Barrier ? algo::kEveryone : step.to, bytes);
    }
    total_.busy += costs.step;
  }

  /// Operands of a Reduce step that are not this rank's own.
  uint64_t received(const Step& step) const {
    const bool own = step.from <= rank_ && rank_ < step.from2;
    return static_cast<uint64_t>(step.from2 - step.from - (own ? 1 : 0));
  }

  void addMove(const Step& step, uint64_t bytes) {
    const HostCosts& costs = facts_.costs;
    const bool receives = (step.bits & algo::kRecv) != 0, sends = (step.bits & algo::kSend) != 0;
    const bool reduces = receives && (step.bits & (algo::kSrc | algo::kOwn)) != 0;
    const bool again = !receives && (step.bits & algo::kOwn) != 0;  // a result of before
    total_.busy += per(bytes, reduces ? costs.reducePerKiB
                              : again ? costs.againPerKiB + pastPerKiB_
                                      : costs.copyPerKiB);
    if (step.from2 >= 0) total_.busy += per(bytes, costs.reducePerKiB);
    if (receives && sends) total_.busy += per(bytes, costs.handOnPerKiB + pastPerKiB_);
    // Of the caller's data one copy is sent and one stays.
    if (!receives && sends && (step.bits & algo::kDst) != 0) {
      total_.busy += per(bytes, costs.copyPerKiB);
    }
    take(step.from, bytes);
    take(step.from2, bytes);
    if (receives) waits(far(step.from) || far(step.from2));
    if (sends) sent_ = true;
  }

  int rank_, n_;
  size_t elementBytes_;
  const CommFacts& facts_;
  uint64_t pastPerKiB_;
  ProgramCost total_;
  bool sent_ = true;
};

/// Bytes of the caller's buffers that this rank reads and writes.
uint64_t touchedBytes(const Plan& plan, size_t elementBytes) {
  const bool root = plan.group.rank == plan.group.root;
  const auto n = static_cast<uint64_t>(plan.group.size);
  uint64_t slots = 0;
  switch (plan.algorithm->collective) {
    case Collective::AllReduce:
    case Collective::Scan:
    case Collective::Exscan:
      slots = 2;
      break;
    case Collective::Broadcast:
      slots = 1;
      break;
    case Collective::Reduce:
      slots = root ? 2 : 1;
      break;
    case Collective::AllGather:
    case Collective::ReduceScatter:
      slots = n + 1;
      break;
    case Collective::AllToAll:
      slots = 2 * n;
      break;
    case Collective::Gather:
    case Collective::Scatter:
      slots = root ? n + 1 : 1;
      break;
    case Collective::Barrier:
      break;
  }
  return slots * plan.geometry.count * elementBytes;
}

}  // namespace

uint64_t predict(const Plan& plan, size_t elementBytes, const CommFacts& facts) {
  const HostCosts& costs = facts.costs;
  const int n = plan.group.size;
  const auto crowd = static_cast<uint64_t>(facts.localRanks > 0 ? facts.localRanks : n);
  const uint64_t share = (crowd + facts.cpus - 1) / facts.cpus;
  // Waiting on a crowded core means waiting for the others' turns.
  const uint64_t turns = share > 1 ? costs.yield * (share - 1) : 0;

  Adder adder(plan, elementBytes, facts);
  uint64_t busy = 0, exposed = 0, hops = 0, farHops = 0;
  const auto add = [&](bool full, uint64_t times) {
    uint64_t sum = 0, longestBusy = 0, mostHops = 0, mostFar = 0;
    for (const LaneProgram& lane : plan.lanes) {
      const ProgramCost cost = adder.costOf(full ? lane.full : lane.last);
      sum += cost.busy;
      longestBusy = std::max(longestBusy, cost.busy);
      mostHops = std::max(mostHops, cost.hops);
      mostFar = std::max(mostFar, cost.farHops);
    }
    // While a lane waits, the others work.
    const uint64_t covered = sum - longestBusy;
    const uint64_t longestWait =
        mostHops * (costs.hop / kSteadyPart + turns) + mostFar * (costs.farHop / kSteadyPart);
    busy += times * sum;
    exposed += times * (longestWait > covered ? longestWait - covered : 0);
    if (times > 0) hops = std::max(hops, mostHops);
    if (times > 0) farHops = std::max(farHops, mostFar);
  };
  add(true, plan.geometry.fullPeriods());
  add(false, 1);
  // Of one period, whichever it is.
  exposed += hops * (costs.hop - costs.hop / kSteadyPart) +
             farHops * (costs.farHop - costs.farHop / kSteadyPart);
  const uint64_t fill =
      static_cast<uint64_t>(fillOf(*plan.algorithm, n, facts.groups)) *
      (costs.hop + (facts.groups.count() > 1 ? costs.farHop : 0) + turns +
       std::min(plan.geometry.chunk, plan.geometry.count) * elementBytes * costs.copyPerKiB / 1024);
  const uint64_t touched = touchedBytes(plan, elementBytes);
  busy += touched / 1024 * costs.coldPerKiB(touched);
  const uint64_t lanes = costs.lane * static_cast<uint64_t>(plan.geometry.lanes - 1);
  return busy * share + exposed + fill + lanes;
}

}  // namespace rondo
