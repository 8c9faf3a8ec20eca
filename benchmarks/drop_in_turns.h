#pragma once
// Calls by two ways in turn in one process: what the programs about the layer before MPI measure
// by.

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace drop_in_bench {

using Run = std::function<void()>;

inline int rank = 0, ranks = 1;

inline double median(std::vector<double>& times) {
  const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

/// Medians of the seconds that a call of each takes, on the slowest rank. Batches of one and of the
/// other take turns, so that both meet the machine in the same states. Before them come as many
/// calls as the layer takes to find out who is quicker, and before each batch four that are not
/// counted: the first three behind the other one's find caches as that left them, and take up to
/// 1.9 times as long (1 MiB, EPYC), which no program meets that calls one of the two.
inline std::vector<double> compare(const std::vector<Run>& runs, int batch, int rounds) {
  constexpr int kFirst = 256, kBefore = 4;
  for (const Run& run : runs) {
    for (int n = 0; n < kFirst; ++n) run();
  }
  std::vector<std::vector<double>> times(runs.size());
  for (int round = -2; round < rounds; ++round) {
    for (size_t i = 0; i < runs.size(); ++i) {
      MPI_Barrier(MPI_COMM_WORLD);  // in which the layer may let ranks agree
      for (int n = 0; n < kBefore; ++n) runs[i]();
      const double begin = PMPI_Wtime();
      for (int n = 0; n < batch; ++n) runs[i]();
      double seconds = (PMPI_Wtime() - begin) / batch;
      PMPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      if (round >= 0) times[i].push_back(seconds);
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& one : times) medians.push_back(median(one));
  return medians;
}

}  // namespace drop_in_bench
