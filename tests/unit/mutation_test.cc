// The verifier earns its trust here: whatever is changed in any step of a sound plan is found.

#include <iostream>

#include "coll/step_text.h"
#include "plan_helpers.h"

namespace rondo {
namespace {

using namespace test;

/// One change of one step; returns whether there was anything to change. Ranks are changed to the
/// one after, as an algorithm's text would (g.after(k + 1)), so that the same change can be made on
/// all ranks at once.
struct Mutation {
  const char* name;
  bool (*apply)(std::vector<Step>& steps, size_t at, const algo::Group& group);
};

bool retarget(int32_t& peer, const algo::Group& g) {
  if (peer < 0 || g.size < 2) return false;
  peer = (peer + 1) % g.size;
  if (peer == g.rank && g.size > 2) peer = (peer + 1) % g.size;
  return true;
}

template <int bit>
bool flip(std::vector<Step>& s, size_t i, const algo::Group&) {
  s[i].bits = static_cast<uint8_t>(s[i].bits ^ bit);
  return true;
}

template <int kind>
bool become(std::vector<Step>& s, size_t i, const algo::Group&) {
  const bool changed = s[i].kind != static_cast<StepKind>(kind);
  s[i].kind = static_cast<StepKind>(kind);
  return changed;
}

const Mutation kMutations[] = {
    {"drop", [](auto& s, size_t i, const auto&) { return s.erase(s.begin() + i), true; }},
    {"duplicate",
     [](auto& s, size_t i, const auto&) { return s.insert(s.begin() + i, s[i]), true; }},
    {"swap with next",
     [](auto& s, size_t i, const auto&) {
       return i + 1 < s.size() && (std::swap(s[i], s[i + 1]), true);
     }},
    {"swap with the one after next",
     [](auto& s, size_t i, const auto&) {
       return i + 2 < s.size() && (std::swap(s[i], s[i + 2]), true);
     }},
    {"from", [](auto& s, size_t i, const auto& g) { return retarget(s[i].from, g); }},
    {"to", [](auto& s, size_t i, const auto& g) { return retarget(s[i].to, g); }},
    {"from nobody",
     [](auto& s, size_t i, const auto&) { return std::exchange(s[i].from, -1) >= 0; }},
    {"to everyone", [](auto& s, size_t i, const auto&) { return std::exchange(s[i].to, -1) >= 0; }},
    {"offset + 1", [](auto& s, size_t i, const auto&) { return ++s[i].offset, true; }},
    {"offset - 1", [](auto& s, size_t i, const auto&) { return s[i].offset > 0 && s[i].offset--; }},
    {"next block", [](auto& s, size_t i, const auto&) { return (s[i].offset += s[i].count) > 0; }},
    {"count + 1", [](auto& s, size_t i, const auto&) { return ++s[i].count, true; }},
    {"count - 1", [](auto& s, size_t i, const auto&) { return s[i].count > 0 && s[i].count--; }},
    {"room",
     [](auto& s, size_t i, const auto&) {
       s[i].room = s[i].room == Room::All ? Room::Pair : Room::All;
       return true;
     }},
    {"Recv", flip<algo::kRecv>},
    {"Src", flip<algo::kSrc>},
    {"Dst", flip<algo::kDst>},
    {"Send", flip<algo::kSend>},
    {"Final", flip<algo::kFinal>},
    {"Own", flip<algo::kOwn>},
    {"Before", flip<algo::kBefore>},
    {"First", flip<algo::kFirst>},
    {"next slot", [](auto& s, size_t i, const auto&) { return s[i].count > 0 && ++s[i].slot > 0; }},
    {"slots + 1",
     [](auto& s, size_t i, const auto&) { return s[i].count > 0 && ++s[i].slots > 0; }},
    {"slots - 1",
     [](auto& s, size_t i, const auto&) { return s[i].count > 0 && s[i].slots-- > 0; }},
    {"stride + 1",
     [](auto& s, size_t i, const auto&) { return s[i].count > 0 && ++s[i].stride > 0; }},
    {"stride - 1",
     [](auto& s, size_t i, const auto&) { return s[i].count > 0 && s[i].stride-- > 0; }},
    {"from2 + 1",
     [](auto& s, size_t i, const auto&) { return s[i].from2 >= 0 && ++s[i].from2 > 0; }},
    {"from2 - 1",
     [](auto& s, size_t i, const auto&) { return s[i].from2 >= 0 && s[i].from2-- >= 0; }},
    {"becomes move", become<0>},
    {"becomes put", become<1>},
    {"becomes signal", become<2>},
    {"becomes wait", become<3>},
    {"becomes reduce", become<4>},
    {"becomes fetch", become<5>},
    {"becomes barrier", become<6>},
};

std::vector<Step>& stepsOf(Plan& plan, int lane, bool full) {
  LaneProgram& both = plan.lanes[static_cast<size_t>(lane)];
  return full ? both.full : both.last;
}

/// What a step uses: messages and signals of one queue count as one thing.
struct Uses {
  std::vector<std::string> things;
};

Uses usesOf(const Step& s, int n) {
  Uses uses;
  const auto add = [&](const char* side, int peer, Room room) {
    uses.things.push_back(format("%s %d %d", side, peer, static_cast<int>(room)));
  };
  const bool sends = (s.bits & algo::kSend) != 0 || s.kind == StepKind::Signal;
  if (sends) add("to", s.to, s.to < 0 ? Room::All : Room::Pair);
  if (s.from >= 0) add("from", s.from, s.room);
  if (s.kind == StepKind::Move && s.from2 >= 0) add("from", s.from2, s.room);
  if (s.kind == StepKind::Reduce) {
    for (int r = 0; r < n; ++r) add("from", r, s.room);
  }
  return uses;
}

bool overlap(const Step& a, const Step& b) {
  if (a.offset >= b.offset + b.count || b.offset >= a.offset + a.count) return false;
  for (int i = 0; i < a.slots; ++i) {
    for (int k = 0; k < b.slots; ++k) {
      if (a.slot + i * a.stride == b.slot + k * b.stride) return true;
    }
  }
  return false;
}

/// Steps next to each other may change places when they use different queues, neither is a barrier,
/// and they touch different elements or neither overwrites any. That changes nothing but when
/// things happen here; where another rank's answer depends on it, it makes a deadlock, and is
/// found.
bool commute(const Step& a, const Step& b, int n) {
  if (a.kind == StepKind::Barrier || b.kind == StepKind::Barrier) return false;
  // To wait for the next signal before reading what an earlier one announced is only late.
  const bool reads = a.kind == StepKind::Reduce || a.kind == StepKind::Fetch;
  if (reads && b.kind == StepKind::Wait) return true;
  const auto copies = [](const Step& s) {
    return s.kind == StepKind::Move && (s.bits & algo::kRecv) == 0;
  };
  // What is added to dst one after the other may be added the other way round.
  const auto adds = [](const Step& s) {
    return s.kind == StepKind::Move && s.bits == (algo::kRecv | algo::kOwn | algo::kDst);
  };
  const bool writes =
      (((a.bits & algo::kDst) && !copies(a)) || ((b.bits & algo::kDst) && !copies(b))) &&
      !(adds(a) && adds(b));
  if (writes && overlap(a, b)) return false;
  const Uses mine = usesOf(a, n), theirs = usesOf(b, n);
  for (const std::string& thing : mine.things) {
    if (std::count(theirs.things.begin(), theirs.things.end(), thing) > 0) return false;
  }
  return true;
}

/// The changes that need not be found, because the plan may mean the same. All of them:
///  - steps swapped that commute (over three steps: each with each);
///  - a second barrier after a barrier, on all ranks;
///  - Final in a scan, which has no average;
///  - the operands' order in a reduction that only one rank makes;
///  - in a hierarchy, whose stages write dst one after the other: a copy made twice or of one slot
///    more, and keeping a partial result that a later stage overwrites.
bool sameMeaning(const std::string& mutation, const std::vector<Step>& before, size_t at, int n,
                 bool allRanks, const Algorithm& algorithm) {
  const Collective collective = algorithm.collective;
  if (mutation == "First") {
    const Step& step = before[at];
    const bool own = (step.bits & (algo::kSrc | algo::kOwn)) != 0;
    const bool two = (step.bits & algo::kRecv) != 0 && own && step.from2 < 0;
    // By recursive doubling every rank reduces; only who stands for two takes the other's src
    // first.
    const bool everyRank =
        collective == Collective::AllReduce && std::string(algorithm.name) == "doubling" && at > 0;
    return two && !everyRank && (step.bits & algo::kBefore) == 0;
  }
  if (algorithm.hierarchy != nullptr) {
    const std::string verb = verbName(before[at]);
    if ((mutation == "duplicate" || mutation == "slots + 1") && verb == "copy") return true;
    if (mutation == "Dst" && verb == "recvReduceSendOwn") return true;
  }
  const bool scans = collective == Collective::Scan || collective == Collective::Exscan;
  if (scans && mutation == "Final") return true;
  if (mutation == "swap with next") return commute(before[at], before[at + 1], n);
  if (mutation == "swap with the one after next") {
    const Step &a = before[at], &b = before[at + 2];
    if (a.kind == StepKind::Wait && b.kind == a.kind && a.from == b.from && a.room == b.room) {
      return true;  // the same step twice
    }
    return commute(before[at], before[at + 1], n) && commute(before[at], before[at + 2], n) &&
           commute(before[at + 1], before[at + 2], n);
  }
  return mutation == "duplicate" && allRanks && before[at].kind == StepKind::Barrier;
}

struct Tally {
  int caught = 0;
  int same = 0;
  int sameAndPassed = 0;
};

/// Makes every mutant of one call, one rank at a time or on all ranks at the same step.
class Mutants {
 public:
  Mutants(const Algorithm& algorithm, int ranks, int root, const algo::Geometry& geometry,
          const RankGroups& groups = {})
      : algorithm_(algorithm),
        plans_(recordAllRanks(algorithm, ranks, root, geometry, groups)),
        what_(nameOf(algorithm) + ", " + describe(plans_[0].geometry, ranks, root, groups)) {
    for (Plan& plan : plans_) {
      for (int program = 0; program < 2 * plan.geometry.lanes; ++program) {
        auto& names = verbs_.emplace_back();
        for (const Step& step : stepsOf(plan, program / 2, program % 2 != 0)) {
          names.push_back(verbName(step));
        }
      }
    }
  }

