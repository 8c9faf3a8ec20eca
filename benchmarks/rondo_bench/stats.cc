#include "stats.h"

#include <algorithm>
#include <cmath>

namespace rondo::bench {

double percentile(std::span<const double> sorted, double percent) {
  const auto rank =
      static_cast<size_t>(std::ceil(percent / 100 * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

Summary summarize(std::span<const double> times, int ranks, AcrossRanks across) {
  const size_t iterations = times.size() / ranks;
  if (iterations == 0) return {};
  std::vector<double> combined(iterations, 0.0);
  const int counted = across == AcrossRanks::kFirst ? 1 : ranks;
  for (int rank = 0; rank < counted; ++rank) {
    for (size_t i = 0; i < iterations; ++i) {
      const double time = times[rank * iterations + i];
      combined[i] =
          across == AcrossRanks::kMean ? combined[i] + time / ranks : std::max(combined[i], time);
    }
  }
  std::sort(combined.begin(), combined.end());
  Summary result;
  result.p50 = percentile(combined, 50);
  result.p99 = percentile(combined, 99);
  const auto extremes = across == AcrossRanks::kMean ? times : std::span<const double>(combined);
  result.min = *std::min_element(extremes.begin(), extremes.end());
  result.max = *std::max_element(extremes.begin(), extremes.end());
  return result;
}

double overlapPercent(double overall, double compute, double communication) {
  if (communication <= 0) return 0;
  return std::clamp(100 - 100 * (overall - compute) / communication, 0.0, 100.0);
}

Summary summarizeOverRanks(std::span<const double> times, AcrossRanks across, MPI_Comm comm) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const int count = static_cast<int>(times.size());
  std::vector<double> all(rank == 0 ? times.size() * ranks : 0);
  MPI_Gather(times.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, 0, comm);
  return rank == 0 ? summarize(all, ranks, across) : Summary{};
}

}  // namespace rondo::bench
