#pragma once
// Least squares of relative errors over positive numbers: what rondo-tune's fits share.

#include <cstdint>
#include <functional>
#include <vector>

namespace rondo::tune {

/// Predictions of all observations, if things cost `values`.
using Predict = std::function<std::vector<double>(const std::vector<uint64_t>& values)>;

/// The values with which predictions come closest to `measured`, by Gauss-Newton over their
/// logarithms: outliers count less, and what the observations say nothing of stays near `prior`. No
/// value exceeds its `most`.
std::vector<uint64_t> fitLogs(const std::vector<double>& measured, const Predict& predict,
                              const std::vector<uint64_t>& prior,
                              const std::vector<uint64_t>& most);

}  // namespace rondo::tune