  void run(Tally& tally) {
    ASSERT_TRUE(verifyPlans(plans_).empty()) << what_;
    for (int rank = 0; rank < static_cast<int>(plans_.size()); ++rank) {
      for (int lane = 0; lane < plans_[0].geometry.lanes; ++lane) {
        for (const bool full : {true, false}) runProgram(rank, lane, full, tally);
      }
    }
  }

 private:
  void runProgram(int rank, int lane, bool full, Tally& tally) {
    const size_t steps = stepsOf(plans_[static_cast<size_t>(rank)], lane, full).size();
    for (size_t at = 0; at < steps; ++at) {
      for (const Mutation& mutation : kMutations) {
        one(mutation, rank, lane, full, at, tally);
        if (rank == 0) one(mutation, -1, lane, full, at, tally);
      }
    }
  }

  /// rank -1: on all ranks that have the same verb there. Changes plans_ and puts it back: a copy
  /// of all plans for every mutant takes a sixth of the time.
  void one(const Mutation& mutation, int rank, int lane, bool full, size_t at, Tally& tally) {
    const size_t from = static_cast<size_t>(std::max(rank, 0));
    const size_t end = rank >= 0 ? from + 1 : plans_.size();
    const std::string& verb = verbAt(from, lane, full, at);
    bool changed = false, same = true;
    std::vector<std::pair<size_t, std::vector<Step>>> changes;
    for (size_t r = from; r < end; ++r) {
      auto& steps = stepsOf(plans_[r], lane, full);
      if (at >= steps.size() || verbAt(r, lane, full, at) != verb) continue;
      changes.emplace_back(r, steps);
      const algo::Group& group = plans_[r].group;
      if (!mutation.apply(steps, at, group)) continue;
      changed = true;
      same &=
          sameMeaning(mutation.name, changes.back().second, at, group.size, rank < 0, algorithm_);
    }
    const bool found = changed && !verifyPlans(plans_).empty();
    for (auto& [r, before] : changes) stepsOf(plans_[r], lane, full) = std::move(before);
    if (!changed) return;
    tally.caught += same ? 0 : 1;
    tally.same += same ? 1 : 0;
    tally.sameAndPassed += same && !found ? 1 : 0;
    if (!same) {
      EXPECT_TRUE(found) << where(mutation, rank, lane, full, at);
    }
  }

