// The cost model: goes through a few ranks' plans by a clock that only this rank has, adding up
// what steps cost and the flags' ways that no work of the rank's own covers.

#include <algorithm>
#include <utility>

#include "coll/forecast.h"
#include "coll/link_bound.h"
#include "coll/planner.h"

namespace rondo {
namespace {

/// The part of a flag's way that is left where periods repeat: the peer is ahead as often as
/// behind.
constexpr uint64_t kSteadyPart = 16;

/// Of two plans whose slowest rank takes as long, that is better which lets the others go earlier
/// (a scan along the ranks, against an exchange): so much of the ranks' mean counts too.
constexpr uint64_t kEarlyPart = 256;

/// Of two plans that fill the links, that is better which does less besides: so much of it counts.
constexpr uint64_t kBesidesPart = 256;

/// Whether the Runner writes the results past the caches (Communicator::streamBytes_).
bool isPastCaches(const Plan& plan, size_t elementBytes, const CommFacts& facts) {
  const auto ranks =
      static_cast<uint64_t>(facts.localRanks > 0 ? facts.localRanks : plan.group.size);
  const uint64_t slots =
      hasSlots(plan.algorithm->collective) ? static_cast<uint64_t>(plan.group.size) : 1;
  const uint64_t l3 = facts.l3Bytes != 0 ? facts.l3Bytes : kUsualL3;
  return plan.geometry.count * elementBytes * slots >= l3 / (2 * ranks);
}

/// What steps cost this rank, apart from waiting.
class Prices {
 public:
  Prices(const Plan& plan, size_t elementBytes, const CommFacts& facts)
      : rank_(plan.group.rank),
        n_(plan.group.size),
        elementBytes_(elementBytes),
        facts_(facts),
        pastPerKiB_(isPastCaches(plan, elementBytes, facts) ? facts.costs.pastPerKiB : 0) {}

  bool far(int rank) const { return rank >= 0 && facts_.groups.far(rank_, rank); }
  bool someFar() const { return facts_.groups.farOf(rank_, 0, n_) > 0; }

  /// Of a step: until what it sends is posted, and after that.
  struct Price {
    uint64_t before = 0, after = 0;
  };
  Price of(const Step& step) const {
    const HostCosts& costs = facts_.costs;
    const uint64_t bytes = elementsOf(step) * elementBytes_;
    const bool sends = (step.bits & algo::kSend) != 0;
    Price price{costs.step, 0};
    switch (step.kind) {
      case StepKind::Wait:
      case StepKind::Signal:
        return {};
      case StepKind::Barrier:
        price.before += sentFar(algo::kEveryone, bytes);
        price.after = costs.message * static_cast<uint64_t>(n_ - 1) + takenFar(0, n_, 0);
        return price;
      case StepKind::Put:
        price.before += per(bytes, costs.copyPerKiB);
        break;
      case StepKind::Fetch:
        price.before += per(bytes, costs.copyPerKiB) + taken(step.from, bytes);
        break;
      case StepKind::Reduce:
        // A prefix that is this rank's own alone is copied.
        if (received(step) == 0 && step.bits != 0) price.before += per(bytes, costs.copyPerKiB);
        price.before += (per(bytes, costs.reducePerKiB) + costs.message) * received(step) +
                        takenFar(step.from, step.from2, bytes);
        if (sends) price.before += per(bytes, costs.handOnPerKiB + pastPerKiB_);
        break;
      case StepKind::Move:
        addMove(step, bytes, &price);
        break;
    }
    if (sends) price.before += sentFar(step.to, bytes);
    return price;
  }

 private:
  static uint64_t per(uint64_t bytes, uint64_t perKiB) { return bytes * perKiB / 1024; }

  /// What messages of ranks [lo, hi) cost more: of those in another package, and of the others in
  /// another group.
  uint64_t takenFar(int lo, int hi, uint64_t bytes) const {
    uint64_t apart = 0, far = 0;
    if (facts_.links.package.empty()) {
      far = static_cast<uint64_t>(facts_.groups.farOf(rank_, lo, hi));
    } else {
      for (int r = lo; r < hi; ++r) {
        const bool isApart = facts_.links.apart(rank_, r);
        apart += isApart ? 1 : 0;
        far += !isApart && facts_.groups.far(rank_, r) ? 1 : 0;
      }
    }
    return far * (facts_.costs.farMessage + per(bytes, facts_.costs.farPerKiB)) +
           apart * (facts_.links.apartMessage + per(bytes, facts_.links.apartPerKiB));
  }
  /// Of one that goes to `to`, or to everyone: a network takes it once for each reader.
  uint64_t sentFar(int to, uint64_t bytes) const {
    const int readers = to == algo::kEveryone ? facts_.groups.farOf(rank_, 0, n_) : far(to) ? 1 : 0;
    return static_cast<uint64_t>(readers) *
           (facts_.costs.farSend + per(bytes, facts_.costs.farSendPerKiB));
  }
  uint64_t taken(int from, uint64_t bytes) const {
    if (from < 0) return 0;
    return facts_.costs.message + takenFar(from, from + 1, bytes);
  }

