#include "coll/sim/compact.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace rondo::sim {
namespace {

class Compactor {
 public:
  explicit Compactor(const Job& job) : job_(job) {
    out_.ranks = static_cast<int>(job.places.size());
    out_.partRanks = job.parts.whole() ? out_.ranks : static_cast<int>(job.parts.members[0].size());
  }

  /// False: with rows cut short, the ranks' steps do not meet.
  bool run(Count repeats) {
    for (int rank = 0; rank < out_.ranks; ++rank) {
      const Plan plan = job_.plan(rank);
      if (rank == 0) {
        out_.lanes = plan.geometry.lanes;
        out_.fullPeriods = plan.geometry.fullPeriods();
      }
      for (int lane = 0; lane < out_.lanes; ++lane) {
        const LaneProgram& program = plan.lanes[static_cast<size_t>(lane)];
        if (!add(program.full, repeats, rank, lane, &fullShapes_, &out_.full, &out_.fullRuns) ||
            !add(program.last, repeats, rank, lane, &lastShapes_, &out_.last, &out_.lastRuns)) {
          return false;
        }
      }
    }
    return repeats == 0 || balanced();
  }
  Compact take() { return std::move(out_); }

 private:
  using Shapes = std::vector<std::vector<RowShape>>;

  bool add(const std::vector<Step>& steps, Count repeats, int rank, int lane, Shapes* shapes,
           std::vector<std::vector<CompactStep>>* programs, std::vector<std::vector<Run>>* runs) {
    Shortened rows = shorten(steps, repeats);
    if (repeats > 0 && rank == 0) {
      shapes->push_back(rows.shape);
      runs->push_back(rows.runs);
    } else if (repeats > 0 && rows.shape != (*shapes)[static_cast<size_t>(lane)]) {
      return false;
    }
    std::vector<CompactStep>& out = programs->emplace_back();
    out.reserve(rows.steps.size());
    for (size_t i = 0; i < rows.steps.size(); ++i) {
      out.push_back(convert(rows.steps[i], rank, lane));
      out.back().times = static_cast<uint32_t>(rows.times[i]);
    }
    return true;
  }

  /// Whether every message that is left has its receiver: of a channel as many are sent as taken.
  bool balanced() const {
    std::vector<int64_t> open(out_.channels.size());
    for (const auto* programs : {&out_.full, &out_.last}) {
      for (const std::vector<CompactStep>& program : *programs) {
        for (const CompactStep& step : program) {
          if (step.kind != StepKind::Move) continue;
          if (step.in >= 0) --open[static_cast<size_t>(step.in)];
          if (step.in2 >= 0) --open[static_cast<size_t>(step.in2)];
          if (step.out >= 0 && !step.toAll) ++open[static_cast<size_t>(step.out)];
        }
      }
      if (std::any_of(open.begin(), open.end(), [](int64_t n) { return n != 0; })) return false;
    }
    return true;
  }

  CompactStep convert(const Step& step, int rank, int lane) {
    CompactStep out{step.kind, step.bits};
    const uint64_t bytes = elementsOf(step) * job_.elementBytes;
    if (bytes > std::numeric_limits<uint32_t>::max()) {
      throw Error(rondoInvalidArgument,
                  format("a block of %llu bytes is too long to be simulated; allowed: up to 4 GiB",
                         static_cast<unsigned long long>(bytes)));
    }
    out.bytes = static_cast<uint32_t>(bytes);
    const bool all = step.room == algo::Room::All;
    const bool sends = (step.bits & algo::kSend) != 0 || step.kind == StepKind::Signal;
    if (step.kind == StepKind::Reduce) {
      const int number = job_.parts.whole() ? rank : job_.parts.number[static_cast<size_t>(rank)];
      const bool own = step.from <= number && number < step.from2;
      out.reads = static_cast<uint16_t>(step.from2 - step.from - (own ? 1 : 0));
      out.in = group(rank, lane, all, false);
    } else if (step.kind != StepKind::Barrier) {
      if (step.from >= 0) out.in = channel(peer(rank, step.from), rank, lane, all);
      if (step.from2 >= 0) out.in2 = channel(peer(rank, step.from2), rank, lane, false);
    }
    if (sends && step.to >= 0) out.out = channel(rank, peer(rank, step.to), lane, false);
    if (sends && step.to < 0) {
      out.toAll = true;
      out.out = group(rank, lane, true, true);
    }
    return out;
  }

  int32_t channel(int from, int to, int lane, bool all) {
    const uint64_t n = static_cast<uint64_t>(out_.ranks), lanes = static_cast<uint64_t>(out_.lanes);
    const uint64_t key = ((static_cast<uint64_t>(from) * n + static_cast<uint64_t>(to)) * lanes +
                          static_cast<uint64_t>(lane)) *
                             2 +
                         (all ? 1 : 0);
    const auto [found, isNew] = known_.try_emplace(key, static_cast<int32_t>(out_.channels.size()));
    if (isNew) out_.channels.push_back({from, to, lane, all});
    return found->second;
  }

  /// The rank that is `number` in the part of `rank`.
  int peer(int rank, int number) const {
    if (job_.parts.whole()) return number;
    const auto part = static_cast<size_t>(job_.parts.of[static_cast<size_t>(rank)]);
    return job_.parts.members[part][static_cast<size_t>(number)];
  }

  /// Channels between a rank and all others of its part.
  int32_t group(int rank, int lane, bool all, bool outwards) {
    const uint64_t key = ((static_cast<uint64_t>(rank) * static_cast<uint64_t>(out_.lanes) +
                           static_cast<uint64_t>(lane)) *
                              2 +
                          (all ? 1 : 0)) *
                             2 +
                         (outwards ? 1 : 0);
    const auto [found, isNew] = groups_.try_emplace(key, static_cast<int32_t>(out_.groups.size()));
    for (int number = 0; isNew && number < out_.partRanks; ++number) {
      const int other = peer(rank, number);
      if (other == rank) continue;
      out_.groups.push_back(outwards ? channel(rank, other, lane, all)
                                     : channel(other, rank, lane, all));
    }
    return found->second;
  }

  const Job& job_;
  Compact out_;
  Shapes fullShapes_, lastShapes_;
  std::unordered_map<uint64_t, int32_t> known_, groups_;
};

}  // namespace

Compact compact(const Job& job) {
  if (job.repeats > 0 && !job.record) {
    Compactor shortened(job);
    if (shortened.run(job.repeats)) return shortened.take();
  }
  Compactor whole(job);
  whole.run(0);
  return whole.take();
}

}  // namespace rondo::sim