  std::string where(const Mutation& mutation, int rank, int lane, bool full, size_t at) {
    const auto& steps = stepsOf(plans_[static_cast<size_t>(std::max(rank, 0))], lane, full);
    return what_ + format(": \"%s\" on rank %d, lane %d, %s period, step %zu (%s) ", mutation.name,
                          rank, lane, full ? "full" : "last", at + 1,
                          describeStep(steps[at]).c_str());
  }

  const std::string& verbAt(size_t rank, int lane, bool full, size_t at) const {
    const size_t programs = 2 * static_cast<size_t>(plans_[0].geometry.lanes);
    return verbs_[rank * programs + 2 * static_cast<size_t>(lane) + (full ? 1 : 0)][at];
  }

  const Algorithm& algorithm_;
  std::vector<Plan> plans_;
  std::vector<std::vector<std::string>> verbs_;  ///< See verbAt().
  std::string what_;
};

TEST(Mutation, EveryChangeOfMeaningIsFound) {
  for (const Algorithm& algorithm : registry()) {
    Tally tally;
    for (const int ranks : {1, 2, 3, 4, 5, 8}) {
      for (int root = 0; root < std::min(2, rootsOf(algorithm, ranks)); ++root) {
        const Count period = 2 * 3 * static_cast<Count>(algorithm.blocks(ranks));
        const bool barrier = algorithm.collective == Collective::Barrier;
        // A full period and a shorter one with a short or empty block; two lanes.
        Mutants(algorithm, ranks, root, {barrier ? 0 : 2 * period - 2, 2, 0, 3, 1}).run(tally);
        if (ranks == 8) continue;
        Mutants(algorithm, ranks, root, {barrier ? 0 : period + 1, 2, 0, 3, 1}).run(tally);
      }
    }
    EXPECT_GT(tally.caught, 0);
    std::cout << nameOf(algorithm) << ": " << tally.caught << " mutants caught, " << tally.same
              << " that may mean the same, of which " << tally.sameAndPassed << " pass\n";
    if (HasFailure()) return;
  }
}

TEST(Mutation, EveryChangeOfAHierarchyIsFound) {
  const RankGroups groupings[] = {RankGroups({0, 0, 1}), RankGroups({0, 1, 0, 1}),
                                  RankGroups({0, 0, 1, 2, 1}), RankGroups({0, 0, 0, 1, 1, 1, 2})};
  for (const Algorithm& algorithm : registry()) {
    if (algorithm.hierarchy == nullptr) continue;
    Tally tally;
    for (const RankGroups& groups : groupings) {
      const int ranks = groups.placement().begin[groups.count()];
      for (const int root : {0, ranks - 1}) {
        if (root >= rootsOf(algorithm, ranks)) break;
        const Count period = 3 * static_cast<Count>(blocksOf(algorithm, ranks, groups));
        const bool barrier = algorithm.collective == Collective::Barrier;
        Mutants(algorithm, ranks, root, {barrier ? 0 : 2 * period - 2, 1, 0, 3, 1}, groups)
            .run(tally);
      }
    }
    EXPECT_GT(tally.caught, 0);
    std::cout << nameOf(algorithm) << ", grouped: " << tally.caught << " mutants caught, "
              << tally.same << " that may mean the same, of which " << tally.sameAndPassed
              << " pass\n";
  }
}

}  // namespace
}  // namespace rondo
