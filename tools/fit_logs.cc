#include "fit_logs.h"

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
  Fit(const std::vector<double>& measured, const Predict& predict,
      const std::vector<uint64_t>& prior, const std::vector<uint64_t>& most)
      : measured_(measured), predict_(predict), base_(prior), most_(most) {
    for (const uint64_t value : prior) {
      // From nothing no step of a logarithm leads anywhere.
      prior_.push_back(
          std::log(std::max(static_cast<double>(value), value == 0 ? kBegin : kLeast)));
    }
  }

  std::vector<uint64_t> run() {
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
    return withoutUnseen(valuesAt(at));
  }

 private:
  /// What no observation depends on is kept as it was.
  std::vector<uint64_t> withoutUnseen(std::vector<uint64_t> values) const {
    const Vector predicted = predict_(values);
    for (size_t k = 0; k < values.size(); ++k) {
      std::vector<uint64_t> kept = values;
      kept[k] = base_[k];
      if (predict_(kept) == predicted) values = kept;
    }
    return values;
  }

  std::vector<uint64_t> valuesAt(const Vector& at) const {
    std::vector<uint64_t> values;
    for (size_t k = 0; k < at.size(); ++k) {
      const double value = std::min(std::exp(at[k]), static_cast<double>(most_[k]));
      values.push_back(value <= 1.001 * kLeast ? 0 : static_cast<uint64_t>(value + 0.5));
    }
    return values;
  }

  Vector errorsAt(const Vector& at) const {
    const Vector predicted = predict_(valuesAt(at));
    Vector errors;
    for (size_t i = 0; i < predicted.size(); ++i) {
      errors.push_back(std::log(std::max(predicted[i], 1.0) / measured_[i]));
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

  const std::vector<double>& measured_;
  const Predict& predict_;
  const std::vector<uint64_t>& base_;
  const std::vector<uint64_t>& most_;
  Vector prior_;
};

}  // namespace

std::vector<uint64_t> fitLogs(const std::vector<double>& measured, const Predict& predict,
                              const std::vector<uint64_t>& prior,
                              const std::vector<uint64_t>& most) {
  return Fit(measured, predict, prior, most).run();
}

}  // namespace rondo::tune
