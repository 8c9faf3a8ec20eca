#include "coll/sim/compact.h"

#include <limits>

#include "base/error.h"

namespace rondo::sim {
namespace {

class Compactor {
 public:
  explicit Compactor(const Job& job) : job_(job) {
    out_.ranks = static_cast<int>(job.places.size());
  }

  Compact run() {
    for (int rank = 0; rank < out_.ranks; ++rank) {
      const Plan plan = job_.plan(rank);
      if (rank == 0) {
        out_.lanes = plan.geometry.lanes;
        out_.fullPeriods = plan.geometry.fullPeriods();
      }
      for (int lane = 0; lane < out_.lanes; ++lane) {
        const LaneProgram& program = plan.lanes[static_cast<size_t>(lane)];
        out_.full.push_back(convert(program.full, rank, lane));
        out_.last.push_back(convert(program.last, rank, lane));
      }
    }
    return std::move(out_);
  }

 private:
  std::vector<CompactStep> convert(const std::vector<Step>& steps, int rank, int lane) {
    std::vector<CompactStep> out;
    out.reserve(steps.size());
    for (const Step& step : steps) out.push_back(convert(step, rank, lane));
    return out;
  }

  CompactStep convert(const Step& step, int rank, int lane) {
    CompactStep out{step.kind, step.bits};
    const uint64_t bytes = step.count * job_.elementBytes;
    if (bytes > std::numeric_limits<uint32_t>::max()) {
      throw Error(rondoInvalidArgument,
                  format("a block of %llu bytes is too long to be simulated; allowed: up to 4 GiB",
                         static_cast<unsigned long long>(bytes)));
    }
    out.bytes = static_cast<uint32_t>(bytes);
    const bool all = step.room == algo::Room::All;
    const bool sends = (step.bits & algo::kSend) != 0 || step.kind == StepKind::Signal;
    if (step.kind == StepKind::Reduce) {
      const bool own = step.from <= rank && rank < step.from2;
      out.reads = static_cast<uint16_t>(step.from2 - step.from - (own ? 1 : 0));
      out.in = group(rank, lane, all, false);
    } else if (step.kind != StepKind::Barrier) {
      if (step.from >= 0) out.in = channel(step.from, rank, lane, all);
      if (step.from2 >= 0) out.in2 = channel(step.from2, rank, lane, false);
    }
    if (sends && step.to >= 0) out.out = channel(rank, step.to, lane, false);
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

  /// Channels between a rank and all others.
  int32_t group(int rank, int lane, bool all, bool outwards) {
    const uint64_t key = ((static_cast<uint64_t>(rank) * static_cast<uint64_t>(out_.lanes) +
                           static_cast<uint64_t>(lane)) *
                              2 +
                          (all ? 1 : 0)) *
                             2 +
                         (outwards ? 1 : 0);
    const auto [found, isNew] = groups_.try_emplace(key, static_cast<int32_t>(out_.groups.size()));
    for (int peer = 0; isNew && peer < out_.ranks; ++peer) {
      if (peer == rank) continue;
      out_.groups.push_back(outwards ? channel(rank, peer, lane, all)
                                     : channel(peer, rank, lane, all));
    }
    return found->second;
  }

  const Job& job_;
  Compact out_;
  std::unordered_map<uint64_t, int32_t> known_, groups_;
};

}  // namespace

Compact compact(const Job& job) { return Compactor(job).run(); }

}  // namespace rondo::sim
