#pragma once
// Link utilisation over time, before it is drawn: a table of rows of links and columns of time.

#include <array>
#include <string>
#include <vector>

#include "coll/sim/job.h"

namespace rondo::sim {

constexpr size_t kHeatColumns = 240;

struct HeatRow {
  std::string label;
  size_t links = 0;
  uint64_t capacity = 0;      ///< Bytes per second of each link.
  double mean = 0, most = 0;  ///< Of all the time: of all its links, of the busiest one.
  std::array<double, kHeatColumns> use{};  ///< Which part of its bandwidth: the mean of its links.
};

struct Heat {
  /// Between what times the columns are, from 0 to the call's end. They last equally long but for
  /// those of periods that were not simulated, which are a sixth of the picture at most.
  std::array<Time, kHeatColumns + 1> edges{};
  /// Columns of periods that were not simulated: the mean of these. Equal: there are none.
  size_t gapFrom = 0, gapTo = 0;
  std::vector<HeatRow> rows;  ///< The busiest first.
  size_t left = 0;            ///< Links without a row.
};

/// Needs Result::courses. The sum of a row's use, each times its column's time, the capacity and
/// the links, is what Result::arcBytes says of them.
Heat heatOf(const Job& job, const Result& result);

}  // namespace rondo::sim