  /// Operands of a Reduce step that are not this rank's own.
  uint64_t received(const Step& step) const {
    const bool own = step.from <= rank_ && rank_ < step.from2;
    return static_cast<uint64_t>(step.from2 - step.from - (own ? 1 : 0));
  }

  void addMove(const Step& step, uint64_t bytes, Price* price) const {
    const HostCosts& costs = facts_.costs;
    const bool receives = (step.bits & algo::kRecv) != 0, sends = (step.bits & algo::kSend) != 0;
    const bool reduces = receives && (step.bits & (algo::kSrc | algo::kOwn)) != 0;
    const bool again = !receives && (step.bits & algo::kOwn) != 0;  // a result of before
    price->before += taken(step.from, bytes) + taken(step.from2, bytes);
    price->before += per(bytes, reduces ? costs.reducePerKiB
                                : again ? costs.againPerKiB + pastPerKiB_
                                        : costs.copyPerKiB);
    if (step.from2 >= 0) price->before += per(bytes, costs.reducePerKiB);
    if (!sends) return;
    // What is not reduced is sent first, and then kept.
    if (receives && reduces) price->before += per(bytes, costs.handOnPerKiB + pastPerKiB_);
    if (receives && !reduces) price->after = per(bytes, costs.handOnPerKiB + pastPerKiB_);
    // Of the caller's data one copy is sent and one stays.
    if (!receives && (step.bits & algo::kDst) != 0) price->after = per(bytes, costs.copyPerKiB);
  }

  int rank_, n_;
  size_t elementBytes_;
  const CommFacts& facts_;
  uint64_t pastPerKiB_;
};

/// What a flag's way to this rank takes.
struct Ways {
  uint64_t near = 0, far = 0;
};

/// One period of a rank.
struct Walk {
  uint64_t busy = 0;
  uint64_t idle = 0;
  bool starts = false;     ///< It sends before it waits.
  uint64_t firstPost = 0;  ///< When it sends the first time, if it does.
  uint64_t lastPost = 0;
  bool waited = false;
  uint64_t beforeWait = 0;  ///< Of `busy`, what came before the first wait.
};

/// Goes through a period as the Runner does: lane by lane, each as far as it comes, and where all
/// wait until the first of them can go on. The peers are taken to be as far as this rank is: its
/// k-th message comes when it has sent its own k-th, and a flag's way later; so what it does
/// meanwhile hides that way. To a rank that sends nothing before it waits, messages come from ranks
/// that begin, `lead` after their begin.
class Walker {
 public:
  Walker(const Prices& prices, int lanes) : prices_(prices), lanes_(static_cast<size_t>(lanes)) {}

  Walk walk(const std::vector<LaneProgram>& lanes, bool full, const Ways& ways, uint64_t lead) {
    out_ = {};
    ways_ = ways;
    lead_ = lead;
    for (size_t l = 0; l < lanes.size(); ++l) {
      Lane& lane = lanes_[l];
      lane.steps = full ? &lanes[l].full : &lanes[l].last;
      lane.next = lane.waits = 0;
      lane.entered = false;
      lane.posts.clear();
    }
    for (bool more = true; more;) {
      more = false;
      uint64_t soonest = UINT64_MAX;
      for (Lane& lane : lanes_) {
        const uint64_t comes = advance(lane);
        more |= comes != kEnded;
        soonest = std::min(soonest, comes);
      }
      if (!more || soonest <= now()) continue;
      out_.idle += soonest - now();
    }
    return out_;
  }

 private:
  static constexpr uint64_t kEnded = UINT64_MAX;
  struct Lane {
    const std::vector<Step>* steps = nullptr;
    size_t next = 0, waits = 0;
    bool entered = false;         // a Barrier: its own flags are out
    std::vector<uint64_t> posts;  // when
  };
  uint64_t now() const { return out_.busy + out_.idle; }

  void post(Lane& lane) {
    if (out_.lastPost == 0) {
      out_.firstPost = now();
      out_.starts = lane.waits == 0;
    }
    out_.lastPost = now();
    lane.posts.push_back(now());
  }
  /// When the last of the lane's next `messages` ones comes.
  uint64_t arrival(const Lane& lane, size_t messages, bool far) const {
    const uint64_t way = ways_.near + (far ? ways_.far : 0);
    if (lane.posts.empty()) return lead_ + way;
    return lane.posts[std::min(lane.waits + messages, lane.posts.size()) - 1] + way;
  }

