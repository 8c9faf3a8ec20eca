#include "tune_fit.h"

#include <algorithm>
#include <cmath>

namespace rondo::tune {
namespace {

constexpr int kSteps = 25;
/// Of the relative error: what is worse counts linearly.
constexpr double kOutlier = 0.15;
/// How much a cost that is e times its prior weighs against a squared relative error.
constexpr double kPriorWeight = 0.004;
/// Costs nothing, for logarithms.
constexpr double kLeast = 200;
/// Where the search for a cost begins that was nothing so far.
constexpr double kBegin = 5'000;

using Vector = std::vector<double>;

/// Solves A x = b of a symmetric positive definite matrix, row by row (Cholesky).
Vector solve(std::vector<Vector> a, Vector b) {
  const size_t n = b.size();
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (size_t k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
      a[i][j] = i == j ? std::sqrt(std::max(sum, 1e-12)) : sum / a[j][j];
    }
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

class Fit {
 public:
  Fit(const std::vector<Observation>& observations, const Measured& by, const HostCosts& prior,
      const std::vector<bool>& free)
      : by_(by), base_(prior) {
    for (const Observation& o : observations) {
      if (!o.heldOut && o.picoseconds > 0) observations_.push_back(&o);
    }
    const auto fields = costFields();
    for (size_t i = 0; i < fields.size(); ++i) {
      if (!free[i]) continue;
      fields_.push_back(&fields[i]);
      const auto value = static_cast<double>(prior.*fields[i].at);
      // From nothing no step of a logarithm leads anywhere.
      prior_.push_back(std::log(std::max(value, value == 0 ? kBegin : kLeast)));
    }
  }

  HostCosts run() {
    Vector at = prior_;
    double damping = 1e-3, now = loss(at);
    for (int step = 0; step < kSteps && damping < 1e6; ++step) {
      const Vector next = stepFrom(at, damping);
      const double then = loss(next);
      if (then < now) {
        const bool done = now - then < 1e-6 * now;
        at = next;
        now = then;
        damping *= 0.3;
        if (done) break;
      } else {
        damping *= 8;
      }
    }
    return withoutUnseen(costsAt(at));
  }

 private:
  /// What no call's time depends on is kept as it was.
  HostCosts withoutUnseen(HostCosts costs) const {
    const std::vector<uint64_t> predicted = predictionsOf(costs);
    for (const CostField* field : fields_) {
      HostCosts kept = costs;
      kept.*field->at = base_.*field->at;
      if (predictionsOf(kept) == predicted) costs = kept;
    }
    return costs;
  }

  std::vector<uint64_t> predictionsOf(const HostCosts& costs) const {
    std::vector<uint64_t> out;
    for (const Observation* o : observations_) out.push_back(predictionOf(*o, by_, costs));
    return out;
  }

  HostCosts costsAt(const Vector& at) const {
    HostCosts costs = base_;
    for (size_t k = 0; k < fields_.size(); ++k) {
      const double value = std::exp(at[k]);
      const double most = static_cast<double>(fields_[k]->most());
      costs.*fields_[k]->at =
          value <= 1.001 * kLeast ? 0 : static_cast<uint64_t>(std::min(value, most) + 0.5);
    }
    return costs;
  }

  Vector errorsAt(const Vector& at) const {
    const std::vector<uint64_t> predicted = predictionsOf(costsAt(at));
    Vector errors;
    for (size_t i = 0; i < predicted.size(); ++i) {
      const double value = std::max(static_cast<double>(predicted[i]), 1.0);
      errors.push_back(std::log(value / observations_[i]->picoseconds));
    }
    return errors;
  }

  /// Huber's.
  double loss(const Vector& at) const {
    double sum = 0;
    for (const double r : errorsAt(at)) {
      const double size = std::fabs(r);
      sum += size <= kOutlier ? r * r : kOutlier * (2 * size - kOutlier);
    }
    for (size_t k = 0; k < at.size(); ++k) {
      sum += kPriorWeight * (at[k] - prior_[k]) * (at[k] - prior_[k]);
    }
    return sum;
  }

  Vector stepFrom(const Vector& at, double damping) const {
    constexpr double kMove = 0.02;  // far enough for whole picoseconds
    const size_t n = at.size();
    const Vector errors = errorsAt(at);
    std::vector<Vector> slopes;
    for (size_t k = 0; k < n; ++k) {
      Vector moved = at;
      moved[k] += kMove;
      slopes.push_back(errorsAt(moved));
      for (size_t i = 0; i < errors.size(); ++i) slopes[k][i] = (slopes[k][i] - errors[i]) / kMove;
    }
    std::vector<Vector> matrix(n, Vector(n, 0));
    Vector right(n, 0);
    for (size_t i = 0; i < errors.size(); ++i) {
      const double weight = std::min(1.0, kOutlier / std::max(std::fabs(errors[i]), 1e-9));
      for (size_t k = 0; k < n; ++k) {
        right[k] -= weight * slopes[k][i] * errors[i];
        for (size_t l = 0; l <= k; ++l) matrix[k][l] += weight * slopes[k][i] * slopes[l][i];
      }
    }
    for (size_t k = 0; k < n; ++k) {
      right[k] -= kPriorWeight * (at[k] - prior_[k]);
      matrix[k][k] += kPriorWeight + damping * (matrix[k][k] + kPriorWeight);
    }
    const Vector step = solve(std::move(matrix), std::move(right));
    Vector next = at;
    for (size_t k = 0; k < n; ++k) {
      next[k] = std::max(at[k] + std::clamp(step[k], -1.0, 1.0), std::log(kLeast));
    }
    return next;
  }

  const Measured& by_;
  HostCosts base_;
  std::vector<const Observation*> observations_;
  std::vector<const CostField*> fields_;
  Vector prior_;
};

}  // namespace

uint64_t predictionOf(const Observation& observation, const Measured& by, const HostCosts& costs) {
  CommFacts facts = by.facts;
  facts.costs = costs;
  if (by.acrossHosts) facts.costs.acrossHosts();
  const auto ranking = rankCandidates(observation.request, facts, observation.rules);
  return ranking.empty() ? 0 : ranking.front().picoseconds;
}

std::vector<bool> measurable(const Measured& by) {
  const CommFacts& facts = by.facts;
  const auto crowd = static_cast<uint32_t>(facts.localRanks > 0 ? facts.localRanks : facts.ranks);
  const bool several = facts.groups.count() > 1;
  std::vector<bool> out;
  for (const CostField& field : costFields()) {
    const std::string name = field.name;
    if (name.starts_with("hosts_")) {
      out.push_back(several && by.acrossHosts);
    } else if (name == "far_message" || name == "far_per_kib") {
      out.push_back(several && !by.acrossHosts);
    } else if (name.starts_with("far_")) {
      out.push_back(false);
    } else if (name == "yield") {
      out.push_back(crowd > facts.cpus);
    } else {
      out.push_back(facts.ranks > 1);
    }
  }
  return out;
}

HostCosts fitCosts(const std::vector<Observation>& observations, const Measured& by,
                   const HostCosts& prior, const std::vector<bool>& free) {
  return Fit(observations, by, prior, free).run();
}

std::vector<std::vector<uint64_t>> splitStates(std::vector<uint64_t> flags) {
  std::sort(flags.begin(), flags.end());
  std::vector<std::vector<uint64_t>> out;
  for (const uint64_t flag : flags) {
    if (out.empty() || !sameState(out.back().back(), flag)) out.emplace_back();
    out.back().push_back(flag);
  }
  return out;
}

std::vector<CostsState> mergedStates(std::vector<CostsState> run, const CostsFile& before,
                                     const std::vector<bool>& free) {
  std::vector<CostsState> known{before};
  known.insert(known.end(), before.others.begin(), before.others.end());
  const size_t measured = run.size();
  for (CostsState& state : known) {
    const bool again =
        std::any_of(run.begin(), run.begin() + static_cast<ptrdiff_t>(measured),
                    [&](const CostsState& s) { return sameState(s.flag, state.flag); });
    // One without a flag's way was measured when nobody looked at it.
    if (again || state.flag == 0 || run.size() == kMostStates) continue;
    for (size_t i = 0; i < free.size(); ++i) {
      if (!free[i] || state.measured[i]) continue;
      const auto at = costFields()[i].at;
      state.costs.*at = run.front().costs.*at;
      state.measured[i] = true;
    }
    run.push_back(std::move(state));
  }
  return run;
}

Errors errorsOf(const std::vector<double>& relative) {
  std::vector<double> sizes;
  for (const double error : relative) sizes.push_back(std::fabs(error));
  if (sizes.empty()) return {};
  std::sort(sizes.begin(), sizes.end());
  return {sizes[sizes.size() / 2], sizes.back()};
}

}  // namespace rondo::tune