  /// Until it has to wait: until when; or kEnded.
  uint64_t advance(Lane& lane) {
    for (; lane.next < lane.steps->size(); ++lane.next) {
      const Step& step = (*lane.steps)[lane.next];
      const bool barrier = step.kind == StepKind::Barrier;
      const bool moves = step.kind == StepKind::Move && (step.bits & algo::kRecv) != 0;
      const Prices::Price price = prices_.of(step);
      if (barrier && !lane.entered) {
        out_.busy += price.before;
        post(lane);
        lane.entered = true;
      }
      if (barrier || moves || step.kind == StepKind::Wait) {
        const bool far =
            barrier ? prices_.someFar() : prices_.far(step.from) || prices_.far(step.from2);
        // A move that joins takes two, and what it sends is no answer to the first of them.
        const size_t messages = moves && step.from2 >= 0 ? 2 : 1;
        const uint64_t comes = arrival(lane, messages, far);
        if (!std::exchange(out_.waited, true)) out_.beforeWait = out_.busy;
        if (comes > now()) return comes;
        lane.waits += messages;
      }
      if (!barrier) out_.busy += price.before;
      if (!barrier && (step.bits & algo::kSend) != 0) post(lane);
      out_.busy += price.after;
      lane.entered = false;
    }
    return kEnded;
  }

  const Prices& prices_;
  std::vector<Lane> lanes_;
  Ways ways_;
  uint64_t lead_ = 0;
  Walk out_;
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

/// A whole call of one rank.
struct Course {
  uint64_t total = 0;
  bool starts = false;  ///< It sends before it waits.
  uint64_t lead = 0;    ///< Until it first sends.
  uint64_t after = 0;   ///< What it does after it has sent the last time.
  uint64_t tail = 0;    ///< Its work in the last period, from its first wait on.
};

/// `lead`: see Walker.
Course courseOf(const Plan& plan, size_t elementBytes, const CommFacts& facts, uint64_t lead) {
  const HostCosts& costs = facts.costs;
  const int n = plan.group.size;
  const auto crowd = static_cast<uint64_t>(facts.localRanks > 0 ? facts.localRanks : n);
  const uint64_t share = (crowd + facts.cpus - 1) / facts.cpus;
  // Waiting on a crowded core means waiting for the others' turns.
  const uint64_t turns = share > 1 ? costs.yield * (share - 1) : 0;
  const Ways whole{costs.hop + turns, costs.farHop};
  const Ways steady{costs.hop / kSteadyPart + turns, costs.farHop / kSteadyPart};

  const Prices prices(plan, elementBytes, facts);
  Walker walker(prices, plan.geometry.lanes);
  const uint64_t periods = plan.geometry.fullPeriods();
  const bool rest = std::any_of(plan.lanes.begin(), plan.lanes.end(),
                                [](const LaneProgram& lane) { return !lane.last.empty(); });
  const auto time = [&](const Walk& walk) { return walk.busy * share + walk.idle; };
  Walk first, last;
  Course course;
  if (periods > 0) {
    first = last = walker.walk(plan.lanes, true, whole, lead);
    course.total = time(first);
    if (periods > 1) last = walker.walk(plan.lanes, true, steady, 0);
    course.total += (periods - 1) * time(last);
  }
  if (rest || periods == 0) {
    last = walker.walk(plan.lanes, false, periods > 0 ? steady : whole, periods > 0 ? 0 : lead);
    if (periods == 0) first = last;
    course.total += time(last);
  }
  course.starts = first.starts;
  course.lead = first.firstPost * share;
  course.after = (last.busy + last.idle - std::min(last.lastPost, last.busy + last.idle)) * share;
  course.tail = (last.busy - (last.waited ? last.beforeWait : 0)) * share;

  course.total +=
      static_cast<uint64_t>(fillOf(*plan.algorithm, n, facts.groups)) *
      (costs.hop + (facts.groups.count() > 1 ? costs.farHop : 0) + turns +
       std::min(plan.geometry.chunk, plan.geometry.count) * elementBytes * costs.copyPerKiB / 1024);
  const uint64_t touched = touchedBytes(plan, elementBytes);
  course.total += touched / 1024 * costs.coldPerKiB(touched) * share;
  course.total += costs.lane * static_cast<uint64_t>(plan.geometry.lanes - 1);
  return course;
}

}  // namespace

uint64_t predict(const Plan& plan, size_t elementBytes, const CommFacts& facts) {
  return courseOf(plan, elementBytes, facts, 0).total;
}

uint64_t forecast(const std::vector<Plan>& plans, size_t elementBytes, const CommFacts& facts) {
  uint64_t slowest = 0, sum = 0, lead = 0, lastPost = 0;
  std::vector<const Plan*> waiting;
  const auto ends = [&](uint64_t time) {
    slowest = std::max(slowest, time);
    sum += time;
  };
  for (const Plan& plan : plans) {
    const Course course = courseOf(plan, elementBytes, facts, 0);
    if (!course.starts) {
      waiting.push_back(&plan);
      continue;
    }
    ends(course.total);
    lead = std::max(lead, course.lead);
    lastPost = std::max(lastPost, course.total - std::min(course.after, course.total));
  }
  for (const Plan* plan : waiting) {
    const Course course = courseOf(*plan, elementBytes, facts, lead);
    ends(std::max(course.total, lastPost + facts.costs.hop + course.tail));
  }
  const uint64_t time = slowest + sum / plans.size() / kEarlyPart;
  const uint64_t bound = linkBound(plans, elementBytes, facts);
  return bound <= time ? time : bound + time / kBesidesPart;
}

}  // namespace rondo
